// The harness for the conformance suites and `npm run new-provider -- try rancher`: creates and changes a simulated environment.

import { milliseconds } from "#ccm";
import { asTransport, byName, type Harness, threeTargets } from "#ccm/testing";
import { rancher } from "../index.ts";
import { asSocket } from "./events.ts";
import { RancherCloud } from "./rancher-cloud.ts";
import type { Service } from "./state/service.ts";

/** Smaller than the lists of the suites, so that the lists have several pages. */
const rowsPerPage = 3;
const sessionRequests = 3;
export const keys = { access: "access", secret: "s3cret" } as const;

export const config = {
  url: "http://rancher.example:8080/v2-beta",
  "access-key": keys.access,
  "secret-key": keys.secret,
};

/** Without ids and times, which depend on the order of requests. */
function stateOf(
  { name, type, scale, launchConfig, lbConfig, externalIpAddresses, healthCheck }: Service,
  all: readonly Service[],
) {
  const rules = (lbConfig?.portRules ?? []).map(({ serviceId, ...rule }) => ({
    ...rule,
    service: all.find(({ id }) => id === serviceId)?.name,
  }));
  const config = lbConfig && { ...lbConfig, portRules: rules.map((rule) => JSON.stringify(rule)).toSorted() };
  const ports = launchConfig?.ports.toSorted();
  return {
    name,
    type,
    scale,
    launchConfig: launchConfig && { ...launchConfig, ports },
    config,
    externalIpAddresses,
    healthCheck,
  };
}

export const harness: Harness = {
  adoptionAnnotations: (id) => ({ "lb-adopt": id }),
  definition: rancher,
  config,
  // The first request of a connection reads the schema and the environments.
  listingRequests: (machines) => sessionRequests + Math.max(1, Math.ceil(machines / rowsPerPage)),
  targets: (simulated) => {
    const { hosts } = (simulated as unknown as { readonly cloud: RancherCloud }).cloud.environment;
    return threeTargets(simulated, (name) => {
      const { uuid, ips } = hosts.existing(name);
      return { source: "hosts", key: uuid, addresses: ips };
    });
  },
  simulate: (clock) => {
    const cloud = new RancherCloud({ clock, stateTime: milliseconds(500), maxLimit: rowsPerPage });
    const { hosts, services } = cloud.environment;
    cloud.addKey(keys.access, keys.secret);
    const simulated = {
      cloud,
      transport: asTransport(cloud),
      socket: asSocket(cloud),
      breakChanges: () => cloud.events.break(),
      settle: () => cloud.settle(),
      addMachine: (name: string) => void hosts.add(name),
      terminateMachine: (name: string) => void hosts.change(name, { state: "removing" }),
      removeMachine: (name: string) => hosts.purge(name, clock.now()),
      addUnmarkedBalancer: () => {
        const stack =
          cloud.environment.stacks.find(({ name }) => name === "web") ?? cloud.environment.addStack("web");
        const lbConfig = {
          portRules: [],
          certificateIds: [],
          defaultCertificateId: null,
          config: null,
          stickinessPolicy: null,
        };
        const launchConfig = { imageUuid: "docker:rancher/lb", ports: ["80:80/tcp"], labels: {} };
        const common = { name: "front", stackId: stack.id, scale: 1, startOnCreate: false, metadata: {} };
        const rest = { launchConfig, lbConfig, externalIpAddresses: null, healthCheck: null };
        return services.put("loadBalancerService", { ...common, ...rest }).id;
      },
      // The stack stays, as with the Go manager.
      state: () => {
        const all = services.list().filter(({ removed, state }) => removed === null && state !== "removing");
        return byName(all.map((one) => stateOf(one, all)));
      },
    };
    return simulated;
  },
};
