// The clock of the system.

import { expect, test } from "bun:test";
import { milliseconds } from "../../src/core/brand.ts";
import { systemClock } from "../../src/platform/clock.ts";

test("the system clock fires immediately for a time in the past, and the runtime issues no warning", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on("warning", note);
  const { promise, resolve } = Promise.withResolvers<void>();
  systemClock.after(milliseconds(-613), resolve);
  await promise;
  // The runtime issues warnings after the call that caused them.
  await new Promise((done) => setImmediate(done));
  process.off("warning", note);
  expect(warnings).toEqual([]);
});
