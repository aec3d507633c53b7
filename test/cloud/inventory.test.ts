import { describe, expect, test } from "bun:test";
import { Inventory } from "../../src/cloud/inventory/instances.ts";
import { batchesFor, chooseMethod } from "../../src/cloud/inventory/lookup-batches.ts";
import type { NodeIdentity } from "../../src/cloud/inventory/node-identity.ts";
import { refreshInterval } from "../../src/cloud/inventory/refresh-loop.ts";
import { milliseconds, minutes, nodeName, providerID, seconds } from "../../src/core/brand.ts";
import type { MatchKey } from "../../src/provider/instances.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { machine, outage, ScriptedSource, type ScriptOptions } from "../support/scripted-source.ts";

const stop = new AbortController();

const named = (name: string, more: { uuid?: string; addresses?: readonly string[] } = {}) => ({
  name: nodeName(name),
  addresses: more.addresses ?? [],
  ...(more.uuid !== undefined && { uuid: more.uuid }),
});
const withID = (id: string) => ({ name: nodeName("n"), addresses: [], providerID: providerID(id) });

const setUp = (
  scripts: readonly Omit<ScriptOptions, "clock">[] = [{}],
  matchBy: readonly MatchKey[] = ["name"],
) => {
  const clock = new VirtualClock();
  const sources = scripts.map((script) => new ScriptedSource({ clock, takes: seconds(1), ...script }));
  const [first, ...rest] = sources;
  if (first === undefined) throw new Error("At least one source is needed.");
  const inventory = new Inventory({
    instances: { sources: [first, ...rest], matchBy },
    clock,
    signal: stop.signal,
  });
  const news: string[] = [];
  inventory.subscribe((kind) => news.push(kind));
  const ask = (identity: Parameters<Inventory["check"]>[0], method?: "listing" | "lookup") =>
    inventory.request(identity, {
      since: clock.monotonic(),
      urgency: "new-node",
      ...(method !== undefined && { method }),
    });
  /** Sends a query and waits until it is answered. */
  const answer = async (identity: Parameters<Inventory["check"]>[0], method?: "listing" | "lookup") => {
    ask(identity, method);
    await clock.advance(seconds(30));
    return inventory.check(identity);
  };
  const second = rest[0] ?? first;
  return { clock, inventory, news, ask, answer, first, second };
};

describe("an inventory", () => {
  test("names the source of the machine if several sources recognize the id", async () => {
    const { inventory, answer, second } = setUp([{ name: "near" }, { name: "far" }]);
    second.machines.set("7", machine("7", { handles: { port: "p7" } }));
    second.failure = { error: outage() };
    expect(inventory.machineOf(withID("fake://7"))).toEqual({ source: "near", key: "7" });
    await answer(withID("fake://7"));
    // The other source does not have the machine.
    expect(inventory.machineOf(withID("fake://7"))).toEqual({ source: "far", key: "7" });
    second.failure = undefined;
    await answer(withID("fake://7"));
    expect(inventory.machineOf(withID("fake://7"))).toEqual({
      source: "far",
      key: "7",
      handles: { port: "p7" },
    });
  });

  test("answers a thousand queries with one listing [F9 F24]", async () => {
    const { clock, first, ask, inventory, news } = setUp();
    for (let index = 0; index < 1000; index += 1) {
      first.put(machine(`n${index}`));
      ask(named(`n${index}`));
    }
    await clock.advance(seconds(60));
    expect(first.listings).toBe(1);
    expect(news).toEqual(["listing"]);
    expect(inventory.check(named("n999"))).toMatchObject({
      kind: "exists",
      source: "cloud",
      proof: "listing",
    });
  });

  test("lists with the urgency of the most urgent query", async () => {
    const { clock, first, inventory } = setUp();
    inventory.requestListing(0, "refresh");
    inventory.request(named("a"), { since: 0, urgency: "new-node" });
    inventory.request(named("b"), { since: 0, urgency: "deletion-proof" });
    await clock.advance(seconds(5));
    expect(first.calls.map(({ urgency }) => urgency)).toEqual(["new-node"]);
  });

  test("reports a machine as gone only after a complete listing without it, and as unknown before [F23]", async () => {
    const { inventory, answer } = setUp();
    expect(inventory.check(withID("fake://1"))).toEqual({ kind: "unknown", failure: undefined });
    expect(await answer(withID("fake://1"))).toEqual({ kind: "gone", proof: "listing", asOf: 10 });
  });

  test("reports a provider id that no source recognizes as foreign [F12]", () => {
    const { inventory } = setUp();
    expect(inventory.check(withID("other://1"))).toEqual({ kind: "foreign" });
    expect([inventory.manages(withID("other://1")), inventory.manages(named("a"))]).toEqual([false, true]);
  });

  test("ignores an incomplete listing [F23]", async () => {
    const { first, inventory, answer, news } = setUp([{ pageSize: 1 }]);
    first.put(machine("1"), machine("2"), machine("3"));
    expect((await answer(withID("fake://2"))).kind).toBe("exists");
    first.breaksAfter = 1;
    first.machines.delete("2");
    expect((await answer(withID("fake://2"))).kind).toBe("exists");
    expect(news).toEqual(["listing", "failure"]);
    expect(inventory.failureFor(withID("fake://2"))?.error).toBeInstanceOf(Error);
    first.breaksAfter = undefined;
    expect((await answer(withID("fake://2"))).kind).toBe("gone");
    expect(inventory.failureFor(withID("fake://2"))).toBeUndefined();
  });

  test("reports only the machines of a failing source as unknown [F73 F23]", async () => {
    const { second, answer } = setUp([
      { name: "a", scheme: "a://" },
      { name: "b", scheme: "b://" },
    ]);
    second.failure = { error: outage() };
    expect((await answer(withID("a://1"))).kind).toBe("gone");
    expect(await answer(withID("b://1"))).toMatchObject({
      kind: "unknown",
      failure: { error: second.failure.error },
    });
    expect((await answer(named("x"))).kind).toBe("unknown");
  });

  test("reports an id that several sources recognize as gone only if all sources lack it [F23]", async () => {
    const { first, second, answer } = setUp([{ name: "a" }, { name: "b" }]);
    second.failure = { error: outage() };
    expect((await answer(withID("fake://1"))).kind).toBe("unknown");
    second.failure = undefined;
    expect((await answer(withID("fake://1"))).kind).toBe("gone");
    first.put(machine("1"));
    expect(await answer(withID("fake://1"))).toMatchObject({ kind: "exists", source: "a" });
  });
});

