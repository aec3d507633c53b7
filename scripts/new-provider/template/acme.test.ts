// Acme keeps the provider contract against its simulated cloud: every request fails once in every way, and the end is
// the same. What only this cloud can do goes below the three calls.

import {
  type Harness,
  instancesConformance,
  loadBalancersConformance,
  routesConformance,
} from "#ccm/testing";
import { acmeCloud } from "./provider/index.ts";
import { CloudSimulator } from "./provider/simulator/cloud.ts";

const pageSize = 3;
const foreign = { tags: { cluster: "another" } };

const harness: Harness = {
  definition: acmeCloud,
  config: { token: "secret", "page-size": String(pageSize) },
  listingRequests: (machines) => Math.max(1, Math.ceil(machines / pageSize)),
  simulate: (clock) => {
    const cloud = new CloudSimulator(clock);
    // Somebody else's, to be left alone.
    cloud.add("balancers", { ...foreign, name: "not-ours" });
    cloud.add("routes", { ...foreign, destination: "10.244.9.0/24", server: "1" });
    const plain = (things: readonly object[]) =>
      things.map((thing) => JSON.stringify({ ...thing, id: undefined, ip: undefined })).toSorted();
    return {
      transport: cloud.transport,
      addMachine: (name) => cloud.addServer(name),
      stopMachine: (name) => cloud.changeServer(name, "off"),
      terminateMachine: (name) => cloud.changeServer(name, "leaving"),
      removeMachine: (name) => cloud.changeServer(name, "removed"),
      shortenNextPage: () => {
        cloud.shortenNextPage = true;
      },
      state: () => [plain(cloud.things.balancers), plain(cloud.things.routes)],
    };
  },
};

instancesConformance("acme", harness);
loadBalancersConformance("acme", harness);
routesConformance("acme", harness);
