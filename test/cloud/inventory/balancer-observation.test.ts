import { describe, expect, test } from "bun:test";
import {
  afterSteps,
  needsOf,
  observationOf,
  type Parts,
  rereadingOf,
} from "../../../src/cloud/inventory/balancer-observation.ts";

const targets = { restsOn: ["targets"] };
const both = { restsOn: ["targets", "listeners"] };
const removal = {};
const shared = { restsOn: ["listing"] };
const whole = ["all", "listing"];

type Steps = Parameters<typeof needsOf>[0]["steps"];

describe("a plan needs", () => {
  test.each<[string, Steps, Parts, Parts | undefined]>([
    ["nothing without steps", [], [], undefined],
    ["the parts that a step names", [targets], [], ["targets"]],
    ["nothing if the parts that the step names were read", [targets], ["targets", "listeners"], undefined],
    ["all parts if the new plan depends on other parts", [targets, both], ["targets"], ["all"]],
    ["only parts although the listing is recent", [targets], ["listing"], ["targets"]],
    ["all parts for a step that names no parts", [targets, removal], [], ["all"]],
    ["all for a step that rests on no part", [{ restsOn: [] }], [], ["all"]],
    ["nothing more for a step without parts if all was read", [removal], ["all"], undefined],
    ["a listing for a step that depends on other load balancers", [targets, shared], ["all"], ["listing"]],
    [
      "a listing for a step that depends on other load balancers if only the listing is recent",
      [shared],
      ["listing"],
      ["listing"],
    ],
    ["nothing if all was read and the listing is recent", [shared, removal], whole, undefined],
  ])("%s", (_, steps, read, expected) => {
    expect(needsOf({ steps }, read)).toEqual(expected);
  });

  test("a plan needs the whole load balancer before it reports an error, but no part before a warning", () => {
    const withProblem = (severity: "error" | "warning") => ({ steps: [], problems: [{ severity }] });
    expect(needsOf(withProblem("warning"), [])).toBeUndefined();
    expect(needsOf(withProblem("error"), [])).toEqual(["all"]);
    expect(needsOf(withProblem("error"), ["all"])).toBeUndefined();
  });
});

test.each([
  ["the parts that all steps name", [targets, both], false, ["targets", "listeners"]],
  ["everything if a step names no parts", [targets, removal], false, undefined],
  ["everything if a step depends on other load balancers", [targets, shared], false, undefined],
  ["everything of a load balancer that leaves", [targets], true, undefined],
] as const)("steps outdate %s", (_, steps, isLeaving, outdated) => {
  expect(afterSteps({ outdated: [] }, { isLeaving, steps })?.outdated).toEqual(outdated as never);
});

describe("the age of an observation", () => {
  const minute = 60_000;
  const balancer = { name: "web", owners: [], ownership: "ours", state: "ready" } as const;
  const shown = { listed: balancer, balancer };
  const age = { beganAt: 0, isRecent: false, isFresh: false };
  const partsAt = (now: number, fraction: number) =>
    rereadingOf(
      observationOf(shown, age, () => fraction),
      ["targets"],
      age,
      { now, recent: now - 5 * minute },
    )?.parts;

  test("rereads all parts of a load balancer after an hour, or up to a third earlier at random", () => {
    expect([partsAt(59 * minute, 0), partsAt(60 * minute, 0)]).toEqual([
      ["targets", "mark"],
      ["all", "mark"],
    ]);
    expect([partsAt(39 * minute, 1), partsAt(41 * minute, 1)]).toEqual([
      ["targets", "mark"],
      ["all", "mark"],
    ]);
  });
});
