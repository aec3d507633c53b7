import { expect, test } from "bun:test";
import { Inventory } from "../../../src/cloud/inventory.ts";
import { identityOf } from "../../../src/controllers/node-facts.ts";
import { addProof, noEvidence } from "../../../src/controllers/node-lifecycle/evidence.ts";
import { Suspects } from "../../../src/controllers/node-lifecycle/candidates.ts";
import { Questions } from "../../../src/controllers/pending-lookups.ts";
import type { Instances } from "../../../src/provider/instances.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { ScriptedSource } from "../../support/scripted-source.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

const setUp = () => {
  const clock = new VirtualClock();
  const instances: Instances = { sources: [new ScriptedSource({ clock })], matchBy: ["name"] };
  const inventory = new Inventory({ instances, clock, signal: new AbortController().signal });
  const questions = new Questions(inventory, clock);
  return { clock, questions, suspects: new Suspects(clock, questions) };
};
const proved = addProof(noEvidence(0, -5), { kind: "gone", proof: "listing", asOf: 1 });
const node = (providerID?: string) =>
  toNode({ name: "n0", ...(providerID !== undefined && { spec: { providerID } }) });

test("everything that is known of a Node is forgotten together, its question too", () => {
  const { suspects, questions } = setUp();
  suspects.of(node());
  suspects.update("n0", { evidence: proved, nextLook: 7, heldFor: "DeletionForbidden" });
  questions.ask("n0", identityOf(node()), { urgency: "deletion-proof" });
  expect(suspects.looks).toBe(1);
  suspects.forget("n0");
  expect([suspects.all.size, suspects.looks, questions.has("n0")]).toEqual([0, 0, false]);
});

test("counts those that are looked at again, however often that is changed", () => {
  const { suspects } = setUp();
  suspects.of(node());
  suspects.update("n0", { nextLook: 7 });
  suspects.update("n0", { nextLook: 9, heldFor: undefined });
  expect(suspects.looks).toBe(1);
  suspects.update("n0", { nextLook: undefined });
  expect(suspects.looks).toBe(0);
  suspects.update("another", { nextLook: 1 });
  expect(suspects.looks).toBe(0);
});

test("a Node that is given its id keeps when its machine was seen, and no proof; another Node keeps nothing", () => {
  const { suspects } = setUp();
  const withID = node("fake://n0");
  suspects.of(node());
  suspects.update("n0", { evidence: proved, heldFor: "DeletionForbidden" });
  expect(suspects.of(node()).evidence).toBe(proved);
  expect(suspects.of(withID)).toMatchObject({ evidence: { proofs: [], seenSince: -5 } });
  expect(suspects.of(withID).heldFor).toBeUndefined();
  const successor = { ...withID, metadata: { ...withID.metadata, uid: "another" } };
  expect(suspects.of(successor).evidence).toBeUndefined();
});
