import { afterEach, describe, expect, test } from "bun:test";
import { minutes, seconds } from "../../../src/core/brand.ts";
import type { Occurrence } from "../../../src/kube/events/event-correlator.ts";
import { EventRecorder } from "../../../src/kube/events/event-recorder.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { ApiServerNodes } from "../../support/api-server-nodes.ts";

// The name of an event is derived from its content, so the next process, leader or reload continues the count.

const problem: Occurrence = {
  component: "cloud-node-controller",
  object: { apiVersion: "v1", kind: "Node", name: "n0", uid: "uid-n0" },
  type: "Warning",
  reason: "NotFoundInCloud",
  message: "The cloud has no instance named n0.",
};

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

function world() {
  const clock = new VirtualClock();
  const nodes = new ApiServerNodes({ clock, random: seededRandom(1) });
  const lost: string[] = [];
  /** A process that records the occurrences and ends. */
  const process = async (...occurrences: readonly Occurrence[]): Promise<void> => {
    const stop = new AbortController();
    stops.push(stop);
    const onLost = (why: string) => lost.push(why);
    const recorder = new EventRecorder({ api: nodes.api, clock, random: seededRandom(2), onLost });
    void recorder.run(stop.signal);
    for (const occurrence of occurrences) {
      recorder.record(occurrence);
      await clock.advance(seconds(30));
    }
    stop.abort();
  };
  const events = () =>
    nodes.server.store.list("events") as unknown as readonly {
      count: number;
      message: string;
      firstTimestamp: string;
      lastTimestamp: string;
    }[];
  return { clock, nodes, process, events, lost };
}

describe("an event", () => {
  test("a repeated event stays one event with a count after a restart or a handover", async () => {
    const { clock, process, events, lost } = world();
    await process(problem, problem);
    const [first] = events();
    await clock.advance(minutes(20));
    await process(problem);
    await process(problem, problem);
    expect(events().map(({ count }) => count)).toEqual([5]);
    expect(events()[0]?.firstTimestamp).toBe(first?.firstTimestamp as string);
    expect(events()[0]?.lastTimestamp).not.toBe(first?.lastTimestamp as string);
    expect(lost).toEqual([]);
  });

  test("an event with a different message, reason, type, component or object is a separate event", async () => {
    const { process, events } = world();
    const { object } = problem;
    await process(
      problem,
      { ...problem, message: "Another message." },
      { ...problem, reason: "AmbiguousMatch" },
      { ...problem, type: "Normal" },
      { ...problem, component: "cloud-node-lifecycle-controller" },
      { ...problem, object: { ...object, uid: "uid-second" } },
    );
    expect(events().map(({ count }) => count)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  test("an event that combines many messages stays one event, even if the messages change", async () => {
    const { process, events } = world();
    const messages = (from: number) =>
      Array.from({ length: 12 }, (_, index) => ({ ...problem, message: `Attempt ${from + index} failed.` }));
    await process(...messages(0));
    await process(...messages(100));
    const combined = events().filter(({ message }) => message.startsWith("(combined from similar events)"));
    expect(combined.map(({ count }) => count)).toEqual([6]);
  });

  test("an event is counted once when the response to its creation is lost", async () => {
    const { nodes, process, events } = world();
    let creations = 0;
    nodes.server.faults.intercept = ({ method, url }) => {
      if (method !== "POST" || !url.includes("/events")) return undefined;
      creations += 1;
      return creations === 1 ? "lose-answer" : undefined;
    };
    await process(problem);
    expect(creations).toBe(2);
    expect(events().map(({ count }) => count)).toEqual([1]);
  });
});
