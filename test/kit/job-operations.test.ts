// Job operations, and deletions of dependent objects.

import { expect, test } from "bun:test";
import {
  CloudError,
  deleted,
  inProgress,
  type JobOperation,
  type JobState,
  jobStarted,
  pendingJobs,
  seconds,
} from "../../src/index.ts";

const call = { signal: new AbortController().signal, urgency: "refresh" } as const;
const refused = [{ node: "node-1", text: "no such server" }];
const failure = new CloudError("quota", "no address left", { operation: "Job" });

const operationOf = (job: JobOperation): string => jobStarted(job).operation ?? "";

const checked = async (operations: readonly string[], states: Readonly<Record<string, JobState>>) => {
  const asked: (readonly string[])[] = [];
  const pending = pendingJobs({ limit: 10 }, async (jobs) => {
    asked.push(jobs);
    return new Map(Object.entries(states));
  });
  return { answers: await pending.check(operations, call), asked };
};

test("an operation returns the name of its job when the job is checked", async () => {
  const [running, made, failed] = ["j1", "j2", "j3"].map((job) =>
    operationOf({ job, waitingFor: `job "${job}"` }),
  );
  const operations = [running ?? "", made ?? "", failed ?? ""];
  const { answers, asked } = await checked(operations, {
    j1: "running",
    j2: { facts: { balancer: "lb-7", job: undefined }, refused },
    j3: failure,
  });
  expect(asked).toEqual([["j1", "j2", "j3"]]);
  const facts = { balancer: "lb-7", job: undefined };
  expect([...answers.values()] as unknown[]).toEqual([
    { done: false, checkAfter: seconds(1), waitingFor: 'job "j1"' },
    {
      done: true,
      remember: facts,
      refused,
    },
    failure,
  ]);
});

test("a rejected target that the job names by its address is reported as its Node", async () => {
  const members = { "10.0.0.1": "node-1" };
  const operation = operationOf({ job: "j1", waitingFor: "it", members });
  const rejected = (node: string) => ({ node, text: "old" });
  const state = { facts: {}, refused: [rejected("10.0.0.1"), rejected("node-2"), rejected("toString")] };
  const { answers } = await checked([operation], { j1: state });
  expect([...answers.values()]).toMatchObject([
    { refused: [rejected("node-1"), rejected("node-2"), rejected("toString")] },
  ]);
});

test("a deletion that starts a job is in progress, unless the object is gone", async () => {
  const started = (job: string) => inProgress("the deletion", { operation: job });
  expect(await deleted(Promise.resolve("j1"), started)).toMatchObject({ done: false, operation: "j1" });
  const gone = new CloudError("not-found", "no", { operation: "Delete" });
  expect(await deleted(Promise.reject(gone), started)).toEqual({ done: true });
});

test("a job that the cloud no longer knows, and a job id in another format, have no result", async () => {
  const known = operationOf({ job: "j1", waitingFor: "it" });
  expect((await checked([known, "job-7", "[]", "{"], {})).answers.size).toBe(0);
  expect((await checked(["job-7"], {})).asked).toEqual([]);
});

test("operations that wait for the same job check it once", async () => {
  const operations = ["one", "another"].map((waitingFor) => operationOf({ job: "j1", waitingFor }));
  const { answers, asked } = await checked(operations, { j1: { facts: {} } });
  expect([asked, answers.size]).toEqual([[["j1"]], 2]);
});

test("a deletion is done when the object is already gone, and fails for any other error", async () => {
  const refuse = (kind: "not-found" | "busy") =>
    Promise.reject(new CloudError(kind, "no", { operation: "Delete" }));
  expect(await deleted(Promise.resolve())).toEqual({ done: true });
  expect(await deleted(refuse("not-found"))).toEqual({ done: true });
  await expect(deleted(refuse("busy"))).rejects.toThrow("no");
});
