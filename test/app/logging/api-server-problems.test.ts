import { expect, test } from "bun:test";
import { ApiServerProblems } from "../../../src/app/logging/connection-problems.ts";
import { minutes, seconds } from "../../../src/core/brand.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

const setUp = () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLog({ format: "text", verbosity: 0, clock, write: (line) => lines.push(line) });
  return {
    clock,
    problems: new ApiServerProblems(log, clock),
    said: () => lines.map((line) => line.split("] ")[1]?.trim()),
  };
};

test("logs an unreachable API server once for all watches, and its recovery once", async () => {
  const { clock, problems, said } = setUp();
  for (let attempt = 0; attempt < 10; attempt += 1) {
    for (const watch of ["nodes", "services"]) problems.failed(new Error("cannot be reached"), watch);
    problems.failed(new Error("cannot be reached"));
    await clock.advance(seconds(10));
  }
  expect(said()).toEqual(["cannot be reached"]);
  problems.recovered("nodes");
  expect(said()).toHaveLength(1);
  problems.recovered("services");
  expect(said().slice(1)).toEqual(["All watches of the API server work again afterSeconds=100"]);
  problems.failed(new Error("cannot be reached"), "nodes");
  expect(said()).toHaveLength(3);
});

test("logs a lasting failure again after five minutes, and a different failure immediately", async () => {
  const { clock, problems, said } = setUp();
  problems.failed(new Error("cannot be reached"), "nodes");
  await clock.advance(minutes(5));
  problems.failed(new Error("cannot be reached"), "nodes");
  problems.failed(new Error("answered 401"), "nodes");
  expect(said()).toEqual(["cannot be reached", "cannot be reached forSeconds=300", "answered 401"]);
});

test("logs nothing for a watch that never failed", () => {
  const { problems, said } = setUp();
  problems.recovered("nodes");
  expect(said()).toEqual([]);
});
