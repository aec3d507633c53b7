// Changes of Services on AWS, in pairs of specifications, with a security group for each network load balancer.

import {
  prefix,
  preserveClientIP,
  proxyProtocolV2,
} from "../../../providers/aws/load-balancers/annotations.ts";
import { stateOfBalancing } from "../../../providers/aws/simulator/harness.ts";
import type { Kept, PairCloud } from "../../support/service-pairs/oracle.ts";
import { servicePairs } from "../../support/service-pairs/suite.ts";
import { BalancerWorld } from "./balancer-world.ts";
import { vocabulary } from "./pair-vocabulary.ts";

function opened() {
  const h = new BalancerWorld({ settings: { "nlb-security-group-mode": "Managed" } });
  const groups = ["first", "second"].map((name) => h.addGroup(name));
  const subnets = h.cloud.account.subnets.list().map(({ id }) => String(id));
  return { h, groups, subnets };
}

/** By name, so that a member can be kept. A policy that a port no longer has is left out: AWS shows an empty list. */
function stateOf({ cloud: { account } }: BalancerWorld) {
  const { groups, classic, network, targetGroups } = stateOfBalancing(account);
  const byName = <T extends { readonly name: string }>(all: readonly T[]) =>
    Object.fromEntries(all.map((one) => [one.name, one]));
  return {
    groups: byName(groups),
    classic: byName(
      classic.map(({ tags, subnets, backends, listeners, ...one }) => ({
        ...one,
        tags: Object.fromEntries(tags),
        subnets: subnets.toSorted(),
        policies: one.policies.toSorted(),
        backends: backends.filter(([, policies]) => policies.length > 0),
        listeners: Object.fromEntries(listeners.map((listener) => [listener.port, listener])),
      })),
    ),
    network: byName(
      network.map(({ tags, attributes, listeners, mappings, ...one }) => ({
        ...one,
        tags: Object.fromEntries(tags),
        attributes: Object.fromEntries(attributes),
        mappings: mappings.map((mapping) => JSON.stringify(mapping)).toSorted(),
        listeners: Object.fromEntries(
          listeners.map(({ tags: own, ...listener }) => [
            listener.port,
            { ...listener, tags: Object.fromEntries(own) },
          ]),
        ),
      })),
    ),
    targetGroups: byName(
      targetGroups.map(({ tags, attributes, ...one }) => ({
        ...one,
        tags: Object.fromEntries(tags),
        attributes: Object.fromEntries(attributes),
      })),
    ),
  };
}

type State = ReturnType<typeof stateOf>;

const { groups, subnets } = opened();

type Data = Record<string, unknown>;

/** Members of `before` for which the Service has no annotation. */
function put(
  fresh: Data | undefined,
  before: Data | undefined,
  names: readonly string[],
  isSet: boolean,
): void {
  if (fresh === undefined || before === undefined || isSet) return;
  for (const name of names) if (before[name] !== undefined) fresh[name] = before[name];
}

/** As with the Go manager. */
const keepRemoved: Kept<State>["keep"] = (fresh, before, { annotations: own }) => {
  const kept = structuredClone(fresh);
  const isSet = (name: string) => prefix + name in own;
  const { classic, network, targetGroups, groups: securityGroups } = kept.cloud;
  for (const [name, one] of Object.entries(classic)) {
    const old = before.cloud.classic[name];
    if (old === undefined) continue;
    one.tags = { ...old.tags, ...one.tags };
    one.policies = [...new Set([...one.policies, ...old.policies])].toSorted();
    if (!isSet("ssl-negotiation-policy"))
      for (const [port, listener] of Object.entries(one.listeners)) {
        const had = old.listeners[port];
        if (had !== undefined && Bun.deepEquals(had.view, listener.view)) one.listeners[port] = had;
      }
    const [now, was] = [one.attributes, old.attributes] as unknown as Record<string, Data>[];
    put(
      now?.["ConnectionDraining"],
      was?.["ConnectionDraining"],
      ["Timeout"],
      isSet("connection-draining-timeout"),
    );
    put(now?.["AccessLog"], was?.["AccessLog"], ["EmitInterval"], isSet("access-log-emit-interval"));
    put(now?.["AccessLog"], was?.["AccessLog"], ["S3BucketName"], isSet("access-log-s3-bucket-name"));
    put(now?.["AccessLog"], was?.["AccessLog"], ["S3BucketPrefix"], isSet("access-log-s3-bucket-prefix"));
  }
  for (const [name, one] of Object.entries(network)) {
    const old = before.cloud.network[name];
    if (old === undefined) continue;
    one.tags = { ...old.tags, ...one.tags };
    const logs = ["access_logs.s3.bucket", "access_logs.s3.prefix"];
    put(one.attributes as Data, old.attributes as Data, logs, own[`${prefix}access-log-enabled`] === "true");
    for (const [port, listener] of Object.entries(one.listeners))
      put(listener, old.listeners[port], ["tags"], false);
  }
  for (const [name, one] of Object.entries(targetGroups)) {
    const old = before.cloud.targetGroups[name];
    put(one, old, ["tags"], false);
    // AWS gets this member only together with another change of the check.
    const isSame = Bun.deepEquals(
      { ...one.check, HealthCheckTimeoutSeconds: "" },
      { ...old?.check, HealthCheckTimeoutSeconds: "" },
    );
    put(
      one.check as Data,
      old?.check as Data,
      ["HealthCheckTimeoutSeconds"],
      !isSame && isSet("healthcheck-timeout"),
    );
    for (const attribute of [preserveClientIP, proxyProtocolV2])
      put(
        one.attributes as Data,
        old?.attributes as Data,
        [attribute],
        own[`${prefix}target-group-attributes`]?.includes(attribute) === true,
      );
  }
  // The rule for a given group that the load balancer still has.
  const given = Object.values(classic).flatMap((one) =>
    one.groups.map((name) => `-1   ${name} kubernetes.io/rule/elb`),
  );
  const had = before.cloud.groups["nodes"]?.rules.filter((rule) => given.includes(rule)) ?? [];
  const { nodes } = securityGroups;
  if (nodes !== undefined) nodes.rules = [...new Set([...nodes.rules, ...had])].toSorted();
  for (const [name, one] of Object.entries(securityGroups))
    put(one as Data, before.cloud.groups[name] as Data, ["tags"], false);
  return kept;
};

const cloud: PairCloud<State> = {
  ...vocabulary({ groups, subnets }),
  kept: [{ name: "tags, and the values of annotations that are removed", keep: keepRemoved }],
  open: () => {
    const { h } = opened();
    return { world: h.world, start: () => h.start(), state: () => stateOf(h) };
  },
};

servicePairs(cloud, "./test/providers/aws/service-pairs.test.ts");
