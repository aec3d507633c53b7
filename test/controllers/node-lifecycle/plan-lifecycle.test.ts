import { describe, expect, test } from "bun:test";
import type { Answer } from "../../../src/cloud/inventory.ts";
import {
  addObservation,
  addProof,
  type Evidence,
  judge,
  noEvidence,
} from "../../../src/controllers/node-lifecycle/evidence.ts";
import { massLimit, RecentDeletions } from "../../../src/controllers/node-lifecycle/mass-limit.ts";
import { planLifecycle } from "../../../src/controllers/node-lifecycle/plan.ts";
import {
  type LifecycleSettings,
  lifecycleDefaults,
} from "../../../src/controllers/node-lifecycle/settings.ts";
import { minutes } from "../../../src/core/brand.ts";
import { type NodeDraft, toNode } from "../../support/api-server-nodes.ts";
import { machine } from "../../support/scripted-source.ts";

const gone = (proof: "listing" | "lookup", asOf: number) => ({ kind: "gone", proof, asOf }) as const;
const exists = (
  asOf: number,
  state?: "running" | "stopped" | "terminating",
): Extract<Answer, { kind: "exists" }> => {
  const { state: _, ...stateless } = machine("n");
  return {
    kind: "exists",
    instance: state === undefined ? stateless : { ...stateless, state },
    source: "cloud",
    proof: "listing",
    asOf,
  };
};
const proved = (...proofs: readonly (readonly ["listing" | "lookup", number])[]): Evidence =>
  proofs.reduce((evidence, [kind, asOf]) => addProof(evidence, gone(kind, asOf)), noEvidence(0));

describe("evidence [F21]", () => {
  const cases: readonly [string, Evidence, readonly ("listing" | "lookup")[], number, unknown][] = [
    ["nothing: ask now", proved(), ["listing"], 0, { kind: "more", after: 0 }],
    [
      "one proof: ask when the time is over",
      proved(["listing", 5_000]),
      ["listing"],
      10_000,
      { kind: "more", after: 25_000 },
    ],
    [
      "two too close: the first one counts",
      proved(["listing", 0], ["listing", 29_999]),
      ["listing"],
      29_999,
      { kind: "more", after: 1 },
    ],
    [
      "two far enough apart",
      proved(["listing", 0], ["listing", 30_000]),
      ["listing"],
      30_000,
      { kind: "proved" },
    ],
    [
      "two of one kind where there are two: the other is asked for",
      proved(["listing", 0], ["listing", 60_000]),
      ["listing", "lookup"],
      60_000,
      { kind: "more", after: 0, way: "lookup" },
    ],
    [
      "one of each, too close",
      proved(["lookup", 0], ["listing", 10]),
      ["listing", "lookup"],
      20_000,
      { kind: "more", after: 10_000 },
    ],
    [
      "one of each, far enough apart",
      proved(["lookup", 0], ["listing", 30_000]),
      ["listing", "lookup"],
      30_000,
      { kind: "proved" },
    ],
  ];
  test.each(cases)("%s", (_, evidence, ways, now, expected) => {
    expect(judge(evidence, ways, lifecycleDefaults, now)).toEqual(expected as ReturnType<typeof judge>);
  });

  test("an answer from before the question, or told twice, is no proof", () => {
    expect(addProof(noEvidence(100), gone("listing", 99)).proofs).toEqual([]);
    expect(proved(["listing", 1], ["listing", 1]).proofs).toHaveLength(1);
  });

  test("a sighting ends what was proved, an old one does not", () => {
    const evidence = { ...proved(["listing", 50]), since: 50 };
    expect(addObservation(evidence, exists(60)).proofs).toEqual([]);
    expect(addObservation(evidence, exists(40)).proofs).toHaveLength(1);
    expect(addObservation(evidence, exists(60, "terminating")).wasTerminating).toBe(true);
  });
});

describe("the mass limit [F22 N1]", () => {
  const limit = lifecycleDefaults.massLimit;
  test.each([
    [{ recent: 0, candidates: 2, managed: 3 }, true],
    [{ recent: 0, candidates: 3, managed: 3 }, false],
    [{ recent: 2, candidates: 1, managed: 5 }, false],
    [{ recent: 10, candidates: 10, managed: 100 }, true],
    [{ recent: 10, candidates: 11, managed: 100 }, false],
  ])("%j: %p", (state, mayDelete) => {
    expect(massLimit(state, limit).mayDelete).toBe(mayDelete);
    expect(massLimit(state, "off").mayDelete).toBe(true);
  });

  test("says how many, of how many, and what to do", () => {
    const decision = massLimit({ recent: 1, candidates: 5, managed: 10 }, limit);
    const text = decision.mayDelete ? "" : decision.text;
    expect(text).toContain("5 of 10 nodes look gone at once and 1 were deleted in the last 10 minutes");
    expect(text).toContain("fairlead.dev/node-deletion=confirmed");
  });

  test("forgets deletions when they are older than the window", () => {
    const recent = new RecentDeletions();
    recent.add(0);
    recent.add(500);
    expect([recent.within(1000, 1000), recent.within(1000, 1001), recent.within(1000, 1501)]).toEqual([
      2, 1, 0,
    ]);
  });
});

