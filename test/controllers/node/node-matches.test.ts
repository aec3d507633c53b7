import { afterEach, describe, expect, test } from "bun:test";
import { minutes, providerID, seconds } from "../../../src/core/brand.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { joins, NodeControllers, type SetupOptions, uninitialized } from "../../support/node-controllers.ts";
import { machine, outage, ScriptedSource, type ScriptOptions } from "../../support/scripted-source.ts";

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

/** Two regions that may contain machines with the same name. */
function regions(
  options: Omit<SetupOptions, "sources"> = {},
  script: Partial<ScriptOptions> = {},
): { w: NodeControllers; east: ScriptedSource; west: ScriptedSource } {
  const sources: ScriptedSource[] = [];
  const w = new NodeControllers({
    ...options,
    sources: (clock) => {
      const one = (name: string) =>
        new ScriptedSource({ clock, scheme: `${name}://`, name, takes: seconds(1), ...script });
      const east = one("east");
      const west = one("west");
      sources.push(east, west);
      return [east, west];
    },
  });
  world = w;
  const [east, west] = sources as [ScriptedSource, ScriptedSource];
  return { w, east, west };
}

const inRegion = (region: string, key: string, name = "n0") =>
  machine(key, { id: providerID(`${region}://${key}`), names: [name] });

const idOf = (w: NodeControllers, name = "n0") => w.nodes.node(name).spec.providerID;

describe("a joining Node whose instance was found in one of two regions", () => {
  test("a joining Node waits for a region that does not answer, and names it [F13]", async () => {
    const { w, east, west } = regions();
    east.put(inRegion("east", "1"));
    west.put(inRegion("west", "2"));
    west.failure = { error: outage("GET /regions/west/machines") };
    w.start("node");
    joins(w);
    await w.pass(1200);
    expect(idOf(w)).toBeUndefined();
    expect(w.nodes.node("n0").spec.taints).toEqual([uninitialized]);
    expect(w.reasons("n0")).toEqual(["UnconfirmedMatch"]);
    expect(w.reported[0]?.message).toBe(
      'Instance east://1 in east matches Node "n0", but there may be another match: source west did not answer (GET /regions/west/machines failed: 500). The Node stays uninitialized until all sources have answered. To limit this wait, set --node-match-timeout, or set --provider-id on the kubelet.',
    );
    expect(w.nodes.node("n0").status.conditions).toMatchObject([
      { type: "CloudReady", status: "False", reason: "UnconfirmedMatch" },
    ]);
    west.failure = undefined;
    await w.until(() => w.reasons("n0").includes("AmbiguousMatch"), "the second match to be reported", 600);
    expect(idOf(w)).toBeUndefined();
    east.machines.clear();
    await w.until(() => w.initialized.length === 1, "the Node to be initialized", 600);
    expect(idOf(w)).toBe("west://2");
  });

  test("initializes a joining Node once the other region has answered, and removes the condition", async () => {
    const { w, east, west } = regions();
    east.put(inRegion("east", "1"));
    west.failure = { error: outage() };
    w.start("node");
    joins(w);
    await w.pass(600);
    west.failure = undefined;
    await w.until(() => w.initialized.length === 1, "the Node to be initialized", 400);
    await w.pass(1);
    expect(idOf(w)).toBe("east://1");
    expect(w.nodes.node("n0").status.conditions ?? []).toEqual([]);
  });

  test("a joining Node waits for a listing of the other region that is newer than the Node", async () => {
    const { w, east, west } = regions();
    east.put(inRegion("east", "1"));
    w.inventory.requestListing(0, "refresh");
    await w.pass(10);
    // Created after the listing, so only a newer listing shows it.
    west.put(inRegion("west", "2"));
    w.start("node");
    joins(w);
    await w.until(() => w.reasons("n0").includes("AmbiguousMatch"), "both matches to be found");
    expect(idOf(w)).toBeUndefined();
  });

  test("a joining Node reports the slow region", async () => {
    const { w, east, west } = regions();
    east.put(inRegion("east", "1"));
    const list = west.list.bind(west);
    west.list = async function* (call) {
      for await (const page of list(call)) {
        await new Promise<void>((resolve) => w.clock.after(seconds(100), resolve));
        yield page;
      }
    };
    w.start("node");
    joins(w);
    await w.pass(20);
    expect(w.reasons("n0")).toEqual(["UnconfirmedMatch"]);
    expect(w.reported[0]?.message).toContain("source west has not answered yet");
    expect(idOf(w)).toBeUndefined();
    await w.until(() => w.initialized.length === 1, "the Node to be initialized", 200);
    expect(w.nodes.node("n0").status.conditions ?? []).toEqual([]);
  });

  test("a joining Node uses the match at the end of --node-match-timeout, and reports which source did not answer", async () => {
    const { w, east, west } = regions({ node: { matchTimeout: minutes(2) } });
    east.put(inRegion("east", "1"));
    west.failure = { error: outage() };
    w.start("node");
    joins(w);
    await w.pass(115);
    expect(idOf(w)).toBeUndefined();
    await w.until(() => w.initialized.length === 1, "the Node to be initialized", 10);
    expect(idOf(w)).toBe("east://1");
    expect(w.reasons("n0")).toEqual(["UnconfirmedMatch", "Synced", "UnconfirmedMatchUsed"]);
    expect(w.reported.at(-1)?.message).toContain("source west did not answer (GET /machines failed: 500)");
  });

  test("a joining Node does not wait with --node-match-timeout=0s", async () => {
    const { w, east, west } = regions({ node: { matchTimeout: seconds(0) } });
    east.put(inRegion("east", "1"));
    west.failure = { error: outage() };
    w.start("node");
    joins(w);
    await w.until(() => w.initialized.length === 1, "the Node to be initialized", 5);
    expect(idOf(w)).toBe("east://1");
  });

  test("a joining Node waits for the stronger key of another region", async () => {
    const { w, east, west } = regions({ matchBy: ["uuid", "name"] });
    east.put(inRegion("east", "1"));
    w.inventory.requestListing(0, "refresh");
    await w.pass(10);
    west.put(machine("2", { id: providerID("west://2"), names: ["other"], uuids: ["u"] }));
    w.start("node");
    w.nodes.add({
      name: "n0",
      spec: { taints: [uninitialized] },
      status: { nodeInfo: { systemUUID: "U" } as never },
    });
    await w.until(() => w.initialized.length === 1, "the Node to be initialized");
    expect(idOf(w)).toBe("west://2");
  });
});

