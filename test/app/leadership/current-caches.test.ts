import { expect, test } from "bun:test";
import { CurrentCaches, type FollowedCache } from "../../../src/app/leadership/current-caches.ts";
import { type Milliseconds, milliseconds, minutes } from "../../../src/core/brand.ts";
import type { Task } from "../../../src/runtime/run-together.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

/** A cache whose age grows from `heardAt`, and that the API server may refuse to list. */
class FakeCache implements FollowedCache {
  readonly resource: string;
  isRefused = false;
  heardAt = 0;
  readonly #clock: VirtualClock;

  constructor(resource: string, clock: VirtualClock) {
    this.resource = resource;
    this.#clock = clock;
  }

  age(): Milliseconds {
    return milliseconds(this.#clock.monotonic() - this.heardAt);
  }

  whenListed(_: number, signal: AbortSignal): Promise<void> {
    if (!this.isRefused) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  whenRefused(): Promise<void> {
    return this.isRefused ? Promise.resolve() : new Promise(() => undefined);
  }
}

function setUp() {
  const clock = new VirtualClock();
  const logged: string[] = [];
  const stop = new AbortController();
  const note = (message: string): void => void logged.push(message);
  const caches = new CurrentCaches({ clock, log: { info: note, warn: note }, stop: stop.signal });
  const shared = new FakeCache("nodes", clock);
  const own = new FakeCache("certificatesigningrequests", clock);
  caches.follow(shared);
  caches.follow(own, "certificates");
  const running = new Set<string>();
  const task = (name: string): Task => ({
    name,
    run: (signal) =>
      new Promise((resolve) => {
        running.add(name);
        signal.addEventListener("abort", () => {
          running.delete(name);
          resolve();
        });
      }),
  });
  return { clock, logged, stop, caches, shared, own, running, tasks: ["certificates", "service"].map(task) };
}

/** Longer than the allowed silence of a cache. */
const silence = minutes(5);

test("blocks only the writes of the controller whose cache cannot be listed from the API server [N23]", async () => {
  const { clock, caches, shared, own } = setUp();
  own.isRefused = true;
  await clock.advance(silence);
  shared.heardAt = clock.monotonic();
  expect(caches.gateFor("certificates")()).toEqual({
    reason: expect.stringContaining("nothing about certificatesigningrequests for 300s"),
  });
  expect([caches.gateFor("service")(), caches.gateFor()(), caches.mayLead()]).toEqual([true, true, true]);
});

test("stops only the controller whose cache cannot be listed from the API server [N23]", async () => {
  const { clock, caches, shared, own, running, tasks, stop, logged } = setUp();
  const ended = caches.run(tasks, stop.signal);
  await clock.advance(minutes(1));
  expect([...running].toSorted()).toEqual(["certificates", "service"]);
  own.isRefused = true;
  for (let minute = 0; minute < 5; minute += 1) {
    await clock.advance(minutes(1));
    shared.heardAt = clock.monotonic();
  }
  expect([...running]).toEqual(["service"]);
  expect(logged.join("\n")).toContain("The controller certificates stops.");
  expect(logged.join("\n")).not.toContain("The controllers stop");
  stop.abort();
  await ended;
});

test("starts no controller when the session ends before the caches are current [N23]", async () => {
  const { clock, caches, shared, tasks, stop } = setUp();
  shared.isRefused = true;
  const began = new Set<string>();
  const noted = tasks.map(({ name }) => ({ name, run: async () => void began.add(name) }));
  const ended = caches.run(noted, stop.signal);
  await clock.advance(minutes(1));
  stop.abort();
  await ended;
  expect([...began]).toEqual([]);
});
