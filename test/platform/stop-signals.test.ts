import { expect, test } from "bun:test";
import { milliseconds } from "../../src/core/brand.ts";
import { decideStop } from "../../src/platform/process.ts";

const signal = (name: string, at: number) => ({ name, at: milliseconds(at) });

test.each([
  ["the first signal stops the process", undefined, signal("SIGTERM", 5), "stop"],
  [
    "the same signal at the same moment is ignored as a duplicate",
    signal("SIGTERM", 1000),
    signal("SIGTERM", 1000),
    "ignore",
  ],
  [
    "the same signal 199 ms later is ignored as a duplicate",
    signal("SIGINT", 1000),
    signal("SIGINT", 1199),
    "ignore",
  ],
  [
    "the same signal 200 ms later ends the process immediately",
    signal("SIGTERM", 1000),
    signal("SIGTERM", 1200),
    "exit",
  ],
  [
    "a different signal ends the process immediately",
    signal("SIGTERM", 1000),
    signal("SIGINT", 1001),
    "exit",
  ],
] as const)("%s", (_, first, second, decision) => {
  expect(decideStop(first, second)).toBe(decision);
});
