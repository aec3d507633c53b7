// A project of OpenStack, for `npm start` and `npm run cloud`.

import { serveCloud } from "#ccm/testing";
import { openstack as provider } from "../../providers/openstack/index.ts";
import {
  addExternalNetwork,
  addRouter,
  addServer,
  OpenStackCloud,
  removeServer,
} from "../../providers/openstack/simulator/index.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import type { LocalCloud, LocalCloudDefinition, LocalCloudOptions } from "./local-cloud.ts";

const credential = "fairlead";
const router = "router-1";

function stateOf(status: string): string {
  if (status === "ACTIVE") return "running";
  return status === "SHUTOFF" ? "stopped" : status.toLowerCase();
}

function open({ port, token, actionTime, clock, latency }: LocalCloudOptions): LocalCloud {
  const cloud = new OpenStackCloud({ clock, latency, times: { balancer: actionTime } });
  const { project, keystone, balancing } = cloud;
  const { servers } = project;
  keystone.applicationCredentials.set(credential, token);
  addExternalNetwork(project);
  addRouter(project, router);
  const served = serveCloud(cloud, port);
  return {
    url: served.url,
    settings: {
      "auth-url": `${served.url}/identity/v3`,
      region: keystone.region,
      "application-credential-id": credential,
      "application-credential-secret": token,
      "router-id": router,
    },
    largerType: "m1.large",
    addMachine: (name) => void addServer(project, name),
    machines: () => servers.list().map(({ name, status }) => ({ name, state: stateOf(status) })),
    machineState: (name) => {
      const status = servers.find(name)?.status;
      return status && stateOf(status);
    },
    resize: (name, type) => {
      const { flavor } = servers.existing(name);
      servers.change(name, { flavor: { ...flavor, original_name: type } });
    },
    stop: (name) => void servers.change(name, { status: "SHUTOFF" }),
    remove: (name) => removeServer(project, name),
    hasLoadBalancerOf: (_, key) =>
      balancing.balancers.list().some(({ name }) => name.endsWith(`_${key.replace("/", "_")}`)),
    routeCount: () => project.routers.existing(router).routes.length,
    targetCounts: () => {
      const pools = balancing.pools.list();
      return balancing.balancers
        .list()
        .map(({ id }) => pools.find(({ balancer }) => balancer === id)?.members.length ?? 0);
    },
    api: cloud,
    addFault: (fault) =>
      cloud.faults.add({ kind: fault.status === undefined ? "reset" : "status", ...fault }),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

export const openstack: LocalCloudDefinition = {
  name: "openstack",
  // The contract keeps each provider's own types; the framework only passes its values back to it.
  provider: provider as unknown as AnyProvider,
  defaultPort: 8624,
  defaultActionTime: 3000,
  exampleToken: "s".repeat(43),
  hint: (url) =>
    `The openstack command line works with the same credential: OS_AUTH_TYPE=v3applicationcredential OS_AUTH_URL=${url}/identity/v3 OS_APPLICATION_CREDENTIAL_ID=${credential} OS_APPLICATION_CREDENTIAL_SECRET=… openstack server list`,
  open,
};