describe("matching a Node without a provider id [F13]", () => {
  test("names the candidates of an ambiguous match, even across sources", async () => {
    const { first, second, answer } = setUp([{ name: "a" }, { name: "b" }]);
    first.put(machine("1", { names: ["n"] }));
    second.put(machine("2", { names: ["n"] }));
    const found = await answer(named("n"));
    expect(found).toMatchObject({ kind: "ambiguous", by: "name" });
    expect(found.kind === "ambiguous" && found.candidates.map(({ instance }) => instance.key)).toEqual([
      "1",
      "2",
    ]);
  });

  test("uses the first key with an answer, and compares UUIDs case-insensitively", async () => {
    const { first, answer } = setUp([{}], ["uuid", "name", "address"]);
    first.put(
      machine("1", { uuids: ["4C4C-AA"], names: ["other"] }),
      machine("2", { names: ["n"], addresses: [{ kind: "InternalIP", value: "10.0.0.2" }] }),
    );
    expect(await answer(named("n", { uuid: "4c4c-aa" }))).toMatchObject({ instance: { key: "1" } });
    expect(await answer(named("n", { uuid: "none" }))).toMatchObject({ instance: { key: "2" } });
    expect(await answer(named("x", { addresses: ["10.0.0.2"] }))).toMatchObject({ instance: { key: "2" } });
    expect(await answer(named("x", { uuid: "none", addresses: ["10.0.0.9"] }))).toMatchObject({
      kind: "gone",
    });
  });

  test("finds a machine by the Node's name before the first dot, after the exact name", async () => {
    const { first, answer } = setUp([{}], ["name", "shortName"]);
    first.put(
      machine("1", { names: ["web"], shortName: "web" }),
      machine("2", { names: ["web.a"] }),
      machine("3", { names: ["twin"], shortName: "twin" }),
      machine("4", { names: ["twin"], shortName: "twin" }),
    );
    expect(await answer(named("web"))).toMatchObject({ instance: { key: "1" } });
    expect(await answer(named("web.a"))).toMatchObject({ instance: { key: "2" } });
    expect(await answer(named("web.b"))).toMatchObject({ instance: { key: "1" } });
    expect(await answer(named("twin.b"))).toMatchObject({ kind: "ambiguous", by: "shortName" });
    expect(await answer(named("other.web"))).toMatchObject({ kind: "gone" });
  });

  test("does not match by a weaker key while a stronger key is unanswered", async () => {
    const { first, second, answer } = setUp([{ name: "a" }, { name: "b" }], ["uuid", "name"]);
    first.put(machine("1", { names: ["n"] }));
    second.put(machine("2", { uuids: ["u"] }));
    second.failure = { error: outage() };
    expect((await answer(named("n", { uuid: "u" }))).kind).toBe("unknown");
    second.failure = undefined;
    expect(await answer(named("n", { uuid: "u" }))).toMatchObject({ instance: { key: "2" } });
  });
});

