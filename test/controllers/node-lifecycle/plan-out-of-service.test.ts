import { expect, test } from "bun:test";
import { noEvidence } from "../../../src/controllers/node-lifecycle/observe.ts";
import { planOutOfService } from "../../../src/controllers/node-lifecycle/plan-out-of-service.ts";
import { lifecycleDefaults } from "../../../src/controllers/node-lifecycle/settings.ts";
import { minutes } from "../../../src/core/brand.ts";
import { NodeControllers } from "../../support/node-controllers.ts";

const now = minutes(60);

/** The plan for the Node of a missing machine, whose second answer is this old. */
function planAfter(age: number) {
  const { nodes } = new NodeControllers();
  nodes.add({ name: "node-1", spec: { providerID: "fake://1" } });
  const answers = [now - age - minutes(1), now - age];
  return planOutOfService({
    node: nodes.node("node-1"),
    answer: { kind: "gone", proof: "listing", asOf: now - age },
    evidence: {
      ...noEvidence(0),
      proofs: answers.map((at) => ({ kind: "listing", beganAt: at, knownAt: at })),
    },
    proofKinds: [],
    outOfServiceDoubt: () => ({ held: undefined, restartedAt: undefined }),
    isReleased: false,
    settings: { ...lifecycleDefaults, outOfService: "enforce" },
    now,
  });
}

test("the out-of-service taint needs another answer when the last answer is older than 30 s", () => {
  expect(planAfter(30_000)).toEqual({ kind: "set" });
  expect(planAfter(31_000)).toEqual({ kind: "prove", next: {} });
});
