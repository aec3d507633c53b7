// The clock of the system.

import { expect, test } from "bun:test";
import { milliseconds } from "../../src/core/brand.ts";
import { systemClock } from "../../src/platform/clock.ts";

test("the system clock fires immediately after a time that has passed, and the runtime warns about nothing", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on("warning", note);
  const { promise, resolve } = Promise.withResolvers<void>();
  systemClock.after(milliseconds(-613), resolve);
  await promise;
  // Warnings are emitted after the call that caused them.
  await new Promise((done) => setImmediate(done));
  process.off("warning", note);
  expect(warnings).toEqual([]);
});
