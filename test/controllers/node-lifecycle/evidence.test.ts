import { describe, expect, test } from "bun:test";
import type { Answer } from "../../../src/cloud/inventory/instances.ts";
import type { Proof } from "../../../src/controllers/kernel/proof.ts";
import {
  addAnswer,
  isRecent,
  type NodeEvidence,
  noEvidence,
} from "../../../src/controllers/node-lifecycle/observe.ts";
import { planLifecycle } from "../../../src/controllers/node-lifecycle/plan.ts";
import { lifecycleDefaults } from "../../../src/controllers/node-lifecycle/settings.ts";
import { minutes, seconds } from "../../../src/core/brand.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { machine } from "../../support/scripted-source.ts";

const proof = (kind: Proof["kind"], asked: number, answered = asked): Proof => ({
  kind,
  beganAt: seconds(asked),
  knownAt: seconds(answered),
});
const proved = (...proofs: readonly Proof[]): NodeEvidence => ({ ...noEvidence(0), proofs });
const seen = (state: "running" | "terminating"): Extract<Answer, { kind: "exists" }> => ({
  kind: "exists",
  instance: machine("n0", { state }),
  source: "cloud",
  proof: "listing",
  asOf: 1,
  othersAsOf: Number.POSITIVE_INFINITY,
});

describe("a slow cloud", () => {
  test("proofs from a slow cloud do not expire before they can be used", () => {
    expect(isRecent(proved(proof("listing", 0, 60)), seconds(70))).toBe(true);
    expect(isRecent(proved(proof("listing", 0, 60)), seconds(91))).toBe(false);
  });
});

test("a listing and a lookup that began at the same moment are two proofs, so no third request is needed", () => {
  const listed = addAnswer(noEvidence(0), { kind: "gone", proof: "listing", asOf: 1 });
  expect(addAnswer(listed, { kind: "gone", proof: "lookup", asOf: 1 }).proofs).toHaveLength(2);
});

test("a machine that was observed as terminating stays announced even if the cloud reports another state later", () => {
  expect(addAnswer(addAnswer(noEvidence(0), seen("terminating")), seen("running")).wasTerminating).toBe(true);
});

describe("planLifecycle for a Node without provider id", () => {
  const wall = Date.UTC(2026, 0, 2);
  const plan = (createdAt: number, evidence: NodeEvidence, now: number, answer?: Answer) =>
    planLifecycle({
      node: toNode({ name: "n0", createdAt, status: { conditions: [{ type: "Ready", status: "False" }] } }),
      answer: answer ?? { kind: "gone", proof: "listing", asOf: evidence.proofs.at(-1)?.beganAt ?? 0 },
      evidence,
      proofKinds: ["listing"],
      isReleased: false,
      outOfServiceDoubt: () => ({ held: undefined, restartedAt: undefined }),
      doubt: () => ({ held: undefined, restartedAt: undefined }),
      settings: lifecycleDefaults,
      now,
    });

  test.each([
    ["in the future", wall + minutes(60)],
    ["long ago", wall - minutes(60)],
  ])(
    "deletes a Node without a provider id after the minimum age on the monotonic clock if it was created %s",
    (_, createdAt) => {
      const early = proved(proof("listing", 0), proof("listing", 40));
      expect(plan(createdAt, early, seconds(40))).toEqual({ kind: "query", after: seconds(560) });
      const evidence = proved(proof("listing", 605), proof("listing", 640));
      expect(plan(createdAt, evidence, seconds(640))).toEqual({ kind: "delete", isAnnounced: false });
    },
  );

  test("queries again if the answer was requested before the Node was old enough", () => {
    const evidence = proved(proof("listing", 560), proof("listing", 599, 604));
    // Old enough since second 600.
    expect(plan(wall, evidence, seconds(605))).toEqual({
      kind: "query",
      after: seconds(0),
    });
  });

  test("queries again if the ambiguous answer is older than the Node", () => {
    const answer = { kind: "ambiguous", candidates: [], by: "name", asOf: 5 } as const;
    expect(plan(wall, noEvidence(6), 7, answer)).toEqual({ kind: "query", after: seconds(0) });
    expect(plan(wall, noEvidence(5), 7, answer)).toEqual({ kind: "recheck" });
  });
});
