// A thousand Nodes that join at once, with a real API server. Times are printed, not asserted; `npm run bench` measures them.

import { expect, test } from "bun:test";
import type { Event } from "../../src/kube/objects.ts";
import { events, nodes } from "../../src/kube/resources.ts";
import { isUninitialized, openCluster } from "./rig/cluster.ts";
import { inParallel } from "./rig/in-parallel.ts";

const count = 1000;

test("1,000 Nodes that join at once are initialized with at most 100 cloud calls [F1 F9 F11 S8]", async () => {
  await using cluster = await openCluster();
  const { api, cloud } = cluster;
  const names = Array.from({ length: count }, (_, index) => `crowd-${index}`);
  for (const name of names) cloud.machines.add(name);
  const manager = cluster.manager({ flags: ["--leader-elect=false"] });
  await cluster.until("All Services are created at once; the manager is killed during the creations.", () =>
    manager.output().includes("Started fake-cloud-controller-manager"),
  );
  const started = performance.now();
  await inParallel(names, 32, (name) => cluster.join(name));
  const created = performance.now();
  const all = await cluster.until(
    "all Nodes to be initialized",
    async () => {
      const found = await api.list(nodes);
      return found.length === count && !found.some(isUninitialized) && found;
    },
    { everyMs: 250 },
  );
  const done = performance.now();
  for (const { spec, metadata, status } of all) {
    expect(spec.providerID).toBe(`fake://${cloud.machines.find(metadata.name)[0]?.id}`);
    expect(metadata.labels?.["topology.kubernetes.io/zone"]).toBeDefined();
    expect(status.addresses).toHaveLength(3);
  }
  const uids = new Set(all.map(({ metadata }) => metadata.uid));
  const synced = await cluster.until(
    "every Synced event to be written",
    async () => {
      const items = await api.list(events, { namespace: "default", fieldSelector: "reason=Synced" });
      const matching = items.filter(({ involvedObject }: Event) => uids.has(involvedObject.uid ?? ""));
      return matching.length >= count && matching;
    },
    { everyMs: 250 },
  );
  const eventsDone = performance.now();
  expect(new Set(synced.map(({ involvedObject }) => involvedObject.uid)).size).toBe(count);
  expect(synced).toHaveLength(count);
  // One listing has 20 pages. A busy machine creates the Nodes slowly, and Nodes that are created later need further calls;
  // tests in virtual time count them exactly.
  expect(cloud.seen.length).toBeLessThanOrEqual(100);
  const seconds = (from: number, to: number): string => `${((to - from) / 1000).toFixed(1)} s`;
  console.log(
    `1,000 Nodes: created in ${seconds(started, created)}, initialized ${seconds(started, done)} after the first, ` +
      `events ${seconds(started, eventsDone)}, ${cloud.seen.length} cloud calls`,
  );
});
