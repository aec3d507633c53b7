import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import { nodes } from "../../../src/kube/resources.ts";
import { readWatchStream } from "../../../src/kube/watch/watch-stream.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

/** Reads these chunks, each after a wait, and counts the timers without delay that the reader sets. */
const pausesFor = async (chunks: readonly string[], wait: number): Promise<number> => {
  const clock = new VirtualClock();
  let pauses = 0;
  const counting = Object.assign(Object.create(clock) as VirtualClock, {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (delay: Parameters<typeof clock.after>[0], callback: () => void) => {
      if (delay === 0) pauses += 1;
      return clock.after(delay, callback);
    },
  });
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => {
      for (const [index, chunk] of chunks.entries())
        clock.after(seconds((index + 1) * wait), () => controller.enqueue(encoder.encode(chunk)));
      clock.after(seconds((chunks.length + 1) * wait), () => controller.close());
    },
  });
  const stream = { body, close: () => undefined, decoded: () => undefined, stalled: () => undefined };
  const options = { resource: nodes, origin: "", clock: counting, silenceLimit: () => seconds(60) };
  const read = (async () => {
    let count = 0;
    for await (const _ of readWatchStream(stream, options, new AbortController().signal)) count += 1;
    return count;
  })();
  await clock.advance(seconds(60));
  expect(await read).toBe(chunks.length);
  return pauses;
};

const event = (name: string): string =>
  `${JSON.stringify({ type: "ADDED", object: { metadata: { name, resourceVersion: "1" } } })}\n`;

test("a watch does not pause after a single event, because other work ran while it waited", async () => {
  expect(await pausesFor([event("one"), event("two"), event("three")], 5)).toBe(0);
});
