// Runs the conformance suites for Acme against its simulated cloud. Add tests of what is special about this cloud below.

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
    // Owned by another cluster, so the provider must not touch them.
    cloud.add("balancers", { ...foreign, name: "not-ours" });
    cloud.add("routes", { ...foreign, destination: "10.244.9.0/24", server: "1" });
    const plain = (resources: readonly object[]) =>
      resources.map((resource) => JSON.stringify({ ...resource, id: undefined, ip: undefined })).toSorted();
    return {
      transport: cloud.transport,
      addMachine: (name) => cloud.addServer(name),
      stopMachine: (name) => cloud.changeServer(name, "off"),
      terminateMachine: (name) => cloud.changeServer(name, "leaving"),
      removeMachine: (name) => cloud.changeServer(name, "removed"),
      shortenNextPage: () => {
        cloud.shortenNextPage = true;
      },
      state: () => [plain(cloud.resources.balancers), plain(cloud.resources.routes)],
    };
  },
};

instancesConformance("acme", harness);
loadBalancersConformance("acme", harness);
routesConformance("acme", harness);