describe("lookups and listings", () => {
  const both = { pageSize: 2, lookups: { id: 2, name: 2 } };

  test("lists first, and then uses lookups while they need no more requests than a listing", async () => {
    const { clock, first, answer, ask } = setUp([both]);
    first.put(...["1", "2", "3", "4", "5", "6"].map((key) => machine(key)));
    await answer(withID("fake://1"));
    expect(first.calls.map(({ what }) => what)).toEqual(["list"]);
    for (const id of ["1", "2", "3", "4"]) ask(withID(`fake://${id}`));
    await clock.advance(seconds(10));
    expect(first.lookupCalls).toEqual(["find id 1,2", "find id 3,4"]);
    for (const id of ["1", "2", "3", "4", "5"]) ask(withID(`fake://${id}`));
    await clock.advance(seconds(10));
    expect([first.listings, first.lookupCalls.length]).toEqual([2, 2]);
  });

  test("uses the requested method, listing or lookup, as a second, independent proof [F21]", async () => {
    const { first, answer } = setUp([both]);
    expect(await answer(withID("fake://1"), "lookup")).toMatchObject({ kind: "gone", proof: "lookup" });
    expect(await answer(withID("fake://1"), "listing")).toMatchObject({ kind: "gone", proof: "listing" });
    expect(first.calls.map(({ what }) => what)).toEqual(["find id 1", "list"]);
  });

  test("uses the newer of a lookup and a listing", async () => {
    const { first, answer } = setUp([both]);
    first.put(machine("1"));
    await answer(withID("fake://1"), "listing");
    first.machines.clear();
    expect((await answer(withID("fake://1"), "lookup")).kind).toBe("gone");
    first.put(machine("1"));
    expect((await answer(withID("fake://1"), "listing")).kind).toBe("exists");
  });

  test("finds a machine by id that was looked up by name", async () => {
    const { first, answer, inventory } = setUp([both]);
    first.put(...["1", "2", "3"].map((key) => machine(key)));
    await answer(named("1"));
    first.put(machine("9", { names: ["new"] }));
    expect(await answer(named("new"))).toMatchObject({ kind: "exists", proof: "lookup" });
    expect(inventory.check(withID("fake://9"))).toMatchObject({ kind: "exists", instance: { key: "9" } });
  });

  test("reports a failure for a key that is missing in the result of a lookup [F23]", async () => {
    const { first, answer, inventory, news } = setUp([both]);
    first.unanswered.add("1");
    expect((await answer(withID("fake://1"), "lookup")).kind).toBe("unknown");
    expect(news).toEqual(["failure"]);
    expect(inventory.failureFor(withID("fake://1"))?.error).toMatchObject({
      kind: "unavailable",
      message:
        "The lookup by id in cloud has no answer for 1, so Fairlead does not know whether it exists. It will retry.",
    });
  });

  test("requests a listing as proof if one of several sources was only listed [F21]", async () => {
    const { clock, ask, answer, second, inventory } = setUp([
      { ...both, name: "a" },
      { name: "b", pageSize: 2 },
    ]);
    expect(await answer(withID("fake://1"), "listing")).toMatchObject({ kind: "gone", proof: "listing" });
    ask(withID("fake://1"), "lookup");
    await clock.advance(seconds(10));
    expect(second.listings).toBe(1);
    expect(inventory.check(withID("fake://1"))).toMatchObject({ kind: "gone", proof: "listing" });
  });

  test("offers two proofs of absence only for ids that can be looked up", () => {
    const { inventory } = setUp([both]);
    expect(inventory.proofsFor(withID("fake://1"))).toEqual(["listing", "lookup"]);
    expect(inventory.proofsFor(named("n"))).toEqual(["listing"]);
    expect(setUp().inventory.proofsFor(withID("fake://1"))).toEqual(["listing"]);
  });

  test("estimates the requests for many queries, including for lookups of one key at a time", async () => {
    const { inventory, answer, first } = setUp([{ lookups: { id: 1 }, pageSize: 2 }]);
    for (const key of ["1", "2", "3", "4", "5"]) first.put(machine(key));
    await answer(withID("fake://1"), "listing");
    const costOf = (nodes: number) => inventory.costOf(withID("fake://1"), nodes);
    expect([costOf(1), costOf(2), costOf(50)]).toEqual([1, 2, 3]);
    for (const each of [...first.machines.values()]) {
      const { state: _, ...silent } = each;
      first.put(silent);
    }
    await answer(withID("fake://1"), "listing");
    expect([costOf(1), costOf(50)]).toEqual([1, 50]);
    expect(inventory.costOf(named("n"), 50)).toBe(3);
  });

  const source = { keyOf: (id: string) => id.slice("fake://".length), matchBy: ["uuid", "name"] as const };
  const lookups = {
    id: { limit: 2, find: async () => new Map() },
    name: { limit: 10, find: async () => new Map() },
  };
  const waiting = (identity: NodeIdentity) => ({ identity, known: () => undefined });
  const ids = ["1", "2", "3"].map((id) => waiting(withID(`fake://${id}`)));

  test("splits keys into batches of the maximum size, each key once", () => {
    expect(batchesFor([...ids, ...ids], lookups, source)).toEqual([
      { by: "id", keys: ["1", "2"] },
      { by: "id", keys: ["3"] },
    ]);
  });

  test("returns no batches if one of the keys cannot be looked up", () => {
    expect(batchesFor([waiting(named("n", { uuid: "u" }))], lookups, source)).toBeUndefined();
    expect(batchesFor([waiting(named("n"))], lookups, source)).toEqual([{ by: "name", keys: ["n"] }]);
    expect(batchesFor(ids, undefined, source)).toBeUndefined();
  });

  test.each([
    [undefined, 0, "listing"],
    [1, 100, "listing"],
    [2, 200, "listing"],
    [2, 201, "lookup"],
    [3, 3, "lookup"],
  ] as const)(
    "after a listing of %p pages with %d machines, chooses the %s for three ids",
    (pages, machines, kind) => {
      const latest = pages === undefined ? undefined : { pages, items: Array.from({ length: machines }) };
      expect(chooseMethod({ waiting: ids, lookups, source, latest }).kind).toBe(kind);
    },
  );
});

