import { expect, test } from "bun:test";
import { nextReading, type Reading } from "../../../../src/controllers/service/observed/fresh-listing.ts";

const targets = { outdates: ["targets"] };
const both = { outdates: ["targets", "listeners"] };
const removal = {};
const shared = { restsOnListing: true } as const;

type Steps = Parameters<typeof nextReading>[0]["steps"];

test.each<[string, Steps, Reading, Reading | undefined]>([
  ["nothing without steps", [], [], undefined],
  ["what a step changes", [targets], [], ["targets"]],
  ["nothing if the parts that the step changes were read", [targets], ["targets", "listeners"], undefined],
  ["all if the new plan changes other parts", [targets, both], ["targets"], "all"],
  ["all for a step that names no parts", [targets, removal], [], "all"],
  ["all for a step that outdates nothing", [{ outdates: [] }], [], "all"],
  ["nothing more for a step without parts if all was read", [removal], "all", undefined],
  ["a listing for a step that depends on other load balancers", [targets, shared], "all", "after listing"],
  ["nothing after a recent listing", [shared, removal], "after listing", undefined],
])("reads %s", (_, steps, read, expected) => {
  expect(nextReading({ steps }, read)).toEqual(expected);
});

test("reads all of a load balancer before an error of its plan is reported, and a warning without it", () => {
  const withProblem = (severity: "error" | "warning") => ({ steps: [], problems: [{ severity }] });
  expect(nextReading(withProblem("warning"), [])).toBeUndefined();
  expect(nextReading(withProblem("error"), [])).toBe("all");
  expect(nextReading(withProblem("error"), "all")).toBeUndefined();
});
