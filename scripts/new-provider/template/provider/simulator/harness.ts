// The parts that the conformance suites and `try` need: how to create and change a simulated cloud, and the settings to
// use with it.

import { asTransport, type Harness } from "#ccm/testing";
import { acmeCloud } from "../index.ts";
import { CloudSimulator } from "./cloud.ts";

const pageSize = 3;
const foreign = { tags: { cluster: "another" } };

export const harness: Harness = {
  definition: acmeCloud,
  config: { token: "secret", "page-size": String(pageSize) },
  listingRequests: (machines) => Math.max(1, Math.ceil(machines / pageSize)),
  simulate: (clock) => {
    const cloud = new CloudSimulator(clock);
    // Objects of another cluster, which the provider must not touch.
    cloud.add("balancers", { ...foreign, name: "not-ours" });
    cloud.add("routes", { ...foreign, destination: "10.244.9.0/24", server: "1" });
    const plain = (resources: readonly object[]) =>
      resources.map((resource) => JSON.stringify({ ...resource, id: undefined, ip: undefined })).toSorted();
    return {
      transport: asTransport(cloud),
      addMachine: (name) => cloud.addServer(name),
      stopMachine: (name) => cloud.changeServer(name, "off"),
      terminateMachine: (name) => cloud.changeServer(name, "leaving"),
      removeMachine: (name) => cloud.changeServer(name, "removed"),
      shortenNextPage: () => cloud.faults.add({ kind: "short-page" }),
      state: () => [plain(cloud.resources.balancers), plain(cloud.resources.routes)],
    };
  },
};
