// A Hetzner project with a private network, for `npm start` and `npm run cloud`.

import { serveCloud } from "#ccm/testing";
import { hetzner as provider } from "../../providers/hetzner/index.ts";
import { HetznerCloud } from "../../providers/hetzner/simulator/index.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import type { LocalCloud, LocalCloudDefinition, LocalCloudOptions } from "./local-cloud.ts";

/** Tokens of Hetzner have 64 characters. */
const exampleToken = "t".repeat(64);

function open({ port, token, ...options }: LocalCloudOptions): LocalCloud {
  const cloud = new HetznerCloud(options);
  const { servers, networks, balancers } = cloud.project;
  cloud.tokens.add(token);
  const network = networks.add("cluster");
  const served = serveCloud(cloud, port);
  return {
    url: served.url,
    settings: {
      endpoint: `${served.url}/v1`,
      token,
      network: network.name,
      "load-balancers-location": "fsn1",
    },
    largerType: "ccx13",
    addMachine: (name) => void servers.add(name, { networks: [{ network: network.id }] }),
    machines: () => servers.list().map(({ name, status }) => ({ name, state: status })),
    machineState: (name) => servers.find(name)?.status,
    resize: (name, type) => void servers.change(name, { type }),
    stop: (name) => void servers.powerOff(name),
    remove: (name) => servers.remove(name),
    hasLoadBalancerOf: (uid) => balancers.list().some(({ labels }) => Object.values(labels).includes(uid)),
    routeCount: () => networks.existing(network.id).routes.length,
    targetCounts: () => balancers.list().map(({ targets }) => targets.length),
    api: cloud,
    addFault: (fault) =>
      cloud.faults.add({ kind: fault.status === undefined ? "reset" : "status", ...fault }),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

export const hetzner: LocalCloudDefinition = {
  name: "hetzner",
  // The contract keeps each provider's own types; the framework only passes its values back to it.
  provider: provider as unknown as AnyProvider,
  defaultPort: 8621,
  defaultActionTime: 1000,
  hasTokens: true,
  defaultRequestsPerHour: 3600,
  exampleToken,
  hint: (url) =>
    `The hcloud command line works with the same token and endpoint: hcloud server poweroff node-0. Robot is ${url}.`,
  open,
};
