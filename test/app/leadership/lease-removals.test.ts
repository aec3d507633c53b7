import { describe, expect, test } from "bun:test";
import { LeaseRemovals, releasedKinds } from "../../../src/app/leadership/lease-removals.ts";
import { RemovalMemory } from "../../../src/controllers/kernel/removal-memory.ts";
import { minutes, seconds } from "../../../src/core/brand.ts";
import type { Lease } from "../../../src/kube/objects.ts";
import { toMicroTime } from "../../../src/kube/objects.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

/** A replica whose wall clock differs from the other clocks by `offset`. */
const replica = (clock: VirtualClock, offset = 0) => {
  const own = { ...clockOf(clock), now: () => clock.now() + offset };
  const memory = new RemovalMemory(own);
  const kinds = () => ["nodes"] as const;
  /** The numbers of removals that were reported as omitted. */
  const omitted: number[] = [];
  const removals = new LeaseRemovals({
    memory,
    kinds,
    clock: own,
    identity: "one",
    onRelease: () => undefined,
    onOmitted: (count) => omitted.push(count),
  });
  /** Renews the Lease as the election does. */
  const renew = (before: Lease): Lease => {
    const { values, onStored } = removals.next(before, "hold");
    const annotations = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
    onStored();
    const spec = { renewTime: toMicroTime(own.now()) };
    return { ...before, metadata: { ...before.metadata, annotations }, spec } as Lease;
  };
  return { memory, removals, renew, omitted };
};

const clockOf = (clock: VirtualClock) => ({
  monotonic: () => clock.monotonic(),
  after: clock.after.bind(clock),
});

const empty = { metadata: { name: "ccm" } } as Lease;

describe("removals recorded on a Lease", () => {
  test.each([
    ["the same clock", 0],
    ["a clock that is a day ahead", 86_400_000],
    ["a clock that is a day behind", -86_400_000],
  ])(
    "removals recorded on a Lease count until their window ends, on a replica with %s",
    async (_, offset) => {
      const clock = new VirtualClock();
      const one = replica(clock);
      const other = replica(clock, offset);
      one.memory.note("nodes", ["a"]);
      await clock.advance(minutes(4));
      other.removals.read(one.renew(empty));
      await clock.advance(minutes(5));
      expect(other.memory.count("nodes")).toBe(1);
      await clock.advance(minutes(2));
      expect(other.memory.count("nodes")).toBe(0);
    },
  );

  test("a removal recorded on a Lease counts towards the limit once, even if a standby replica saw the deletion", async () => {
    const clock = new VirtualClock();
    const [leader, standby] = [replica(clock), replica(clock)];
    leader.memory.note("nodes", ["a", "b"]);
    standby.memory.note("nodes", ["a"]);
    for (let turn = 0; turn < 3; turn += 1) {
      standby.removals.read(leader.renew(empty));
      await clock.advance(seconds(2));
    }
    expect(standby.memory.count("nodes")).toBe(2);
  });

  test("removals on a Lease leave space for other annotations, and no removal is recorded when the Lease is full", async () => {
    const clock = new VirtualClock();
    const { memory, renew, omitted } = replica(clock);
    const foreign = { "example.com/large": "é".repeat(100_000) };
    let lease = { metadata: { name: "ccm", annotations: foreign } } as unknown as Lease;
    const store = async (): Promise<void> => {
      const renewed = renew(lease);
      const annotations = { ...lease.metadata.annotations, ...renewed.metadata.annotations };
      lease = { ...renewed, metadata: { ...renewed.metadata, annotations } };
    };
    const bytes = (): number => Buffer.byteLength(Object.entries(lease.metadata.annotations ?? {}).join(""));
    memory.storeWith({ store, howToRelease: () => "" });
    const ids = (name: string): string[] => Array.from({ length: 4000 }, (_, at) => `${name}-${at}`);
    memory.note("nodes", ids("old"));
    await clock.advance(minutes(1));
    memory.note("nodes", ids("new").slice(0, 999));
    await store();
    expect(omitted).toEqual([]);
    const larger = { ...foreign, "example.com/larger": "x".repeat(20_000) };
    lease = { ...lease, metadata: { ...lease.metadata, annotations: larger } };
    await store();
    expect(bytes()).toBeLessThanOrEqual(256 * 1024);
    expect(bytes()).toBeGreaterThan(256 * 1024 - 100);
    expect(omitted).toEqual([expect.any(Number)]);
    expect([memory.isStored("nodes", "old-0"), memory.isStored("nodes", "new-998")]).toEqual([true, false]);
    await expect(memory.record("nodes", ["another"])).rejects.toThrow(
      "The annotations of the Lease have no room for another removal of nodes",
    );
    expect(memory.isStored("nodes", "another")).toBe(false);
    lease = { ...lease, metadata: { ...lease.metadata, annotations: foreign } };
    await memory.record("nodes", ["another"]);
    expect(omitted).toEqual([expect.any(Number), 0]);
    expect(memory.isStored("nodes", "new-998")).toBe(true);
  });

  test("removals recorded on a Lease expire although a replica restarts every minute", async () => {
    const clock = new VirtualClock();
    let process = replica(clock);
    process.memory.note("nodes", ["a"]);
    let lease = process.renew(empty);
    let minutesHeld = 0;
    for (; process.memory.count("nodes") > 0 && minutesHeld < 60; minutesHeld += 1) {
      process = replica(clock);
      process.removals.read(lease);
      for (let second = 0; second < 60; second += 2) {
        await clock.advance(seconds(2));
        lease = process.renew(lease);
      }
    }
    expect(minutesHeld).toBeGreaterThanOrEqual(10);
    expect(minutesHeld).toBeLessThanOrEqual(12);
  });

  test("treats a recorded removal as current when its time is later than the time of the Lease", async () => {
    const clock = new VirtualClock();
    const { memory, removals } = replica(clock);
    const text = JSON.stringify({ nodes: { "2999-01-01T00:00:00Z": ["0badcafe"] } });
    const metadata = { name: "ccm", annotations: { "fairlead.dev/removals": text } };
    removals.read({ metadata, spec: { renewTime: toMicroTime(clock.now()) } } as unknown as Lease);
    expect(memory.count("nodes")).toBe(1);
    await clock.advance(minutes(11));
    expect(memory.count("nodes")).toBe(0);
  });
});

