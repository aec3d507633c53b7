// Ending a connection to the cloud: its session is closed, and a cloud that does not answer hardly delays a shutdown.

import { expect, test } from "bun:test";
import { closeCloud } from "../../src/app/close-cloud.ts";
import { seconds } from "../../src/core/brand.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const setUp = () => {
  const warnings: string[] = [];
  return { clock: new VirtualClock(), log: { warn: (text: string) => void warnings.push(text) }, warnings };
};

test("closes the cloud connection with the urgency of a user's change", async () => {
  const { clock, log, warnings } = setUp();
  const urgencies: string[] = [];
  await closeCloud({ close: async ({ urgency }) => void urgencies.push(urgency) }, clock, log);
  expect([urgencies, warnings]).toEqual([["user-change"], []]);
});

test("gives up closing the cloud connection after 3 s, and aborts pending requests", async () => {
  const { clock, log, warnings } = setUp();
  let signal: AbortSignal | undefined;
  let hasEnded = false;
  const closed = closeCloud(
    {
      close: (call) => {
        signal = call.signal;
        return new Promise(() => undefined);
      },
    },
    clock,
    log,
  ).then(() => {
    hasEnded = true;
  });
  await clock.advance(seconds(2));
  expect(hasEnded).toBe(false);
  await clock.advance(seconds(2));
  await closed;
  expect(signal?.aborted).toBe(true);
  expect(warnings).toEqual([expect.stringMatching(/^Cannot end the connection to the cloud; .* within 3s/)]);
});

test("logs a warning when closing the cloud connection fails", async () => {
  const { clock, log, warnings } = setUp();
  await closeCloud({ close: async () => Promise.reject(new Error("no route")) }, clock, log);
  expect(warnings).toEqual([
    "Cannot end the connection to the cloud; the cloud ends it later, without a request: no route",
  ]);
});
