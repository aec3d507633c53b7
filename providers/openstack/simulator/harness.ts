// What the conformance suites and `npm run new-provider -- try openstack` need: how to make and change a simulated project.

import { asTransport, type Harness } from "#ccm/testing";
import { openstack } from "../index.ts";
import { OpenStackCloud, quick } from "./openstack-cloud.ts";
import { addServer, removeServer } from "./state/servers.ts";

const pageSize = 3;
const pages = (machines: number) => Math.max(1, Math.ceil(machines / pageSize));
export const secret = "s".repeat(40);

/** The settings of a cluster with an application credential. */
export const config = {
  "auth-url": "http://keystone.example/identity",
  region: "RegionOne",
  "application-credential-id": "fairlead",
  "application-credential-secret": secret,
};

export const harness: Harness = {
  definition: openstack,
  config,
  // A token of each of two services, the servers and their ports.
  listingRequests: (machines) => 2 + 2 * pages(machines),
  // The server and its ports.
  lookupRequests: 2,
  simulate: (clock) => {
    const cloud = new OpenStackCloud({ clock, times: quick, pageSize });
    const { project, keystone } = cloud;
    keystone.applicationCredentials.set(config["application-credential-id"], secret);
    return {
      cloud,
      transport: asTransport(cloud),
      settle: () => cloud.settle(),
      addMachine: (name: string) => void addServer(project, name),
      stopMachine: (name: string) => void project.servers.change(name, { status: "SHUTOFF" }),
      terminateMachine: (name: string) =>
        void project.servers.change(name, { "OS-EXT-STS:task_state": "deleting" }),
      removeMachine: (name: string) => removeServer(project, name),
      state: () => [],
    };
  },
};
