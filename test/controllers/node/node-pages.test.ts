// Joining Nodes during a listing: a machine on a page may be used if no other page or source can
// contain a second match. Its absence is never concluded from only some of the pages.

import { afterEach, describe, expect, test } from "bun:test";
import { milliseconds, providerID, seconds } from "../../../src/core/brand.ts";
import { joins, NodeControllers, type SetupOptions, uninitialized } from "../../support/node-controllers.ts";
import { machine, ScriptedSource, type ScriptOptions } from "../../support/scripted-source.ts";

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

const names = ["a", "b", "c", "d", "e", "f"];
const machines = names.map((name, index) => machine(String(index), { names: [name] }));
/** Six pages of one machine each, one second per page. */
const script: Omit<ScriptOptions, "clock"> = { pageSize: 1, takes: seconds(1), uniqueNames: true };

const setUp = (options: SetupOptions = {}): NodeControllers => {
  world = new NodeControllers({ machines, script, ...options }).start("node");
  return world;
};

const idOf = (w: NodeControllers, name: string) => w.nodes.node(name).spec.providerID;

describe("a joining Node where names are unique", () => {
  test("initializes a joining Node as soon as a page contains its machine, in page order, if names are unique", async () => {
    const w = setUp();
    for (const name of names.toReversed()) joins(w, name);
    await w.pass(3.5);
    expect(w.initialized).toEqual(["a", "b", "c"]);
    await w.pass(3);
    expect(w.initialized).toEqual(names);
    expect(w.cloud.listings).toBe(1);
    expect(names.map((name) => idOf(w, name))).toEqual(machines.map(({ id }) => id));
  });

  test("does not report a joining Node as missing before the listing is complete", async () => {
    const w = setUp();
    joins(w, "missing");
    joins(w, "a");
    await w.pass(5.9);
    expect([w.initialized, w.reasons("missing")]).toEqual([["a"], []]);
    await w.pass(0.2);
    expect(w.reasons("missing")).toEqual(["NotFoundInCloud"]);
  });

  test("a Node that joins after its machine's page of the listing needs no second listing", async () => {
    const w = setUp();
    joins(w, "f");
    await w.pass(2.5);
    joins(w, "a");
    await w.until(() => w.initialized.includes("a"), "the Node to be initialized", 0.5);
    await w.pass(20);
    expect([w.initialized, w.cloud.listings]).toEqual([["a", "f"], 1]);
  });

  test("a joining Node keeps its provider id when a later page fails, and other Nodes draw no conclusions from earlier pages", async () => {
    const w = setUp();
    w.cloud.breaksAfter = 2;
    for (const name of [...names, "missing"]) joins(w, name);
    await w.pass(3.5);
    expect(w.initialized).toEqual(["a", "b"]);
    expect(w.reasons("missing")).toEqual(w.reasons("f"));
    expect(w.reasons("missing")).not.toContain("NotFoundInCloud");
    expect(w.inventory.check({ name: w.nodes.node("b").metadata.name as never, addresses: [] }).kind).toBe(
      "unknown",
    );
    w.cloud.breaksAfter = undefined;
    await w.until(() => w.initialized.length === names.length, "all Nodes to be initialized", 120);
    expect(w.reasons("missing")).toContain("NotFoundInCloud");
  });

  test("a joining Node waits for the complete listing if two pages contain its name", async () => {
    const twins = [machine("1", { names: ["n"] }), machine("2", { names: ["n"] }), ...machines.slice(3)];
    const w = setUp({ machines: twins });
    await w.pass(0);
    joins(w, "d");
    await w.pass(2.5);
    joins(w, "n");
    await w.pass(30);
    expect([idOf(w, "n"), w.nodes.node("n").spec.taints]).toEqual([undefined, [uninitialized]]);
    expect(w.reasons("n")).toEqual(["AmbiguousMatch"]);
  });

  test("a joining Node waits for a stronger key, which a later page may match", async () => {
    const stronger = machine("9", { names: ["other"], uuids: ["u-1"] });
    const w = setUp({ machines: [...machines, stronger], matchBy: ["uuid", "name"] });
    const nodeInfo = { systemUUID: "u-1" };
    w.nodes.add({ name: "a", spec: { taints: [uninitialized] }, status: { nodeInfo } as never });
    await w.pass(6.5);
    expect(w.initialized).toEqual([]);
    await w.until(() => w.initialized.length === 1, "the Node to be initialized", 5);
    expect(idOf(w, "a")).toBe(stronger.id);
  });

  test("a joining Node waits for the other source, which may have a second match", async () => {
    const sources: ScriptedSource[] = [];
    const w = new NodeControllers({
      sources: (clock) => {
        const one = (name: string, takes: number, pageSize: number) =>
          new ScriptedSource({
            clock,
            name,
            scheme: `${name}://`,
            pageSize,
            takes: milliseconds(takes),
            uniqueNames: true,
          });
        const both = [one("east", 1000, 1), one("west", 9000, 10)] as const;
        sources.push(...both);
        return both;
      },
    });
    world = w;
    for (const name of ["a", "b"]) {
      sources[0]?.put(machine(name, { id: providerID(`east://${name}`), names: [name] }));
    }
    sources[1]?.put(machine("other", { id: providerID("west://other"), names: ["a"] }));
    w.start("node");
    joins(w, "a");
    joins(w, "b");
    await w.pass(8.5);
    expect(w.initialized).toEqual([]);
    await w.pass(4);
    expect([w.initialized, idOf(w, "b")]).toEqual([["b"], providerID("east://b")]);
    expect(w.reasons("a")).toContain("AmbiguousMatch");
  });
});

test("a joining Node waits for the complete listing if names are not unique", async () => {
  const { uniqueNames: _, ...notUnique } = script;
  const twin = machine("twin", { names: ["a"] });
  const w = setUp({ script: notUnique, machines: [...machines, twin] });
  joins(w, "a");
  joins(w, "b");
  await w.pass(6.5);
  expect(w.initialized).toEqual([]);
  await w.pass(1);
  expect(w.initialized).toEqual(["b"]);
  expect(w.reasons("a")).toEqual(["AmbiguousMatch"]);
});
