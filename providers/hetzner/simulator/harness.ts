// The harness for the conformance suites and `npm run new-provider -- try hetzner`: creates and changes a simulated project.

import { milliseconds } from "#ccm";
import { asTransport, byName, type Harness, threeTargets } from "#ccm/testing";
import { hetzner } from "../index.ts";
import { HetznerCloud } from "./hetzner-cloud.ts";
import type { Balancer } from "./state/balancers.ts";

const pageSize = 50;
export const token = "t".repeat(64);
/** The first id that the simulated cloud assigns. */
const networkID = 1_000_001;

/** The settings of a cluster with a private network. */
export const config = { token, network: String(networkID), "load-balancers-location": "fsn1" };

/** Without ids and addresses, and sorted, because all three depend on the order of requests. */
function stateOfBalancer({ name, labels, type, location, algorithm, services, targets, isPublic }: Balancer) {
  return {
    name,
    labels: Object.fromEntries(Object.entries(labels).toSorted(([one], [other]) => (one < other ? -1 : 1))),
    type,
    location,
    algorithm,
    services: services.toSorted((one, other) => one.listen_port - other.listen_port),
    targets: targets.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
    isPublic,
  };
}

export const harness: Harness = {
  definition: hetzner,
  config,
  // The first request finds the network.
  listingRequests: (machines) => 1 + Math.max(1, Math.ceil(machines / pageSize)),
  pendingRequests: () => 1,
  hasUniqueNames: true,
  unknownKeys: { id: "999999" },
  adoptionAnnotations: () => ({ name: "by-hand" }),
  targets: (simulated) => {
    const { servers } = (simulated as unknown as { readonly cloud: HetznerCloud }).cloud.project;
    return threeTargets(simulated, (name) => {
      const { id, ipv4, privateNets } = servers.existing(name);
      const ip = privateNets[0]?.ip ?? "";
      const handles = { "private-ip": ip, "public-ip": ipv4 ?? "" };
      return { source: "cloud", key: String(id), handles, addresses: [ip] };
    });
  },
  simulate: (clock) => {
    // The suites ignore the rate limit.
    const cloud = new HetznerCloud({ clock, actionTime: milliseconds(500), requestsPerHour: 1_000_000 });
    const { servers, networks, balancers } = cloud.project;
    cloud.tokens.add(token);
    const network = networks.add("cluster");
    const simulated = {
      cloud,
      transport: asTransport(cloud),
      settle: () => cloud.settle(),
      addMachine: (name: string) => void servers.add(name, { networks: [{ network: network.id }] }),
      stopMachine: (name: string) => void servers.powerOff(name),
      terminateMachine: (name: string) => void servers.setStatus(name, "deleting"),
      removeMachine: (name: string) => servers.remove(name),
      addUnmarkedBalancer: () => String(balancers.add("by-hand", { labels: { team: "web" } }).id),
      shortenNextPage: () => cloud.faults.add({ kind: "short-page", operation: "GET /servers" }),
      shortenNextBalancerPage: () =>
        cloud.faults.add({ kind: "short-page", operation: "GET /load_balancers" }),
      shortenNextVolumePage: () => cloud.faults.add({ kind: "short-page", operation: "GET /volumes" }),
      state: () => ({
        volumes: byName(
          cloud.project.volumes.list().map(({ name, labels, status, size, location, server }) => ({
            name,
            labels,
            status,
            size,
            location,
            server: server === null ? null : servers.existing(server).name,
          })),
        ),
        balancers: byName(balancers.list().map(stateOfBalancer)),
        routes: networks
          .existing(network.id)
          .routes.toSorted((one, other) => one.destination.localeCompare(other.destination)),
      }),
    };
    return simulated;
  },
};