describe("a Node with two kinds of keys", () => {
  const found = machine("7", { names: ["n"], uuids: ["u"] });
  const lookUp = async (present: boolean, uuid?: string) => {
    const { first, answer } = setUp([{ lookups: { uuid: 1, name: 1 }, pageSize: 1 }], ["uuid", "name"]);
    for (const key of ["1", "2", "3", "4", "5"]) first.put(machine(key));
    await answer(named("other"), "listing");
    if (present) first.put(found);
    first.calls.length = 0;
    const result = await answer(named("n", uuid === undefined ? {} : { uuid }));
    return [first.calls.map(({ what }) => what), result.kind];
  };

  test("looks up a Node with two kinds of keys only by the stronger key, if a machine has that key", async () => {
    expect(await lookUp(true, "u")).toEqual([["find uuid u"], "exists"]);
  });

  test.each([
    [
      "matches no machine with the Node's name and a different UUID",
      "42000000-0000-0000-0000-000000000001",
      "gone",
    ],
    [
      "matches the machine with the Node's name if the kubelet reports a machine id",
      "4200000000000000",
      "exists",
    ],
  ] as const)("%s [F13]", async (_, uuid, kind) => {
    const { first, answer } = setUp([{}], ["uuid", "name"]);
    first.put(machine("1", { names: ["n"], uuids: ["42000000-0000-0000-0000-000000000002"] }));
    expect((await answer(named("n", { uuid }))).kind).toBe(kind);
  });

  test("a match is ambiguous if another source has a machine with the same id [F13]", async () => {
    const { first, second, answer } = setUp([{ name: "a" }, { name: "b" }]);
    first.put(machine("1", { names: ["n"] }));
    second.put(machine("1", { names: ["other"] }));
    const found = await answer(named("n"));
    expect(found).toMatchObject({ kind: "ambiguous", by: "id" });
    expect(found.kind === "ambiguous" && found.candidates.map(({ source }) => source)).toEqual(["a", "b"]);
  });

  test("uses the weaker key if the stronger key has no machine", async () => {
    expect(await lookUp(true, "other")).toEqual([["find uuid other", "find name n"], "exists"]);
    expect(await lookUp(false, "u")).toEqual([["find uuid u", "find name n"], "gone"]);
    expect(await lookUp(true)).toEqual([["find name n"], "exists"]);
  });
});

describe("the interval between listings", () => {
  const next = (interval: number | undefined, hasChanged: boolean, pages: number, fixed?: number) =>
    refreshInterval(fixed === undefined ? {} : { fixed: milliseconds(fixed) }, {
      interval: interval === undefined ? undefined : minutes(interval),
      hasChanged,
      pages,
    }) / 60_000;

  test.each([
    ["is five minutes at first", next(undefined, false, 1), 5],
    ["stretches while nothing changes", next(8, false, 1), 12],
    ["is never longer than thirty minutes", next(25, false, 1), 30],
    ["keeps many pages below sixty calls an hour", next(5, false, 20), 20],
    ["shortens again when something changes", next(30, true, 1), 5],
    ["is exact when it is configured", next(30, true, 40, 90_000), 1.5],
  ])("%s", (_, minutesUntil, expected) => {
    expect(minutesUntil).toBe(expected);
  });
});
