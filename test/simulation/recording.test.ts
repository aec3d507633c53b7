// Recordings of runs, which compare two revisions of the manager.

import { expect, test } from "bun:test";
import { minutes } from "../../src/core/brand.ts";
import { firstDifference } from "./recording.ts";
import { runSimulation } from "./run-simulation.ts";

const recordingOf = async (flags: readonly string[]): Promise<readonly string[]> => {
  const lines: string[] = [];
  const record = (line: string) => lines.push(line);
  await runSimulation({
    seed: 4,
    duration: minutes(2),
    disruptions: 5,
    onlyDisruptions: true,
    flags,
    record,
  });
  return lines;
};

test("recordings of one seed are equal, and show the first request that another flag changes", async () => {
  const first = await recordingOf([]);
  expect(first.some((line) => line.includes(" GET /v1/machines"))).toBe(true);
  expect(firstDifference(first, await recordingOf([]))).toBeUndefined();
  const other = await recordingOf(["--cluster-name=other"]);
  expect(firstDifference(first, other)).toContain("/leases {");
});

test("a recording that ends early differs at its end", () => {
  expect(firstDifference(["one", "two"], ["one"])).toBe("line 2 was: two\n  and is: the end");
});
