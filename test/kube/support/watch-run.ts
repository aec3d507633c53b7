// A watch of Nodes with a scripted API server, with its steps as text, and the events and pages that the server sends.

import { expect } from "bun:test";
import { getEventListeners } from "node:events";
import type { Node } from "../../../src/kube/objects.ts";
import { nodes } from "../../../src/kube/resources.ts";
import { watch } from "../../../src/kube/watch/watch.ts";
import type { WatchStep } from "../../../src/kube/watch/watch-step.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { TransportRequest } from "../../../src/platform/transport.ts";
import { type Answer, json, openLines, scripted } from "./scripted.ts";

const raw = (name: string, version: string) => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: version, managedFields: [{}] },
  spec: {},
  status: { images: [{ names: ["big"] }] },
});
export const added = (name: string, version: string) => ({ type: "ADDED", object: raw(name, version) });
export const deleted = (name: string, version: string) => ({ type: "DELETED", object: raw(name, version) });
export const bookmark = (version: string, end = false) => ({
  type: "BOOKMARK",
  object: {
    metadata: { resourceVersion: version, annotations: end ? { "k8s.io/initial-events-end": "true" } : {} },
  },
});
export const errorEvent = (code: number) => ({
  type: "ERROR",
  object: { kind: "Status", code, message: "no" },
});
export const page = (names: readonly string[], version: string, next?: string) =>
  json({
    metadata: { resourceVersion: version, continue: next },
    items: names.map((name) => raw(name, "1")),
  });

const describeStep = (step: WatchStep<Node>): string => {
  switch (step.type) {
    case "object":
      return `${step.initial ? "initial" : "changed"} ${step.object.metadata.name}`;
    case "deleted":
      return `deleted ${step.object.metadata.name}`;
    case "failed":
      return `failed ${step.error.kind}`;
    case "complete":
      return `complete ${step.resourceVersion}`;
    default:
      return step.type;
  }
};

export const parameter = (request: TransportRequest | undefined, name: string): string | null =>
  request === undefined ? null : new URL(request.url).searchParams.get(name);

export const run = (answer: Answer, collectGarbage?: () => void) => {
  const server = scripted(answer);
  const stop = new AbortController();
  const steps: string[] = [];
  const options = {
    api: server.api,
    resource: nodes,
    clock: server.clock,
    random: seededRandom(1),
    collectGarbage,
  };
  const ended = (async () => {
    for await (const step of watch(options, stop.signal)) steps.push(describeStep(step));
  })();
  const finish = async (): Promise<void> => {
    stop.abort();
    await ended;
    expect([server.requestLimit.inFlight, server.clock.pending]).toEqual([0, 0]);
    expect(getEventListeners(stop.signal, "abort")).toHaveLength(0);
  };
  return { ...server, steps, finish };
};

/** Responds request by request; the last response repeats. */
export const inOrder = (...answers: readonly Answer[]): Answer => {
  let turn = 0;
  return (request, signal) => {
    const answer = answers[Math.min(turn++, answers.length - 1)];
    if (answer === undefined) throw new Error("No answer.");
    return answer(request, signal);
  };
};

export const listed = (version: string, ...more: readonly unknown[]) => {
  const lines = openLines();
  lines.send(added("a", "1"), bookmark(version, true), ...more);
  return lines;
};
