import { describe, expect, test } from "bun:test";
import { Doubt } from "../../../src/controllers/kernel/doubt.ts";
import { removalWindow } from "../../../src/controllers/kernel/removal-kinds.ts";
import { defaultRemovalLimit, HoldMemory } from "../../../src/controllers/kernel/removal-limit.ts";
import { RemovalMemory } from "../../../src/controllers/kernel/removal-memory.ts";
import { decodeRemovals, encodeRemovals, shortId } from "../../../src/controllers/kernel/removal-text.ts";
import { milliseconds, minutes } from "../../../src/core/brand.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { vouchedRemovals } from "../../support/vouched-removals.ts";

describe("the memory of removals", () => {
  test("counts a removal once until the window is over", async () => {
    const clock = new VirtualClock();
    const memory = new RemovalMemory(clock);
    await memory.record("nodes", ["a", "b"]);
    await memory.record("nodes", ["a"]);
    memory.note("nodes", ["b", "c"]);
    expect(memory.count("nodes")).toBe(3);
    expect(memory.count("routes")).toBe(0);
    expect([memory.has("nodes", "c"), memory.has("nodes", "d")]).toEqual([true, false]);
    await clock.advance(removalWindow);
    expect(memory.count("nodes")).toBe(3);
    await clock.advance(milliseconds(1));
    expect(memory.count("nodes")).toBe(0);
  });

  test("recording a removal resolves only after its id is stored, and stores the id again after a failure", async () => {
    const memory = new RemovalMemory(new VirtualClock());
    let writes = 0;
    let fails = true;
    const store = async () => {
      writes += 1;
      if (fails) throw new Error("no API server");
      memory.stored(memory.removals(["nodes"]));
    };
    memory.storeWith({ store, howToRelease: () => "" });
    await expect(memory.record("nodes", ["a"])).rejects.toThrow("no API server");
    fails = false;
    await memory.record("nodes", ["a"]);
    await memory.record("nodes", ["a"]);
    expect(writes).toBe(2);
  });

  test("stores a removal again if it is repeated minutes later, so that the next leader counts the whole window", async () => {
    const clock = new VirtualClock();
    const memory = new RemovalMemory(clock);
    let stored: ReturnType<RemovalMemory["removals"]> = [];
    const store = async () => {
      await clock.advance(milliseconds(500));
      stored = memory.removals(["routes"]);
      memory.stored(stored);
    };
    memory.storeWith({ store, howToRelease: () => "" });
    const settings = { removalLimit: defaultRemovalLimit };
    const census = { keys: () => [], of: () => undefined };
    const limit = new Doubt({
      kind: "routes",
      census,
      settings,
      removals: memory,
      clock,
      memory: new HoldMemory(),
    });
    expect(await limit.record(["a"])).toBe("decide again");
    expect(await limit.record(["a"])).toBe("recorded");
    await clock.advance(minutes(9));
    // The leader crashes just after it has sent the removal again.
    expect(await limit.record(["a"])).toBe("decide again");
    expect(await limit.record(["a"])).toBe("recorded");
    const next = new RemovalMemory(clock);
    next.load(stored, "another");
    await clock.advance(minutes(9));
    expect(next.count("routes")).toBe(1);
  });

  test("does not record more removals than the Lease can store, and keeps all earlier removals", async () => {
    const memory = new RemovalMemory(new VirtualClock());
    memory.note(
      "nodes",
      Array.from({ length: 6000 }, (_, at) => `node-${at}`),
    );
    expect(memory.count("nodes")).toBe(5000);
    await expect(memory.record("nodes", ["another"])).rejects.toThrow("as many as the Lease can store");
    await memory.record("nodes", ["node-1"]);
  });

  test("a release applies exactly to the objects that are held at that moment", () => {
    const memory = vouchedRemovals(new VirtualClock());
    const released: string[] = [];
    memory.subscribe((kind) => released.push(kind));
    for (const id of ["a", "b", "c"]) memory.hold("routes", id, `route ${id}`);
    memory.endHold("routes", "b");
    expect(memory.release("nodes")).toEqual([]);
    expect(memory.release("routes")).toEqual(["route a", "route c"]);
    memory.hold("routes", "d", "route d");
    expect(["a", "b", "c", "d"].map((id) => memory.isReleased("routes", id))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(released).toEqual(["routes"]);
  });

  test("forgets a release after the window", async () => {
    const clock = new VirtualClock();
    const memory = new RemovalMemory(clock);
    memory.hold("nodes", "a", "node a");
    memory.release("nodes");
    await clock.advance(milliseconds(removalWindow + 1));
    expect(memory.isReleased("nodes", "a")).toBe(false);
  });
});

describe("stored removals", () => {
  const now = Date.parse("2026-11-22T10:00:00.500Z");
  const removal = (id: string, age: number) => ({ kind: "nodes" as const, id: shortId(id), age });

  test("restores stored removals with their age, and never expires them early", () => {
    const text = encodeRemovals([removal("a", 60_000), removal("b", 60_000), removal("c", 0)], now);
    expect(text).toBe(
      JSON.stringify({
        nodes: {
          "2026-11-22T09:59:01Z": [shortId("a"), shortId("b")],
          "2026-11-22T10:00:01Z": [shortId("c")],
        },
      }),
    );
    expect(decodeRemovals(text ?? "", now)).toEqual([
      removal("a", 59_500),
      removal("b", 59_500),
      removal("c", 0),
    ]);
  });

  test("stores no text without removals", () => {
    expect(encodeRemovals([], now)).toBeUndefined();
  });

  test("skips unreadable stored removals", () => {
    for (const text of [
      "",
      "null",
      "[]",
      '{"nodes":5}',
      '{"nodes":{"soon":["a"]}}',
      '{"nodes":{"2026":"a"}}',
    ]) {
      expect(decodeRemovals(text, now)).toEqual([]);
    }
  });

  test("stored removals keep their known time if this process stored them", async () => {
    const clock = new VirtualClock();
    const memory = new RemovalMemory(clock);
    memory.note("nodes", ["a"]);
    await clock.advance(milliseconds(60_000));
    const stored = [removal("a", 0), removal("b", 540_000), removal("c", removalWindow)];
    memory.load(stored, "this process");
    memory.load(stored, "this process");
    expect(memory.count("nodes")).toBe(2);
    await clock.advance(milliseconds(60_001));
    expect([memory.has("nodes", "a"), memory.has("nodes", "b")]).toEqual([true, false]);
  });

  test("stored removals get the time of another leader that has repeated the change", async () => {
    const clock = new VirtualClock();
    const memory = new RemovalMemory(clock);
    await memory.record("nodes", ["a"]);
    await clock.advance(milliseconds(500_000));
    memory.load([removal("a", 60_000)], "another");
    await clock.advance(milliseconds(500_000));
    expect(memory.has("nodes", "a")).toBe(true);
    await clock.advance(milliseconds(40_001));
    expect(memory.has("nodes", "a")).toBe(false);
  });
});
