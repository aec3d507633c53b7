// Changes of Services on Rancher, in pairs of specifications.

import { annotations } from "../../../providers/rancher/annotations.ts";
import type { PairCloud } from "../../support/service-pairs/oracle.ts";
import { servicePairs } from "../../support/service-pairs/suite.ts";
import { prefix, RancherWorld } from "./rancher-world.ts";

function stateOf({ cloud }: RancherWorld) {
  cloud.settle();
  const all = cloud.environment.services
    .list()
    .filter(({ removed, state }) => removed === null && state !== "removing");
  const named = Object.fromEntries(all.map(({ id, name }) => [id, name]));
  const sorted = (rules: readonly unknown[]) => rules.map((rule) => JSON.stringify(rule)).toSorted();
  return Object.fromEntries(
    all.map(
      ({
        name,
        type,
        state,
        scale,
        launchConfig,
        lbConfig,
        externalIpAddresses,
        healthCheck,
        metadata,
        boundPorts,
      }) => [
        name,
        {
          type,
          state,
          scale,
          externalIpAddresses,
          healthCheck,
          metadata,
          launchConfig: launchConfig && { ...launchConfig, ports: launchConfig.ports.toSorted() },
          boundPorts: boundPorts.toSorted(),
          lbConfig: lbConfig && {
            ...lbConfig,
            portRules: sorted(
              lbConfig.portRules.map(({ serviceId, ...rule }) => ({
                ...rule,
                service: named[serviceId ?? ""],
              })),
            ),
          },
        },
      ],
    ),
  );
}

type State = ReturnType<typeof stateOf>;

const cloud: PairCloud<State> = {
  prefix,
  fields: annotations,
  values: {
    "lb-scale": ["1", "2", "global"],
    "lb-host-selector": ["lb=true", "zone=a"],
    "lb-image": ["rancher/lb-service-haproxy:v0.9.15", "example/lb:1"],
    "lb-protocol": ["http", "tcp", "80=http", "80=http,443=https", "https", "tls"],
    "lb-certificates": ["first", "second", "first,second", "missing"],
    "lb-default-certificate": ["first", "second"],
    "lb-stickiness-cookie": ["COOKIE", "OTHER"],
    "lb-haproxy-config": ["global\n    maxconn 100", "defaults\n    retries 2"],
  },
  needs: { "lb-protocol": ["lb-default-certificate"] },
  left: { "lb-adopt": "the name of a load balancer" },
  parts: { "spec address": [{ loadBalancerIP: "192.0.2.1" }, { loadBalancerIP: "192.0.2.2" }] },
  sticky: ["lb-scale", "lb-host-selector", "lb-image", "spec address"],
  replaces: (next, before) => {
    const [is, was] = [next, before].map(
      ({ annotations: own }) =>
        (name: string) =>
          own[prefix + name],
    );
    const isGlobal = (one: typeof is) => one?.("lb-scale") === "global";
    return (
      (is?.("lb-scale") !== undefined && isGlobal(is) !== isGlobal(was)) ||
      (is?.("lb-host-selector") !== undefined && is("lb-host-selector") !== was?.("lb-host-selector")) ||
      (next.parts["spec address"] !== undefined &&
        !Bun.deepEquals(next.parts["spec address"], before.parts["spec address"]))
    );
  },
  kept: [],
  open: () => {
    const h = new RancherWorld(2);
    for (const name of ["first", "second"]) h.cloud.environment.addCertificate(name);
    h.cloud.environment.hosts.change("node-0", { labels: { lb: "true", zone: "a" } });
    h.cloud.environment.hosts.change("node-1", { labels: { lb: "true" } });
    return { world: h.world, start: () => h.start("service"), state: () => stateOf(h) };
  },
};

servicePairs(cloud, "./test/providers/rancher/service-pairs.test.ts");
