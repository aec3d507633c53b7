import { expect, test } from "bun:test";
import { WatchedResource } from "../../../src/app/manager/watched-resource.ts";
import { minutes, seconds } from "../../../src/core/brand.ts";
import type { KubeApi } from "../../../src/kube/client/api.ts";
import { nodes, services } from "../../../src/kube/resources.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

// A server that accepts the request, never answers, and ignores cancellation.
const silent = {
  origin: "https://silent",
  openWatch: () => new Promise(() => undefined),
} as unknown as KubeApi;
const problems = { failed: () => undefined, recovered: () => undefined };

test("a started watch reports after ten minutes that it is stalled, and a watch that has not started does not", async () => {
  const clock = new VirtualClock();
  const deps = { api: silent, clock, random: seededRandom(1), problems };
  const both = [new WatchedResource(nodes, deps), new WatchedResource(services, deps)];
  expect(both.map(({ stalled }) => stalled)).toEqual([undefined, undefined]);
  const stop = new AbortController();
  for (const each of both) void each.run(stop.signal);
  await clock.advance(minutes(9));
  expect(both.map(({ stalled }) => stalled)).toEqual([undefined, undefined]);
  await clock.advance(minutes(2));
  expect(both.map(({ stalled }) => stalled)).toEqual([
    "the watch of nodes is stalled",
    "the watch of services is stalled",
  ]);
  expect(both[0]?.cache).toEqual({ isSynced: false, objects: 0, heardSecondsAgo: 0, problem: undefined });
  stop.abort();
  await clock.advance(seconds(1));
});
