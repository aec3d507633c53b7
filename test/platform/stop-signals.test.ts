import { expect, test } from "bun:test";
import { milliseconds } from "../../src/core/brand.ts";
import { decideStop } from "../../src/platform/stop-signals.ts";

const signal = (name: string, at: number) => ({ name, at: milliseconds(at) });

test.each([
  ["the first one stops", undefined, signal("SIGTERM", 5), "stop"],
  ["the same one at once is its echo", signal("SIGTERM", 1000), signal("SIGTERM", 1000), "ignore"],
  ["the same one 199 ms later too", signal("SIGINT", 1000), signal("SIGINT", 1199), "ignore"],
  ["the same one 200 ms later is somebody", signal("SIGTERM", 1000), signal("SIGTERM", 1200), "end at once"],
  ["another one is somebody at any time", signal("SIGTERM", 1000), signal("SIGINT", 1001), "end at once"],
] as const)("%s", (_, first, second, decision) => {
  expect(decideStop(first, second)).toBe(decision);
});