describe("a release whose response is lost", () => {
  const heldBy = (holderIdentity: string, annotations: Readonly<Record<string, string>> = {}): Lease =>
    ({ metadata: { name: "ccm", annotations }, spec: { holderIdentity } }) as unknown as Lease;

  /** The write that removes the annotation succeeds, but its response does not arrive. */
  const loseAnswer = () => {
    const clock = new VirtualClock();
    const released: string[] = [];
    const dropped: string[] = [];
    const removals = new LeaseRemovals({
      memory: new RemovalMemory(clock),
      kinds: () => ["nodes"] as const,
      clock,
      identity: "one",
      onRelease: (value) => released.push(value),
      onDropped: (value) => dropped.push(value),
    });
    const before = heldBy("one", { "fairlead.dev/release-hold": "nodes", other: "kept" });
    expect(removals.next(before, "hold").values).toHaveProperty(["fairlead.dev/release-hold"]);
    expect(released).toEqual([]);
    return { removals, released, dropped };
  };

  test("repeats a release with the next Lease renewal if its response is lost", () => {
    const { removals, released } = loseAnswer();
    removals.next(heldBy("one"), "hold").onStored();
    removals.next(heldBy("one"), "hold").onStored();
    expect(released).toEqual(["nodes"]);
  });

  test("reports a release with a lost response as dropped once another replica has held the Lease", () => {
    const { removals, released, dropped } = loseAnswer();
    removals.next(heldBy("two"), "hold").onStored();
    removals.next(heldBy("one"), "hold").onStored();
    expect([released, dropped]).toEqual([[], ["nodes"]]);
  });

  test("does not report a release as dropped if the annotation was set again", () => {
    const { removals, released, dropped } = loseAnswer();
    removals.next(heldBy("two", { "fairlead.dev/release-hold": "all" }), "hold").onStored();
    removals.next(heldBy("one"), "hold").onStored();
    expect([released, dropped]).toEqual([["all"], []]);
  });
});

test.each([
  ["nodes", ["nodes"]],
  ["routes, load-balancers", ["load-balancers", "routes"]],
  ["all", ["nodes", "load-balancers", "routes", "volumes"]],
  ["all,nodes", undefined],
  ["Nodes", undefined],
  ["", undefined],
  ["true", undefined],
])("the release annotation %p releases %p", (value, kinds) => {
  expect(releasedKinds(value)).toEqual(kinds as ReturnType<typeof releasedKinds>);
});
