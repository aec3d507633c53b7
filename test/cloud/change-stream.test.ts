// The change stream is reopened with backoff, however it ends, and its loss is reported once.

import { expect, test } from "bun:test";
import { ChangeStream } from "../../src/cloud/change-stream.ts";
import { type Milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { sleep } from "../../src/platform/clock.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { Call } from "../../src/provider/call.ts";
import type { ChangeHint } from "../../src/provider/changes.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const hint: ChangeHint = { of: "instance", source: "machines", key: "1" };

function streamOver(follow: (clock: VirtualClock, call: Call) => AsyncIterable<readonly ChangeHint[]>) {
  const clock = new VirtualClock();
  const seen = { opened: [] as number[], hints: [] as ChangeHint[], reopened: 0, said: [] as string[] };
  const controller = new AbortController();
  const stream = new ChangeStream({
    changes: {
      maxSilence: minutes(1),
      follow: (call) => {
        seen.opened.push(clock.monotonic());
        return follow(clock, call);
      },
    },
    clock,
    random: seededRandom(1),
    onHints: (hints) => seen.hints.push(...hints),
    onReopened: () => {
      seen.reopened += 1;
    },
    warn: (message) => seen.said.push(`warn: ${message}`),
    note: (message) => seen.said.push(`note: ${message}`),
  });
  const done = stream.run(controller.signal);
  return { clock, stream, seen, controller, done };
}

/** A stream that stays open for this long. */
const lasting = (time: Milliseconds) =>
  async function* (clock: VirtualClock, { signal }: Call): AsyncIterable<readonly ChangeHint[]> {
    yield [];
    for (let passed = 0; passed < time; passed += seconds(10)) {
      await sleep(clock, seconds(10), signal);
      yield [hint];
    }
  };

test("a change stream that the cloud ends regularly is reopened without a log line", async () => {
  const { clock, seen, stream } = streamOver(lasting(minutes(10)));
  await clock.advance(minutes(59));
  expect(seen.opened).toHaveLength(6);
  expect(seen.reopened).toBe(5);
  expect(seen.said).toEqual([]);
  expect(stream.state).toMatchObject({ failure: undefined, openSince: expect.any(Number) });
});

test("the change stream reopens short-lived connections at growing intervals", async () => {
  const { clock, seen } = streamOver(lasting(seconds(10)));
  await clock.advance(minutes(60));
  expect(seen.opened.length).toBeLessThan(25);
  expect(seen.said[0]).toBe(
    "warn: The cloud does not report its changes: the cloud closed the connection. Fairlead finds them with the next listing, and tries to connect again.",
  );
});

test("a change stream that cannot be opened is reported once, and retried no more often than every few minutes", async () => {
  // biome-ignore lint/correctness/useYield: it fails before.
  const { clock, seen, stream } = streamOver(async function* () {
    throw new Error("There is no such queue.");
  });
  await clock.advance(minutes(60));
  expect(seen.opened.length).toBeLessThan(30);
  expect(seen.said).toEqual([expect.stringContaining("There is no such queue.")]);
  expect(stream.state).toMatchObject({ openSince: undefined, failure: "There is no such queue." });
});

test("the change stream abandons a silent connection, and a connection that never opens", async () => {
  let opened = 0;
  const { clock, seen } = streamOver(async function* (time, { signal }) {
    opened += 1;
    if (opened > 1) yield [hint];
    await sleep(time, minutes(1000), signal);
  });
  await clock.advance(seconds(59));
  expect(seen.opened).toHaveLength(1);
  await clock.advance(seconds(3));
  expect(seen.opened).toHaveLength(2);
  await clock.advance(seconds(65));
  expect(seen.opened).toHaveLength(3);
  expect(seen.said.slice(0, 2)).toEqual([
    expect.stringContaining("the cloud sent nothing for 1m."),
    "note: The cloud reports its changes again",
  ]);
});

test("a change stream ends with its signal, and sets no timer afterwards", async () => {
  const { clock, stream, controller, done } = streamOver(lasting(minutes(10)));
  await clock.advance(minutes(1));
  controller.abort();
  await done;
  await clock.advance(minutes(1));
  expect([stream.state, clock.pending]).toEqual([undefined, 0]);
});

test("the change stream reopens connections that fall silent after their first message at growing intervals", async () => {
  const { clock, seen } = streamOver(async function* (time, { signal }) {
    yield [];
    await sleep(time, minutes(60), signal);
  });
  await clock.advance(minutes(60));
  expect(seen.opened.length).toBeLessThan(30);
});
