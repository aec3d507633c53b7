import { afterEach, expect, test } from "bun:test";
import { milliseconds, minutes, seconds } from "../../../src/core/brand.ts";
import { NodeControllers, type SetupOptions, uninitialized } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

// Cases in which a single safety check keeps the lifecycle controller from deleting a Node.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());
const page = { takes: milliseconds(100), pageSize: 5 };
const setUp = (options: SetupOptions = {}): NodeControllers => {
  world = new NodeControllers({ script: page, ...options });
  return world;
};
const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);
const machines = (all: readonly string[]) => all.map((name) => machine(name));
const settled = (w: NodeControllers, name: string, status: "True" | "False" = "False") =>
  w.nodes.add({
    name,
    createdAt: w.clock.now() - 86_400_000,
    spec: { providerID: `fake://${name}` },
    status: { conditions: [{ type: "Ready", status }] },
  });

test("keeps a Node that was briefly Ready between two proofs", async () => {
  const w = setUp().start("lifecycle");
  settled(w, "n0");
  await w.pass(25);
  expect(w.lifecycle.candidates.get("n0")?.evidence?.proofs).toHaveLength(1);
  w.nodes.setReady("n0", "True");
  w.nodes.setReady("n0", "False");
  await w.pass(25);
  expect(w.nodes.names()).toEqual(["n0"]);
});

test("keeps a Node whose proof is from an earlier leadership session, even if it was never Ready since", async () => {
  const w = setUp({ machines: machines(["n0"]) }).start("lifecycle");
  w.cloud.hidden.set("n0", "both");
  settled(w, "n0");
  await w.pass(3);
  expect(w.lifecycle.candidates.get("n0")?.evidence?.proofs).toHaveLength(1);
  await w.endSession();
  await w.pass(3600);
  w.start("lifecycle");
  await w.pass(3);
  w.cloud.hidden.clear();
  await w.pass(600);
  expect(w.nodes.names()).toEqual(["n0"]);
});

test("keeps a Node that became Ready just before the controller's write to it", async () => {
  const lifecycle = { confirmAfter: seconds(0) };
  const w = setUp({ lag: 5000, lifecycle, machines: [machine("n0", { state: "stopped" })] });
  // A real server responds to such a write with metadata only, so the previously known status stays.
  const send = w.nodes.api.patchKnown.bind(w.nodes.api);
  const answered: typeof send = async (resource, known, ...rest) => {
    const fresh = await send(resource, known, ...rest);
    return { ...fresh, ...("status" in known && { status: known.status }) };
  };
  Object.assign(w.nodes.api, { patchKnown: answered });
  settled(w, "n0");
  await w.pass(10);
  w.nodes.setReady("n0", "True");
  w.start("lifecycle");
  await w.until(() => w.nodes.node("n0").spec.taints !== undefined, "the shutdown taint");
  w.cloud.machines.delete("n0");
  await w.pass(1);
  w.lifecycle.checkNow("n0");
  await w.pass(60);
  expect(w.nodes.names()).toEqual(["n0"]);
});

test.each([
  ["is set forward while the process runs", { setForward: minutes(60), createdAgo: minutes(0) }],
  // The creation time then immediately looks old.
  ["is ahead since the process started", { setForward: minutes(0), createdAgo: minutes(60) }],
])("keeps a young Node without a provider id for ten minutes when the wall clock %s", async (_, clocks) => {
  const w = setUp();
  const now = w.clock.now.bind(w.clock);
  w.start("lifecycle");
  w.nodes.add({
    name: "n0",
    createdAt: now() - clocks.createdAgo,
    status: { conditions: [{ type: "Ready", status: "False" }] },
  });
  w.clock.now = () => now() + clocks.setForward;
  await w.pass(595);
  expect(w.nodes.names()).toEqual(["n0"]);
  await w.pass(300);
  expect(w.nodes.names()).toEqual([]);
});

test("holds deletion when the cloud loses all machines right after a Node was counted", async () => {
  const all = names(10);
  const w = setUp({ machines: machines(all.slice(1)) }).start("lifecycle");
  for (const name of all) settled(w, name, name === "n0" ? "False" : "True");
  w.nodes.annotate("n0", { "fairlead.dev/node-deletion": "never" });
  await w.pass(600);
  await w.until(
    () => w.clock.monotonic() - (w.cloud.calls.at(-1)?.at ?? 0) > 31_000,
    "a while without a listing",
    600,
  );
  for (const name of all) w.cloud.hidden.set(name, "both");
  w.nodes.annotate("n0", {});
  await w.pass(5);
  expect(w.reasons("n0")).toEqual(["DeletionForbidden", "MassDeletionHeld"]);
  expect(w.nodes.names()).toHaveLength(10);
});

test("deletes a held Node once listings are complete again, even if lookups are cheaper", async () => {
  const all = names(13);
  const script = { ...page, lookups: { id: 100 } };
  const w = setUp({ script, machines: machines(all.slice(1)) }).start("lifecycle");
  for (const name of all) settled(w, name, name === "n0" ? "False" : "True");
  // The remaining machines fill more than one page, so that one lookup costs less than a listing.
  for (const name of all.slice(1, 7)) w.cloud.hidden.set(name, "listing");
  await w.pass(300);
  expect(w.reasons("n0")).toEqual(["MassDeletionHeld"]);
  w.cloud.hidden.clear();
  await w.pass(600);
  expect(w.nodes.names()).toEqual(all.slice(1).toSorted());
});

test("deletes a Node whose machine was seen while the Node joined, and disappeared later", async () => {
  const script = { takes: milliseconds(100), pageSize: 5 };
  const w = new NodeControllers({ script, machines: [machine("n0")] }).start("lifecycle");
  w.inventory.requestListing(0, "refresh");
  await w.pass(10);
  w.nodes.add({
    name: "n0",
    spec: { providerID: "fake://n0", taints: [uninitialized] },
    status: { conditions: [{ type: "Ready", status: "False" }] },
  });
  await w.pass(30);
  w.cloud.machines.clear();
  await w.pass(600);
  expect(w.nodes.names()).toEqual([]);
  await w.stop();
});
