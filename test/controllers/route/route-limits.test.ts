import { afterEach, expect, test } from "bun:test";
import { routeDefaults } from "../../../src/controllers/route/deps.ts";
import { ConditionWriter } from "../../../src/controllers/route/status/network-condition.ts";
import { batchWindow, minInterval, SyncSchedule } from "../../../src/controllers/route/triggers/schedule.ts";
import { pausedAnnotation } from "../../../src/controllers/well-known.ts";
import { nodeName, seconds } from "../../../src/core/brand.ts";
import { cidr } from "../../../src/core/cidr.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { CloudError } from "../../../src/provider/errors.ts";
import type { RoutesAsDocument } from "../../../src/provider/routes.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { openChanges, refusal, ScriptedRoutes } from "./scripted-routes.ts";

// Limits of the route controller: it stops competing with another writer, stops querying a cloud that rejects requests,
// and writes nothing to Nodes that it no longer manages.

const document = { style: "document" } as const;
let world: RouteWorld | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});
const setUp = (setup?: RouteSetup): RouteWorld => {
  world = new RouteWorld(setup);
  return world;
};

const asDocument = ({ routes }: ScriptedRoutes): RoutesAsDocument => {
  if (routes.style !== "document") throw new Error("It was to be a document.");
  return routes;
};

test("retries three times per reconcile when another writer keeps changing the document", async () => {
  let races = 0;
  const contested = (clock: VirtualClock): RoutesAsDocument => {
    const routes = asDocument(new ScriptedRoutes(clock, document));
    const change: typeof routes.change = (...given) => {
      races += 1;
      return races > 30 ? routes.change(...given) : Promise.reject(refusal("conflict"));
    };
    return { ...routes, change };
  };
  await setUp({ routes: contested }).add("n1", "10.244.1.0/24").start().pass(0.6);
  expect(races).toBe(3);
});

test("sends a change whose backoff ends during a sync right after the sync, not hours later", async () => {
  const w = setUp({ script: { takes: seconds(20) } });
  for (const name of ["n1", "n2"]) {
    w.add(name, `10.244.${name.slice(1)}.0/24`);
    w.cloud.put(`10.244.${name.slice(1)}.0/24`, { targetKey: name });
  }
  w.cloud.put("10.244.9.0/24", { targetKey: "gone", leadsNowhere: true });
  const detail = { operation: "DELETE /routes", retryAfter: { in: seconds(60) } };
  w.cloud.failures.set("r3", new CloudError("rate-limited", "too many requests", detail));
  w.start();
  // The removal is rejected at 40 s and waits until 100 s. The next sync lists until 85 s, and removes a route until 105 s.
  await w.pass(64.9);
  w.cloud.failures.clear();
  w.nodes.remove("n2");
  await w.pass(300);
  expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1"]);
});

test("does not send every change in the same reconcile when the cloud rejects all changes", async () => {
  const w = setUp({ script: document });
  for (let index = 0; index < 64; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
  w.cloud.failures.set("*", refusal("quota"));
  await w.start().pass(0.6);
  expect(w.cloud.changes.length).toBeLessThan(45);
});

const judged = (change: (node: Node) => Node) => {
  const node = toNode({ name: "n1", uid: "u1" });
  let current = node;
  let isOurs = true;
  const written: string[] = [];
  const conditions = new ConditionWriter(
    {
      nodes: { get: () => current, list: () => [current] },
      writes: { patch: async ({ metadata }: Node) => void written.push(metadata.name) },
      clock: new VirtualClock(),
      isSelected: () => isOurs,
    } as never,
    () => undefined,
  );
  conditions.update(undefined, new Map([["u1", true]]), new Map([["u1", new Set([undefined])]]));
  const { signal } = new AbortController();
  return {
    written,
    write: () => conditions.write("n1", signal),
    change: () => {
      current = change(current);
    },
    handOver: () => {
      isOurs = false;
    },
  };
};

test("a Node that has been paused or moved to another manager since its reconcile gets no condition", async () => {
  const paused = ({ metadata, ...node }: Node): Node => ({
    ...node,
    metadata: { ...metadata, annotations: { [pausedAnnotation]: "true" } },
  });
  const [one, other] = [judged(paused), judged((node) => node)];
  one.change();
  other.handOver();
  for (const each of [one, other]) await each.write();
  expect([one.written, other.written]).toEqual([[], []]);
  const third = judged((node) => node);
  await third.write();
  expect(third.written).toEqual(["n1"]);
});

test("waiting for the cloud does not reset a route's count of failures", () => {
  const open = openChanges(new VirtualClock());
  const change = {
    do: "create",
    route: {
      destination: cidr("10.244.1.0/24"),
      target: { node: nodeName("n1"), uid: "1", addresses: [], internalIPs: [] },
    },
  } as const;
  for (let count = 0; count < 3; count += 1) open.failed(change, seconds(1));
  open.wait(change, seconds(1));
  expect(open.failuresOf(change)).toBe(3);
});

test("a check that needs another listing keeps the minimum interval since the last listing", () => {
  const clock = new VirtualClock();
  const schedule = new SyncSchedule({ settings: routeDefaults, clock, random: seededRandom(1) });
  schedule.synced(clock.monotonic(), true);
  expect([schedule.delayAfterChange(false), schedule.delayAfterChange(true)]).toEqual([
    batchWindow,
    minInterval,
  ]);
  expect(minInterval).toBeGreaterThan(batchWindow);
});