describe("the plan of a lifecycle", () => {
  const old = Date.UTC(2026, 0, 1);
  const wall = old + 86_400_000;
  const shutdown = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };
  interface Case extends Partial<NodeDraft> {
    readonly answer: Answer;
    readonly evidence?: Evidence;
    readonly settings?: Partial<LifecycleSettings>;
    readonly ready?: string;
    readonly isHeld?: boolean;
    readonly now?: number;
  }
  const enough = proved(["listing", 0], ["listing", 30_000]);
  const withID = { providerID: "fake://n" };
  const cases: readonly [string, Case, object][] = [
    [
      "a Ready node is left",
      { answer: gone("listing", 30_000), ready: "True", evidence: enough },
      { kind: "leave" },
    ],
    [
      "a Ready node loses the mark",
      { answer: gone("listing", 0), ready: "True", spec: { taints: [shutdown] } },
      { kind: "taint", shutdown: false },
    ],
    [
      "one that is missing a Ready condition counts as not Ready",
      { answer: exists(0, "stopped"), ready: "" },
      { kind: "taint", shutdown: true },
    ],
    [
      "a stopped one is marked once",
      { answer: exists(0, "stopped"), spec: { taints: [shutdown] } },
      { kind: "watch" },
    ],
    [
      "a started one is unmarked",
      { answer: exists(0, "running"), spec: { taints: [shutdown] } },
      { kind: "taint", shutdown: false },
    ],
    [
      "one of unknown state keeps its mark",
      { answer: exists(0), spec: { taints: [shutdown] } },
      { kind: "watch" },
    ],
    [
      "an old sighting is asked for anew",
      { answer: exists(5, "running"), evidence: noEvidence(6) },
      { kind: "ask", after: 0 },
    ],
    [
      "an unknown one is asked for",
      { answer: { kind: "unknown", failure: undefined } },
      { kind: "ask", after: 0 },
    ],
    ["a foreign one is left", { answer: { kind: "foreign" }, evidence: enough }, { kind: "leave" }],
    [
      "a proved one is deleted",
      { answer: gone("listing", 30_000), evidence: enough, spec: withID },
      { kind: "delete", isAnnounced: false },
    ],
    [
      "one proof is enough where one was asked for",
      { answer: gone("listing", 0), evidence: proved(["listing", 0]), spec: withID, settings: { proofs: 1 } },
      { kind: "delete", isAnnounced: false },
    ],
    [
      "a cordoned one counts as announced",
      {
        answer: gone("listing", 30_000),
        evidence: enough,
        spec: { ...withID, unschedulable: true },
      },
      { kind: "delete", isAnnounced: true },
    ],
    [
      "beyond the limit nobody goes, announced or not",
      {
        answer: gone("listing", 30_000),
        evidence: enough,
        spec: { ...withID, unschedulable: true },
        isHeld: true,
      },
      { kind: "hold", reason: "MassDeletionHeld", text: "held" },
    ],
    [
      "one that was proved long ago is asked about again",
      { answer: gone("listing", 30_000), evidence: enough, spec: withID, now: 61_000 },
      { kind: "ask", after: 0 },
    ],
    [
      "a held one is held",
      { answer: gone("listing", 30_000), evidence: enough, spec: withID, isHeld: true },
      { kind: "hold", reason: "MassDeletionHeld", text: "held" },
    ],
    [
      "a paused one is left",
      { answer: gone("listing", 30_000), evidence: enough, annotations: { "fairlead.dev/paused": "true" } },
      { kind: "leave" },
    ],
    [
      "one without id is too young",
      { answer: gone("listing", 30_000), evidence: enough, createdAt: wall - 60_000 },
      { kind: "ask", after: 540_000 },
    ],
    [
      "one without id has only proofs from when it was too young",
      { answer: gone("listing", 30_000), evidence: enough, createdAt: wall - 601_000, now: 40_000 },
      { kind: "ask", after: 0 },
    ],
    [
      "one without id was old enough when it was last proved",
      { answer: gone("listing", 30_000), evidence: enough, createdAt: wall - 620_000, now: 40_000 },
      { kind: "delete", isAnnounced: false },
    ],
  ];
  test.each(cases)("%s", (_, given, expected) => {
    const {
      answer,
      evidence = noEvidence(0),
      settings = {},
      ready = "False",
      isHeld = false,
      now = 30_000,
    } = given;
    const status = ready === "" ? {} : { conditions: [{ type: "Ready", status: ready }] };
    const node = toNode({ name: "n", createdAt: old, ...given, status });
    const decision = planLifecycle({
      node,
      answer,
      evidence,
      ways: ["listing"],
      mass: () => (isHeld ? { mayDelete: false, text: "held" } : { mayDelete: true }),
      settings: { ...lifecycleDefaults, minAgeWithoutID: minutes(10), ...settings },
      now: { wall, monotonic: now },
    });
    expect(decision).toEqual(expected as typeof decision);
  });
});
