// The harness for the conformance suites and `npm run new-provider -- try digitalocean`: creates and changes a simulated account.

import { milliseconds } from "#ccm";
import { asTransport, byName, type Harness, threeTargets } from "#ccm/testing";
import { digitalocean } from "../index.ts";
import { DigitalOceanCloud } from "./digitalocean-cloud.ts";
import type { Balancer } from "./state/balancers.ts";

/** The optional firewall of the Nodes. */
const firewall = { "firewall-name": "workers", "firewall-tags": "worker" };
const pageSize = 200;
export const token = "t".repeat(64);

/** The settings of a cluster in New York. */
export const config = { token, "cluster-id": "prod", region: "nyc3" };

/** Without ids and addresses, which depend on the order of requests. */
function stateOfBalancer({ id, created_at, ip, ipv6, status, ...balancer }: Balancer) {
  return balancer;
}

export const harness: Harness = {
  definition: digitalocean,
  config: { ...config, ...firewall },
  listingRequests: (machines) => Math.max(1, Math.ceil(machines / pageSize)),
  unknownKeys: { id: "999999" },
  adoptionAnnotations: () => ({ name: "by-hand" }),
  targets: (simulated) => {
    const { droplets } = (simulated as unknown as { readonly cloud: DigitalOceanCloud }).cloud.account;
    return threeTargets(simulated, (name) => {
      const { id, networks, region } = droplets.existing(name);
      const addressOf = (wanted: string) => networks.v4.find(({ type }) => type === wanted)?.ip_address ?? "";
      const handles = { region, ipv4: addressOf("public") };
      return { source: "droplets", key: String(id), handles, addresses: [addressOf("private")] };
    });
  },
  simulate: (clock) => {
    // The suites ignore the rate limit.
    const budget = { requestsPerHour: 1_000_000, requestsPerMinute: 1_000_000 };
    const times = { activation: milliseconds(500), change: milliseconds(200) };
    const cloud = new DigitalOceanCloud({ clock, times, ...budget });
    const { droplets, balancers, volumes, snapshots } = cloud.account;
    cloud.tokens.add(token);
    cloud.account.addTags([firewall["firewall-tags"]]);
    const simulated = {
      cloud,
      transport: asTransport(cloud),
      settle: () => cloud.settle(),
      addMachine: (name: string) => void droplets.add(name),
      stopMachine: (name: string) => void droplets.change(name, { status: "off" }),
      removeMachine: (name: string) => droplets.remove(name),
      addUnmarkedBalancer: () => balancers.add("by-hand").id,
      shortenNextPage: () => cloud.faults.add({ kind: "short-page", operation: "GET /v2/droplets" }),
      shortenNextBalancerPage: () =>
        cloud.faults.add({ kind: "short-page", operation: "GET /v2/load_balancers" }),
      shortenNextVolumePage: () => cloud.faults.add({ kind: "short-page", operation: "GET /v2/volumes" }),
      shortenNextSnapshotPage: () => cloud.faults.add({ kind: "short-page", operation: "GET /v2/snapshots" }),
      disks: {
        write: (id: string, data: string) => void volumes.change(id, { data }),
        read: (id: string) => volumes.withID(id).data,
      },
      state: () => ({
        snapshots: byName(snapshots.list().map(({ id, created_at, resource_id, ...snapshot }) => snapshot)),
        balancers: byName(balancers.list().map(stateOfBalancer)),
        volumes: byName(
          volumes.list().map(({ id, created_at, droplet_ids, ...volume }) => ({
            ...volume,
            droplets: droplet_ids.map((each) => droplets.get(each)?.name ?? each),
          })),
        ),
      }),
    };
    return simulated;
  },
};
