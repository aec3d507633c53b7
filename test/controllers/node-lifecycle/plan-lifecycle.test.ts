import { describe, expect, test } from "bun:test";
import type { Answer } from "../../../src/cloud/inventory/instances.ts";
import { addAnswer, type NodeEvidence, noEvidence } from "../../../src/controllers/node-lifecycle/observe.ts";
import { planLifecycle } from "../../../src/controllers/node-lifecycle/plan.ts";
import {
  type LifecycleSettings,
  lifecycleDefaults,
} from "../../../src/controllers/node-lifecycle/settings.ts";
import { massDeletionHeld } from "../../../src/controllers/node-lifecycle/texts.ts";
import { milliseconds, minutes } from "../../../src/core/brand.ts";
import { messageIn } from "../../../src/core/problem.ts";
import { type NodeDraft, toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
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
    othersAsOf: Number.POSITIVE_INFINITY,
  };
};
const proved = (...proofs: readonly (readonly ["listing" | "lookup", number])[]): NodeEvidence =>
  proofs.reduce((evidence, [kind, asOf]) => addAnswer(evidence, gone(kind, asOf)), noEvidence(0));

describe("evidence [F21]", () => {
  test("ignores an answer from before the lookup, and a repeated answer", () => {
    expect(addAnswer(noEvidence(100), gone("listing", 99)).proofs).toEqual([]);
    expect(proved(["listing", 1], ["listing", 1]).proofs).toHaveLength(1);
  });

  test("drops proofs when the machine is observed later, but not for an older observation", () => {
    const evidence = { ...proved(["listing", 50]), since: 50 };
    expect(addAnswer(evidence, exists(60)).proofs).toEqual([]);
    expect(addAnswer(evidence, exists(40)).proofs).toHaveLength(1);
    expect(addAnswer(evidence, exists(60, "terminating")).wasTerminating).toBe(true);
  });
});

const doubt = {
  recent: 1,
  absent: 5,
  vanished: 0,
  total: 10,
  allowed: 2,
  account: undefined,
  contradictedBy: undefined,
  howToRelease: "kubectl annotate lease ccm release=nodes",
} as const;
const held = massDeletionHeld(doubt);
const contradicted = { ...doubt, recent: 0, absent: 2, contradictedBy: "n1" } as const;

test("a held Node reports the number of missing Nodes, and how to confirm the deletions [F22]", () => {
  expect(messageIn(massDeletionHeld(doubt))).toBe(
    "The cloud shows no instance for 5 of 9 Nodes, and 1 Node was deleted in the last 10 minutes. More than 2 at once is treated as a cloud fault, so none is deleted; they stay load balancer targets and keep their routes. Check in the cloud console whether these instances exist. If they do, the cloud is wrong, or its credentials, which it accepts, belong to another project: wait, or correct them; this ends when the cloud shows the instances. If they are gone, delete all of these Nodes: kubectl annotate lease ccm release=nodes. To delete one: `kubectl annotate node NAME fairlead.dev/node-deletion=confirmed`",
  );
});

test("a Node that is held because of doubt about the account mentions the credentials once [F22]", () => {
  const counts = { recent: 0, absent: 3, vanished: 0, total: 3, allowed: 0, howToRelease: "RELEASE" };
  expect(
    messageIn(massDeletionHeld({ ...counts, account: "nothing shown", contradictedBy: undefined })),
  ).toBe(
    "The cloud shows no instance for 3 of 3 Nodes, and the cloud shows nothing that this cluster records: its credentials may belong to another project (if so, correct them), so none is deleted; they stay load balancer targets and keep their routes. Check in the cloud console whether these instances exist. If they do, this ends when the cloud shows the instances. If they are gone, delete all of these Nodes: RELEASE. To delete one: `kubectl annotate node NAME fairlead.dev/node-deletion=confirmed`",
  );
});

test("a Node that is held because a Ready Node is missing suggests checking the permissions [F23]", () => {
  const text = messageIn(massDeletionHeld(contradicted));
  expect(text).toStartWith(
    "The cloud shows no instance for 2 of 10 Nodes. The machine of n1 is missing although the Node is Ready: the cloud does not show every machine (its credentials may lack permissions), so none is deleted;",
  );
  expect(text).toContain(
    "lack permissions: wait, or correct them; this ends when the cloud shows the instances, or when n1 is no longer Ready.",
  );
});

