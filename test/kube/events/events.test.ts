import { describe, expect, test } from "bun:test";
import { milliseconds, minutes, seconds } from "../../../src/core/brand.ts";
import { EventCorrelator, type Occurrence, type Series } from "../../../src/kube/events/event-correlator.ts";
import { EventRecorder } from "../../../src/kube/events/event-recorder.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { WriteGate } from "../../../src/runtime/write-gate.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { type Answer, json, scripted } from "../support/scripted.ts";

const never = new AbortController().signal;

const about = (name: string, message = "Node synced successfully"): Occurrence => ({
  component: "cloud-node-controller",
  object: { apiVersion: "v1", kind: "Node", name, uid: `uid-${name}` },
  type: "Normal",
  reason: "Synced",
  message,
});

describe("event correlator", () => {
  test("the event correlator counts equal events, and combines different events from the tenth on", () => {
    const correlator = new EventCorrelator(new VirtualClock());
    const correlate = (occurrence: Occurrence) => correlator.correlate(occurrence);
    expect([
      correlate(about("a"))?.count,
      correlate(about("a"))?.count,
      correlate(about("b"))?.count,
    ]).toEqual([1, 2, 1]);
    const messages = Array.from({ length: 11 }, (_, n) => correlate(about("c", `m${n}`)));
    expect(messages[8]?.occurrence.message).toBe("m8");
    expect(messages[9]?.occurrence.message).toBe("(combined from similar events): m9");
    expect(messages[10]?.series).toBe(messages[9]?.series as Series);
    expect(messages[10]?.count).toBe(2);
  });

  test("the event correlator drops events about one object from the 26th on, except for one every five minutes", async () => {
    const clock = new VirtualClock();
    const correlator = new EventCorrelator(clock);
    const correlate = (occurrence: Occurrence) => correlator.correlate(occurrence);
    const passed = (): number =>
      Array.from({ length: 30 }, () => correlate(about("a"))).filter(Boolean).length;
    expect(passed()).toBe(25);
    await clock.advance(minutes(5));
    expect(passed()).toBe(1);
    expect(correlate(about("b"))).toBeDefined();
  });

  test("the event correlator stops combining after ten minutes without events", async () => {
    const clock = new VirtualClock();
    const correlator = new EventCorrelator(clock);
    const correlate = (occurrence: Occurrence) => correlator.correlate(occurrence);
    for (let n = 0; n < 12; n++) correlate(about("a", `m${n}`));
    await clock.advance(minutes(11));
    expect(correlate(about("a", "later"))?.occurrence.message).toBe("later");
  });
});

const recording = (answer: Answer, capacity = 100, mayWrite: WriteGate = () => true) => {
  const server = scripted(answer);
  const lost: string[] = [];
  const recorder = new EventRecorder({
    api: server.api.as({ mayWrite }),
    clock: server.clock,
    random: seededRandom(1),
    capacity,
    onLost: (why) => lost.push(why),
  });
  const stop = new AbortController();
  return { ...server, recorder, lost, stop, start: () => recorder.run(stop.signal) };
};

const created: Answer = () => json({ metadata: {} }, 201);

test("the event recorder writes each event once, to the default namespace, and patches the count of repeats", async () => {
  const { recorder, clock, seen, start, stop } = recording(created);
  const running = start();
  recorder.record(about("a"));
  await clock.advance(seconds(1));
  recorder.record(about("a"));
  await clock.advance(seconds(1));
  const body = JSON.parse(String(seen[0]?.body));
  expect(seen[0]?.url).toEndWith("/api/v1/namespaces/default/events");
  expect(body).toMatchObject({
    count: 1,
    reason: "Synced",
    source: { component: "cloud-node-controller" },
    involvedObject: { apiVersion: "v1" },
  });
  expect(body.metadata.name).toMatch(/^a\.[0-9a-f]+$/);
  expect([seen[1]?.method, JSON.parse(String(seen[1]?.body)).count]).toEqual(["PATCH", 2]);
  stop.abort();
  await running;
});

test("the event recorder combines queued repeats into one write, and recreates a deleted event", async () => {
  const { recorder, clock, seen, start, stop } = recording((request, signal) =>
    request.method === "PATCH" ? json({}, 404) : created(request, signal),
  );
  for (let n = 0; n < 3; n++) recorder.record(about("a"));
  const running = start();
  await clock.advance(seconds(1));
  recorder.record(about("a"));
  await clock.advance(seconds(1));
  expect(seen.map(({ method }) => method)).toEqual(["POST", "PATCH", "POST"]);
  expect(JSON.parse(String(seen[0]?.body)).count).toBe(3);
  stop.abort();
  await running;
});

test("the event recorder writes the first event of a burst after a second, and immediately when it must become idle", async () => {
  const { recorder, clock, seen, start, stop } = recording(created);
  const running = start();
  recorder.record(about("a"));
  await clock.advance(milliseconds(999));
  expect(seen).toEqual([]);
  await clock.advance(milliseconds(1));
  expect(seen).toHaveLength(1);
  recorder.record(about("b"));
  await recorder.whenIdle(never);
  expect(seen).toHaveLength(2);
  stop.abort();
  await running;
});

test("the event recorder loses none of 5,000 distinct events while the server throttles it", async () => {
  let requests = 0;
  const names = new Set<string>();
  const { recorder, clock, lost, start, stop } = recording((request) => {
    if (requests++ % 50 === 0) return json({}, 429, { "retry-after": "1" });
    names.add(JSON.parse(String(request.body)).metadata.name);
    return json({ metadata: {} }, 201);
  }, 10_000);
  const running = start();
  for (let n = 0; n < 5000; n++) recorder.record(about(`node-${n}`));
  let isIdle = false;
  void recorder.whenIdle(never).then(() => {
    isIdle = true;
  });
  await clock.until(() => isIdle, minutes(60), "all events");
  expect([names.size, lost.length]).toEqual([5000, 0]);
  stop.abort();
  await running;
});

test("the event recorder delays events while the Lease may have expired", async () => {
  let mayHaveExpired = true;
  const gate: WriteGate = () => (mayHaveExpired ? { reason: "the Lease may have expired." } : true);
  const { recorder, clock, seen, lost, start, stop } = recording(created, 100, gate);
  const running = start();
  recorder.record(about("a"));
  await clock.advance(seconds(5));
  expect([seen.length, recorder.pending]).toEqual([0, 1]);
  mayHaveExpired = false;
  await clock.advance(seconds(20));
  expect([seen.length, recorder.pending, lost]).toEqual([1, 0, []]);
  stop.abort();
  await running;
});

test("the event recorder reports every lost event: queue full, rejected, spam, undeliverable", async () => {
  const full = recording(created, 2);
  for (const name of ["a", "b", "c"]) full.recorder.record(about(name));
  expect(full.lost).toEqual(["queue-full"]);
  for (let n = 0; n < 30; n++) full.recorder.record(about("a"));
  expect(full.lost).toContain("spam");

  const refused = recording(() => json({}, 403));
  const first = refused.start();
  refused.recorder.record(about("a"));
  await refused.clock.advance(seconds(1));
  expect([refused.lost, refused.recorder.pending]).toEqual([["refused"], 0]);
  refused.stop.abort();
  await first;

  const broken = recording(() => json({}, 500));
  const second = broken.start();
  broken.recorder.record(about("a"));
  await broken.clock.advance(minutes(3));
  expect([broken.lost, broken.seen.length]).toEqual([["undeliverable"], 12]);
  broken.stop.abort();
  await second;
});
