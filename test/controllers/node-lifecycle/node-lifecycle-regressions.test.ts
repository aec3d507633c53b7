import { expect, test } from "bun:test";
import { milliseconds, minutes } from "../../../src/core/brand.ts";
import { CloudError } from "../../../src/provider/errors.ts";
import { NodeControllers, uninitialized } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

// Regressions of the lifecycle controller: bugs that deleted a Node because of stale evidence, or kept a Node forever.

type Readiness = "True" | "False";
const conditions = (status: Readiness) => ({ conditions: [{ type: "Ready", status }] });

const add = (w: NodeControllers, name: string, status: Readiness): void => {
  w.nodes.add({
    name,
    createdAt: w.clock.now() - 86_400_000,
    spec: { providerID: `fake://${name}` },
    status: conditions(status),
  } as never);
};

const setReady = (w: NodeControllers, name: string, status: Readiness): void =>
  w.nodes.change(name, (node) => ({ ...node, status: { ...node.status, ...conditions(status) } }) as never);

const page = { takes: milliseconds(100), pageSize: 5 };

test.each([page, { ...page, lookups: { id: 100 } }])(
  "a proof expires with the leadership session that found it [%#]",
  async (script) => {
    const w = new NodeControllers({ script, machines: [machine("n0")] }).start("lifecycle");
    w.cloud.hidden.set("n0", "both");
    add(w, "n0", "False");
    await w.pass(3);
    expect(w.nodes.names()).toEqual(["n0"]);
    await w.endSession();
    w.cloud.hidden.delete("n0");
    setReady(w, "n0", "True");
    await w.pass(3600);
    setReady(w, "n0", "False");
    w.cloud.hidden.set("n0", "both");
    w.start("lifecycle");
    await w.pass(3);
    expect(w.nodes.names()).toEqual(["n0"]);
    w.cloud.hidden.delete("n0");
    await w.pass(600);
    expect(w.nodes.names()).toEqual(["n0"]);
    await w.stop();
  },
);

test("a proof expires when the Node is briefly Ready", async () => {
  const w = new NodeControllers({ script: page, machines: [machine("n0")] }).start("lifecycle");
  w.cloud.hidden.set("n0", "both");
  add(w, "n0", "False");
  await w.pass(3);
  setReady(w, "n0", "True");
  await w.pass(3600);
  setReady(w, "n0", "False");
  await w.pass(3);
  expect(w.nodes.names()).toEqual(["n0"]);
  await w.stop();
});

test.each([0, 500])(
  "all Nodes of ten machines that terminate are deleted, with a watch lag of %d ms",
  async (lag) => {
    const names = Array.from({ length: 20 }, (_, index) => `n${index}`);
    const machines = names.map((name, index) => machine(name, index < 10 ? { state: "terminating" } : {}));
    const w = new NodeControllers({ lag, script: { ...page, pageSize: 50 }, machines }).start("lifecycle");
    for (const [index, name] of names.entries()) add(w, name, index < 10 ? "False" : "True");
    await w.pass(5);
    for (const name of names.slice(0, 6)) w.cloud.machines.delete(name);
    await w.pass(200);
    for (const name of names.slice(6, 10)) w.cloud.machines.delete(name);
    await w.pass(300);
    expect(w.nodes.names().toSorted()).toEqual(names.slice(10).toSorted());
    await w.stop();
  },
);

test.each([1, 100])(
  "an id that the cloud rejects does not block other Nodes, with %d ids per request",
  async (limit) => {
    const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
    const w = new NodeControllers({
      script: { ...page, lookups: { id: limit } },
      machines: names.map((name) => machine(name)),
    });
    const lookup = w.cloud.lookups?.id as {
      find: (keys: readonly string[], call: never) => Promise<unknown>;
    };
    const find = lookup.find;
    lookup.find = async (keys, call) => {
      if (keys.includes("n0"))
        throw new CloudError("invalid", "malformed id", { operation: "GET /machines" });
      return find(keys, call);
    };
    w.start("lifecycle");
    for (const name of names.slice(0, 5)) w.cloud.machines.delete(name);
    for (const [index, name] of names.entries()) add(w, name, index < 5 ? "False" : "True");
    await w.pass(3600);
    const left = new Set(w.nodes.names());
    expect(["n1", "n2", "n3", "n4"].filter((name) => left.has(name))).toEqual([]);
    await w.stop();
  },
);

test.each([3, 10])(
  "a Node held for an hour is deleted once allowed, with %i minutes between its proofs [F20]",
  async (confirm) => {
    const lifecycle = { confirmAfter: minutes(confirm) };
    const w = new NodeControllers({ script: page, machines: [machine("x")], lifecycle }).start("lifecycle");
    add(w, "n0", "False");
    w.nodes.annotate("n0", { "fairlead.dev/node-deletion": "never" });
    await w.pass(3600);
    expect(w.reasons("n0")).toContain("DeletionForbidden");
    w.nodes.annotate("n0", { "fairlead.dev/node-deletion": "confirmed" });
    await w.pass(3600);
    expect(w.nodes.names()).toEqual([]);
    await w.stop();
  },
);

test.each([page, { ...page, lookups: { id: 100 } }])(
  "a listing for another controller that shows the machine resets the proofs [%#]",
  async (script) => {
    const w = new NodeControllers({ script, machines: [machine("n0")] }).start("lifecycle");
    const listForOthers = () => w.inventory.requestListing(w.clock.monotonic(), "refresh");
    w.cloud.hidden.set("n0", "both");
    add(w, "n0", "False");
    await w.pass(5);
    w.cloud.hidden.clear();
    listForOthers();
    await w.pass(15);
    w.cloud.hidden.set("n0", "both");
    await w.pass(3);
    listForOthers();
    await w.pass(17);
    w.cloud.hidden.clear();
    await w.pass(60);
    expect(w.nodes.names()).toEqual(["n0"]);
    await w.stop();
  },
);

test("a joining NotReady Node is not looked up repeatedly when a recent listing shows its machine", async () => {
  const w = new NodeControllers({ machines: [machine("n0")] }).start("lifecycle");
  w.nodes.add({ name: "n0", spec: { taints: [uninitialized] }, status: conditions("False") as never });
  let lookups = 0;
  const request = w.inventory.request.bind(w.inventory);
  w.inventory.request = (...parameters) => {
    lookups += 1;
    request(...parameters);
  };
  for (let count = 0; count < 30; count += 1) {
    w.inventory.requestListing(w.clock.monotonic(), "refresh");
    await w.pass(40);
  }
  expect(lookups).toBeLessThanOrEqual(20);
  await w.stop();
});
