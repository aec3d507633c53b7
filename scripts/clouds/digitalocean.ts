// An account of DigitalOcean, for `npm start` and `npm run cloud`.

import { serveCloud } from "#ccm/testing";
import { digitalocean as provider } from "../../providers/digitalocean/index.ts";
import { DigitalOceanCloud } from "../../providers/digitalocean/simulator/index.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import type { LocalCloud, LocalCloudDefinition, LocalCloudOptions } from "./local-cloud.ts";

const region = "nyc3";
/** The limit per minute is a twentieth of the limit per hour, as in the real cloud. */
const minutesOfLimit = 20;

function open({ port, token, actionTime, requestsPerHour, ...options }: LocalCloudOptions): LocalCloud {
  const times = { activation: actionTime, change: actionTime };
  const requestsPerMinute = Math.ceil(requestsPerHour / minutesOfLimit);
  const cloud = new DigitalOceanCloud({ ...options, times, requestsPerHour, requestsPerMinute });
  const { droplets, balancers } = cloud.account;
  cloud.tokens.add(token);
  const served = serveCloud(cloud, port);
  const stateOf = (status: string) => (status === "active" ? "running" : status);
  return {
    url: served.url,
    settings: { endpoint: served.url, token, region },
    largerType: "s-4vcpu-8gb",
    addMachine: (name) => void droplets.add(name, { region }),
    machines: () => droplets.list().map(({ name, status }) => ({ name, state: stateOf(status) })),
    machineState: (name) => {
      const status = droplets.find(name)?.status;
      return status && stateOf(status);
    },
    resize: (name, type) => void droplets.change(name, { size_slug: type }),
    stop: (name) => void droplets.change(name, { status: "off" }),
    remove: (name) => droplets.remove(name),
    // The default name has the uid, without dashes.
    hasLoadBalancerOf: (uid) =>
      balancers.list().some(({ name }) => name === `a${uid.replaceAll("-", "")}`.slice(0, 32)),
    api: cloud,
    addFault: (fault) =>
      cloud.faults.add({ kind: fault.status === undefined ? "reset" : "status", ...fault }),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

export const digitalocean: LocalCloudDefinition = {
  name: "digitalocean",
  // The contract keeps each provider's own types; the framework only passes its values back to it.
  provider: provider as unknown as AnyProvider,
  defaultPort: 8623,
  defaultActionTime: 1000,
  hasTokens: true,
  defaultRequestsPerHour: 5000,
  exampleToken: `dop_v1_${"0".repeat(64)}`,
  hint: (url) =>
    `The doctl command line works with the same token: doctl --api-url ${url} compute droplet-action power-off 3000001`,
  open,
};
