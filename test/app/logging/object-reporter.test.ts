import { expect, test } from "bun:test";
import { objectReporters } from "../../../src/app/logging/object-reporter.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { Problem } from "../../../src/core/problem.ts";
import type { Occurrence } from "../../../src/kube/events/event-correlator.ts";
import type { EventRecorder } from "../../../src/kube/events/event-recorder.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

const setUp = () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const recorded: Occurrence[] = [];
  const stop = new AbortController();
  const reporterOf = objectReporters({
    log: createLog({ format: "text", verbosity: 0, clock, write: (line) => lines.push(line) }),
    events: { record: (occurrence: Occurrence) => recorded.push(occurrence) } as unknown as EventRecorder,
    isObserving: false,
    clock,
    life: stop.signal,
  });
  const report = reporterOf("cloud-node-controller", "Node");
  const about = (name: string, problem: Partial<Problem> = {}) =>
    report(
      { metadata: { name, uid: name, resourceVersion: "1" } },
      {
        severity: "error",
        reason: "NotFoundInCloud",
        text: `The cloud has no instance ${name}.`,
        ...problem,
      },
    );
  const texts = () => lines.map((line) => line.slice(line.indexOf("] ") + 2).trimEnd());
  return { clock, recorded, stop, about, texts };
};

test("logs one problem of 5,000 Nodes in six lines, and records 5,000 events", async () => {
  const { clock, recorded, about, texts } = setUp();
  for (let index = 0; index < 5000; index += 1) about(`n${index}`);
  expect(texts()).toHaveLength(5);
  expect(texts()[0]).toBe('The cloud has no instance n0. node="n0" reason="NotFoundInCloud"');
  await clock.advance(seconds(10));
  expect(texts()).toHaveLength(6);
  expect(texts().at(-1)).toMatch(
    /^4995 more Nodes have the same problem; each has an event with the details reason="NotFoundInCloud" nodes="n5, n6, .*… and \d+ more"$/,
  );
  expect(recorded).toHaveLength(5000);
});

test("logs a few warnings individually even if their reasons differ, and later warnings in the usual way", async () => {
  const { clock, about, texts } = setUp();
  for (const name of ["a", "b", "c"]) {
    about(name);
    about(name, { reason: "AmbiguousMatch" });
  }
  await clock.advance(seconds(20));
  expect(texts()).toHaveLength(6);
  for (let index = 0; index < 6; index += 1) about(`n${index}`);
  await clock.advance(seconds(20));
  expect(texts()).toHaveLength(12);
  expect(texts().at(-1)).toContain("1 more Node has the same problem");
});

test("logs suppressed warnings when the manager ends", () => {
  const { stop, about, texts } = setUp();
  for (let index = 0; index < 7; index += 1) about(`n${index}`);
  stop.abort();
  expect(texts().at(-1)).toContain("2 more Nodes have the same problem");
});

test("does not summarize Normal events", async () => {
  const { about, texts } = setUp();
  for (let index = 0; index < 20; index += 1) about(`n${index}`, { severity: "notice", reason: "Synced" });
  expect(texts()).toHaveLength(20);
});
