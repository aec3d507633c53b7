// The cloud of the fake provider, for `npm start` and `npm run cloud`.

import { fake as provider } from "../../providers/fake/index.ts";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../../providers/fake/simulator/http.ts";
import { defined } from "../../src/core/defined.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import type { LocalCloud, LocalCloudDefinition, LocalCloudOptions } from "./local-cloud.ts";

const exampleToken = "fake";

function open({ port, ...options }: LocalCloudOptions): LocalCloud {
  const cloud = new FakeCloud(defined(options));
  const { machines, balancers, routes, faults } = cloud;
  const served = serveFakeCloud(cloud, port);
  return {
    url: served.url,
    settings: { endpoint: served.url, token: options.token },
    largerType: "large-4",
    addMachine: (name) => void machines.add(name),
    machines: () => machines.list().map(({ name, status }) => ({ name, state: status })),
    machineState: (name) => machines.find(name)[0]?.status,
    resize: (name, type) => void machines.resize(name, type),
    stop: (name) => void machines.setStatus(name, "stopped"),
    remove: (name) => void machines.remove(name),
    hasLoadBalancerOf: (uid) => balancers.list().some(({ labels }) => Object.values(labels).includes(uid)),
    routeCount: () => routes.list().length,
    targetCounts: () => balancers.list().map(({ targets }) => targets.length),
    api: cloud,
    addFault: (fault) => faults.add({ kind: fault.status === undefined ? "reset" : "status", ...fault }),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

export const fake: LocalCloudDefinition = {
  name: "fake",
  // The contract keeps each provider's own types; the framework only passes its values back to it.
  provider: provider as unknown as AnyProvider,
  defaultPort: 8620,
  defaultActionTime: 300,
  defaultRequestsPerHour: 1_000_000,
  exampleToken,
  hint: (url) => `Its admin API is under ${new URL("/admin", url)} (docs/fake-cloud.md).`,
  open,
};
