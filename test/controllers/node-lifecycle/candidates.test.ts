import { expect, test } from "bun:test";
import { Inventory } from "../../../src/cloud/inventory/instances.ts";
import { Board } from "../../../src/controllers/kernel/board.ts";
import { identityOf } from "../../../src/controllers/node-facts.ts";
import { Candidates } from "../../../src/controllers/node-lifecycle/candidates.ts";
import { addAnswer, noEvidence } from "../../../src/controllers/node-lifecycle/observe.ts";
import { deletionForbidden } from "../../../src/controllers/node-lifecycle/texts.ts";
import { PendingLookups } from "../../../src/controllers/pending-lookups.ts";
import { minutes, seconds } from "../../../src/core/brand.ts";
import type { Instances } from "../../../src/provider/instances.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { ScriptedSource } from "../../support/scripted-source.ts";

const setUp = () => {
  const clock = new VirtualClock();
  const instances: Instances = { sources: [new ScriptedSource({ clock })], matchBy: ["name"] };
  const inventory = new Inventory({ instances, clock, signal: new AbortController().signal });
  const pendingLookups = new PendingLookups(inventory, clock);
  const board = new Board<"hold">();
  return { clock, pendingLookups, board, candidates: new Candidates(clock, pendingLookups, board) };
};
const proved = addAnswer(noEvidence(0, -5), { kind: "gone", proof: "listing", asOf: 1 });
const node = (providerID?: string) =>
  toNode({ name: "n0", ...(providerID !== undefined && { spec: { providerID } }) });

const held = [deletionForbidden(node())];

test("forgetting a candidate drops its evidence, its next check, its pending lookup and its reported problems", () => {
  const { candidates, pendingLookups, board } = setUp();
  candidates.of(node());
  candidates.update("n0", { evidence: { ...proved, state: "terminating" }, nextCheck: 7 });
  board.put(node(), "hold", held);
  pendingLookups.ask("n0", identityOf(node()), { urgency: "deletion-proof" });
  expect(candidates.terminating).toBe(1);
  candidates.forget("n0");
  expect([candidates.all.size, candidates.terminating, pendingLookups.has("n0")]).toEqual([0, 0, false]);
  expect([...board.names]).toEqual([]);
});

test("the number of terminating instances counts each candidate once, even after many observations", () => {
  const { candidates } = setUp();
  const evidence = { ...noEvidence(0), state: "terminating" } as const;
  candidates.of(node());
  candidates.update("n0", { evidence });
  candidates.update("n0", { evidence, heldFor: undefined });
  expect(candidates.terminating).toBe(1);
  candidates.update("n0", { evidence: undefined });
  expect(candidates.terminating).toBe(0);
  candidates.update("another", { evidence });
  expect(candidates.terminating).toBe(0);
});

test("a scheduled check only moves to an earlier time", () => {
  const { candidates } = setUp();
  candidates.of(node());
  expect(candidates.scheduleCheck("n0", minutes(1))).toBe(minutes(1));
  expect(candidates.scheduleCheck("n0", seconds(15))).toBe(seconds(15));
  expect(candidates.scheduleCheck("n0", minutes(1))).toBe(seconds(15));
});

test("a Node that gets its provider id keeps the last observation of its machine, but loses its proofs", () => {
  const { candidates, board } = setUp();
  const withID = node("fake://n0");
  candidates.of(node());
  candidates.update("n0", { evidence: proved, heldFor: "DeletionForbidden" });
  board.put(node(), "hold", held);
  expect(candidates.of(node()).evidence).toBe(proved);
  expect(candidates.of(withID)).toMatchObject({ evidence: { proofs: [], seenSince: -5 } });
  expect(candidates.of(withID).heldFor).toBeUndefined();
  expect([...board.names]).toEqual([]);
  const successor = { ...withID, metadata: { ...withID.metadata, uid: "another" } };
  expect(candidates.of(successor).evidence).toBeUndefined();
});
