// The harness for the conformance suites and `npm run new-provider -- try fake`: creates and changes a simulated cloud.

import { seconds } from "#ccm";
import { asTransport, type Harness } from "#ccm/testing";
import { fake } from "../index.ts";
import { FakeCloud } from "./fake-cloud.ts";

const pageSize = 3;

/** For a cloud in which two load balancers may have one name, or may not. */
export const harnessWith = ({ hasUniqueNames }: { readonly hasUniqueNames: boolean }): Harness => ({
  definition: fake,
  config: { "page-size": String(pageSize), "lookup-limit": "4" },
  listingRequests: (machines) => Math.max(1, Math.ceil(machines / pageSize)),
  adoptionAnnotations: (id) => ({ adopt: id }),
  simulate: (clock) => {
    const cloud = new FakeCloud({ clock, actionTime: seconds(3), token: "fake" });
    cloud.balancers.hasUniqueNames = hasUniqueNames;
    cloud.routes.create({ destination: "10.244.9.0/24", machine: "1", labels: { cluster: "another" } });
    cloud.balancers.create({ name: "not-ours", labels: { cluster: "another" } });
    return {
      transport: asTransport(cloud),
      addMachine: (name) => cloud.machines.add(name),
      stopMachine: (name) => cloud.machines.setStatus(name, "stopped"),
      terminateMachine: (name) => cloud.machines.setStatus(name, "terminating"),
      removeMachine: (name) => cloud.machines.remove(name),
      addUnmarkedBalancer: () => cloud.balancers.create({ name: "by-hand", labels: { team: "web" } }).id,
      shortenNextPage: () => cloud.faults.add({ kind: "short-page" }),
      shortenNextBalancerPage: () => cloud.faults.add({ kind: "short-page", operation: "GET /balancers" }),
      shortenNextVolumePage: () => cloud.faults.add({ kind: "short-page", operation: "GET /volumes" }),
      shortenNextSnapshotPage: () => cloud.faults.add({ kind: "short-page", operation: "GET /snapshots" }),
      disks: {
        write: (id, data) => {
          cloud.volumes.write(id, data);
          cloud.snapshots.write(id, data);
        },
        read: (id) => cloud.volumes.get(id).data,
      },
      shortenNextRoutePage: () => cloud.faults.add({ kind: "short-page", operation: "GET /routes" }),
      state: () => ({
        balancers: cloud.balancers.list().map(({ name, labels, algorithm, sources, listeners, targets }) => ({
          name,
          labels,
          algorithm,
          sources,
          listeners,
          targets,
        })),
        volumes: cloud.volumes.list().map(({ id: _, ...volume }) => volume),
        snapshots: cloud.snapshots.list().map(({ id: _, created_at: __, volume, ...snapshot }) => ({
          ...snapshot,
          volume: cloud.volumes.list().find(({ id }) => id === volume)?.name,
        })),
        routes: cloud.routes
          .list()
          .map(({ destination, machine, labels }) => ({ destination, machine, labels }))
          .toSorted((one, other) => (one.destination < other.destination ? -1 : 1)),
      }),
    };
  },
});

export const harness = harnessWith({ hasUniqueNames: true });
