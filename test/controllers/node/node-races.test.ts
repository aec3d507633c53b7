import { expect, test } from "bun:test";
import type { Inventory } from "../../../src/cloud/inventory/instances.ts";
import { applyPlan } from "../../../src/controllers/node/apply.ts";
import { PendingLookups } from "../../../src/controllers/pending-lookups.ts";
import { uninitializedTaint } from "../../../src/controllers/well-known.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { Node, Taint } from "../../../src/kube/objects.ts";
import type { Patch } from "../../../src/kube/patches/patch.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { toNode } from "../../support/api-server-nodes.ts";

const uninitialized = { key: uninitializedTaint, value: "true", effect: "NoSchedule" };
const foreignTaint = { key: "example.com/other", value: "", effect: "NoSchedule" };

const addresses = [{ type: "InternalIP", address: "10.0.0.1" }];

/** The patches that initialize a Node when the first patch returns these taints. */
const initialize = async (taints: readonly Taint[]): Promise<readonly Patch[]> => {
  const node = toNode({ name: "n1", spec: { taints: [uninitialized] } });
  const patches: Patch[] = [];
  const writes = {
    patch: async (each: Node, patch: Patch): Promise<Node> => {
      patches.push(patch);
      return { ...each, spec: { ...each.spec, taints }, status: { addresses } };
    },
  };
  const ownWrites = { begin: () => undefined, end: () => false };
  const context = { writes, ownWrites, enqueue: () => undefined };
  const plan = { addresses, labels: {}, removeUninitializedTaint: true };
  await applyPlan(node, plan as never, "it joins", context as never, new AbortController().signal);
  return patches;
};

test("keeps a taint that another writer adds during the address update when the uninitialized taint is removed", async () => {
  const patches = await initialize([uninitialized, foreignTaint]);
  expect(patches.at(-1)?.body).toContainEqual({ op: "add", path: "/spec/taints", value: [foreignTaint] });
});

test("removes the uninitialized taint only from a Node that still has the written addresses", async () => {
  const patches = await initialize([uninitialized]);
  const written = { op: "test", path: "/status/addresses", value: addresses };
  expect(
    patches.map(({ body }) => (body as readonly unknown[]).some((step) => Bun.deepEquals(step, written))),
  ).toEqual([false, true]);
});

test("repeats a failed lookup instead of treating it as pending", async () => {
  const clock = new VirtualClock();
  const wants: number[] = [];
  let failure: { readonly error: unknown; readonly at: number } | undefined;
  const inventory = {
    request: (_: unknown, { since }: { readonly since: number }) => void wants.push(since),
    failureFor: () => failure,
  };
  const pendingLookups = new PendingLookups(inventory as unknown as Inventory, clock);
  const ask = () => pendingLookups.ask("n1", { name: "n1" } as never, { urgency: "new-node" } as never);
  ask();
  failure = { error: new Error("the cloud was away"), at: clock.monotonic() };
  expect(ask).toThrow("the cloud was away");
  await clock.advance(seconds(5));
  ask();
  expect(wants).toEqual([0, 5000]);
});