describe("planLifecycle", () => {
  const old = Date.UTC(2026, 0, 1);
  const shutdown = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };
  interface Case extends Partial<NodeDraft> {
    readonly answer: Answer;
    readonly evidence?: NodeEvidence;
    readonly settings?: Partial<LifecycleSettings>;
    readonly ready?: string;
    readonly isHeld?: boolean;
    readonly isContradicted?: boolean;
    readonly restartedAt?: number;
    readonly now?: number;
  }
  const enough = proved(["listing", 0], ["listing", 30_000]);
  const withID = { providerID: "fake://n" };
  const cases: readonly [string, Case, object][] = [
    [
      "leaves a Ready Node unchanged",
      { answer: gone("listing", 30_000), ready: "True", evidence: enough },
      { kind: "ignore" },
    ],
    [
      "removes the shutdown taint of a Ready Node",
      { answer: gone("listing", 0), ready: "True", spec: { taints: [shutdown] } },
      { kind: "taint", shutdown: false },
    ],
    [
      "treats a Node without Ready condition as not Ready",
      { answer: exists(0, "stopped"), ready: "" },
      { kind: "taint", shutdown: true },
    ],
    [
      "adds the shutdown taint only once to a stopped machine's Node",
      { answer: exists(0, "stopped"), spec: { taints: [shutdown] } },
      { kind: "recheck" },
    ],
    [
      "removes the shutdown taint when the machine runs",
      { answer: exists(0, "running"), spec: { taints: [shutdown] } },
      { kind: "taint", shutdown: false },
    ],
    [
      "replaces a shutdown taint that has a value",
      { answer: exists(0, "stopped"), spec: { taints: [{ ...shutdown, value: "by-hand" }] } },
      { kind: "taint", shutdown: true },
    ],
    [
      "accepts a shutdown taint with an empty value",
      { answer: exists(0, "stopped"), spec: { taints: [{ ...shutdown, value: "" }] } },
      { kind: "recheck" },
    ],
    [
      "keeps the shutdown taint while the machine is terminating",
      { answer: exists(0, "terminating"), spec: { taints: [shutdown] } },
      { kind: "recheck" },
    ],
    [
      "adds no shutdown taint while the machine is terminating",
      { answer: exists(0, "terminating") },
      { kind: "recheck" },
    ],
    [
      "keeps the shutdown taint when the machine's state is unknown",
      { answer: exists(0), spec: { taints: [shutdown] } },
      { kind: "recheck" },
    ],
    [
      "queries the cloud again after an old observation",
      { answer: exists(5, "running"), evidence: noEvidence(6) },
      { kind: "query", after: 0 },
    ],
    [
      "queries the cloud when nothing is known",
      { answer: { kind: "unknown", failure: undefined } },
      { kind: "query", after: 0 },
    ],
    [
      "leaves a foreign Node unchanged",
      { answer: { kind: "foreign" }, evidence: enough },
      { kind: "ignore" },
    ],
    [
      "deletes a Node whose machine is proven gone",
      { answer: gone("listing", 30_000), evidence: enough, spec: withID },
      { kind: "delete", isAnnounced: false },
    ],
    [
      "deletes a Node after one proof when one proof is configured",
      {
        answer: gone("listing", 0),
        evidence: proved(["listing", 0]),
        spec: withID,
        settings: { confirmAfter: milliseconds(0) },
      },
      { kind: "delete", isAnnounced: false },
    ],
    [
      "treats a cordoned Node as announced",
      {
        answer: gone("listing", 30_000),
        evidence: enough,
        spec: { ...withID, unschedulable: true },
      },
      { kind: "delete", isAnnounced: true },
    ],
    [
      "holds a Node beyond the mass limit, announced or not",
      {
        answer: gone("listing", 30_000),
        evidence: enough,
        spec: { ...withID, unschedulable: true },
        isHeld: true,
      },
      { kind: "hold", problem: held },
    ],
    [
      "queries the cloud again when the proof is old",
      { answer: gone("listing", 30_000), evidence: enough, spec: withID, now: 61_000 },
      { kind: "query", after: 0 },
    ],
    [
      "holds a Node beyond the mass limit",
      { answer: gone("listing", 30_000), evidence: enough, spec: withID, isHeld: true },
      { kind: "hold", problem: held },
    ],
    [
      "holds a Node beyond the mass limit at the first proof",
      { answer: gone("listing", 30_000), evidence: proved(["listing", 30_000]), spec: withID, isHeld: true },
      { kind: "hold", problem: held },
    ],
    [
      "holds a Node whose machine is proven gone while a Ready Node is missing too",
      { answer: gone("listing", 30_000), evidence: enough, spec: withID, isContradicted: true },
      { kind: "hold", problem: massDeletionHeld(contradicted) },
    ],
    [
      "reports no missing Ready Node before the proof, because it may be about to stop being Ready",
      {
        answer: gone("listing", 30_000),
        evidence: proved(["listing", 30_000]),
        spec: withID,
        isContradicted: true,
      },
      { kind: "query", after: 30_000 },
    ],
    [
      "leaves a paused Node unchanged",
      { answer: gone("listing", 30_000), evidence: enough, annotations: { "fairlead.dev/paused": "true" } },
      { kind: "ignore" },
    ],
    [
      "waits while a Node without id is too young",
      { answer: gone("listing", 30_000), evidence: enough },
      { kind: "query", after: 570_000 },
    ],
    [
      "waits while a Node that got its id from its kubelet and is not initialized is too young",
      {
        answer: gone("listing", 30_000),
        evidence: enough,
        spec: { ...withID, taints: [uninitialized] },
      },
      { kind: "query", after: 570_000 },
    ],
    [
      "deletes a young Node that was initialized",
      { answer: gone("listing", 30_000), evidence: enough, spec: withID },
      { kind: "delete", isAnnounced: false },
    ],
    [
      "queries the cloud again when all proofs are from before the minimum age",
      { answer: gone("listing", 30_000), evidence: enough, now: 601_000 },
      { kind: "query", after: 0 },
    ],
    [
      "deletes a Node without id that was old enough at its last proof",
      {
        answer: gone("listing", 600_500),
        evidence: proved(["listing", 570_000], ["listing", 600_500]),
        now: 601_000,
      },
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
      isContradicted = false,
      now = 30_000,
    } = given;
    const status = ready === "" ? {} : { conditions: [{ type: "Ready", status: ready }] };
    const node = toNode({ name: "n", createdAt: old, ...given, status });
    const decision = planLifecycle({
      node,
      answer,
      evidence,
      proofKinds: ["listing"],
      isReleased: false,
      outOfServiceDoubt: () => ({ held: undefined, restartedAt: undefined }),
      doubt: () => ({
        held: isHeld ? doubt : isContradicted ? contradicted : undefined,
        restartedAt: undefined,
      }),
      settings: { ...lifecycleDefaults, minAge: minutes(10), ...settings },
      now,
    });
    expect(decision).toEqual(expected as typeof decision);
  });
});