test("a joining Node names the failed region if no other region has the instance", async () => {
  const { w, west } = regions();
  west.failure = { error: outage() };
  w.start("node");
  joins(w);
  await w.pass(60);
  expect(w.reported.map(({ reason, message }) => [reason, message])).toEqual([
    ["CloudUnavailable", "Source west did not answer: GET /machines failed: 500"],
  ]);
});

test("reports a Node with one match in each of two recent listings as ambiguous, without another refresh", async () => {
  const { w, east, west } = regions();
  east.put(inRegion("east", "1"));
  west.put(inRegion("west", "2"));
  w.inventory.requestListing(0, "refresh");
  await w.pass(10);
  w.start("node");
  joins(w);
  await w.until(() => w.reasons("n0").includes("AmbiguousMatch"), "the ambiguity to be reported", 30);
  east.machines.clear();
  await w.until(() => w.initialized.length === 1, "the Node to be initialized", 30);
  expect(idOf(w)).toBe("west://2");
});

test.if(runsAllTests)("5,000 Nodes that join two regions cost one listing of each [F9 F11]", async () => {
  const { w, east, west } = regions();
  const names = Array.from({ length: 5000 }, (_, index) => `n${index}`);
  for (const [index, name] of names.entries()) {
    const region = index % 2 === 0 ? east : west;
    region.put(inRegion(region.name, name, name));
  }
  w.start("node");
  for (const name of names) joins(w, name);
  await w.until(() => w.initialized.length === 5000, "all Nodes to be initialized", 120);
  expect([east.listings, west.listings]).toEqual([1, 1]);
});

test("Nodes that join one after another cost listings by time, not by Node", async () => {
  const { w, east, west } = regions({}, { takes: seconds(5), lookups: { name: 25 } });
  const names = Array.from({ length: 500 }, (_, index) => `n${index}`);
  for (const name of names) east.put(inRegion("east", name, name));
  w.start("node");
  for (const name of names) {
    joins(w, name);
    await w.pass(0.1);
  }
  await w.until(() => w.initialized.length === 500, "all Nodes to be initialized", 120);
  expect(west.calls.length).toBeLessThanOrEqual(15);
});

describe("a joining Node whose instance has the provider id of another Node", () => {
  const twice = machine("1", { names: ["n0", "n1"] });

  test("stays uninitialized until the other Node is deleted, and names it [F13]", async () => {
    world = new NodeControllers({ machines: [twice] });
    const w = world;
    w.nodes.add({ name: "n1", spec: { providerID: twice.id } });
    w.start("node");
    joins(w);
    await w.pass(60);
    expect(idOf(w)).toBeUndefined();
    expect(w.reasons("n0")).toContain("ProviderIDInUse");
    expect(w.reported.at(-1)?.message).toContain('Node "n1" has its provider ID fake://1');
    w.nodes.remove("n1");
    await w.until(() => idOf(w) !== undefined, "the provider id", 400);
    expect(idOf(w)).toBe("fake://1");
  });

  test.each(["enforce", "observe"] as const)(
    "stays uninitialized if both join at once in mode %s [F13]",
    async (mode) => {
      world = new NodeControllers({ machines: [twice], mode, lag: 5000 });
      const w = world;
      joins(w, "n0");
      joins(w, "n1");
      w.start("node");
      await w.pass(60);
      expect([idOf(w, "n0"), idOf(w, "n1")].filter((id) => id !== undefined)).toHaveLength(
        mode === "enforce" ? 1 : 0,
      );
      expect(["n0", "n1"].filter((name) => w.reasons(name).includes("ProviderIDInUse"))).toHaveLength(1);
    },
  );
});
