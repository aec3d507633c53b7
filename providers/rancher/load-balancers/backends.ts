// The external services that a load balancer forwards to: one for each Node, or one with a health check for all. Pure.

import { type BalancerTarget, isSameIp, type Plan, type RefusedTarget, waitFor } from "#ccm";
import type { HealthCheck } from "../api/resources.ts";
import type { Desired, Mark, Observed, Prefetched, RancherStep, ServiceInUse } from "./model.ts";
import { checkedServiceName, clusterOf, markedOwner, metadataOf, nodeServiceName } from "./names.ts";

export interface Backend {
  readonly name: string;
  readonly nodes: readonly string[];
  readonly ips: readonly string[];
  readonly healthCheck?: HealthCheck;
}

export interface BackendPlan {
  readonly steps: readonly RancherStep[];
  /** Ids of the external services that can be forwarded to now. */
  readonly ids: readonly string[];
  readonly refused: readonly RefusedTarget[];
  readonly wait?: Plan<never>["wait"];
}

/** The address at which the load balancer reaches a Node. */
export const addressOf = ({ internalIPs, addresses }: BalancerTarget): string | undefined =>
  internalIPs[0] ?? addresses[0];

export function backendsOf(desired: Desired, balancer: string): readonly Backend[] {
  const targets = desired.targets.flatMap((target) => {
    const ip = target.machine === undefined ? undefined : addressOf(target);
    return ip === undefined ? [] : [{ node: target.node, ip }];
  });
  const port = desired.healthCheckNodePort;
  if (port === undefined)
    return targets.map(({ node, ip }) => ({ name: nodeServiceName(node), nodes: [node], ips: [ip] }));
  if (targets.length === 0) return [];
  return [
    {
      name: checkedServiceName(balancer),
      nodes: targets.map(({ node }) => node),
      ips: targets.map(({ ip }) => ip).toSorted(),
      healthCheck: {
        port,
        requestLine: 'GET "/healthz" "HTTP/1.0"',
        interval: 2000,
        responseTimeout: 2000,
        healthyThreshold: 2,
        unhealthyThreshold: 3,
      },
    },
  ];
}

const isUsable = (state: string): boolean => state === "active" || state === "updating-active";

function isSame({ service }: ServiceInUse, { ips, healthCheck }: Backend): boolean {
  const observed = (service.externalIpAddresses ?? []).toSorted();
  const sameIPs =
    observed.length === ips.length && ips.every((ip, index) => isSameIp(ip, observed[index] ?? ""));
  const check = service.healthCheck;
  // A check that a user added to the external service of a Node stays.
  const sameCheck =
    healthCheck === undefined ||
    (check?.port === healthCheck.port && check.requestLine === healthCheck.requestLine);
  return sameIPs && sameCheck;
}

/** Whether another cluster may use this external service with its address. */
function isOthers({ service, usedBy }: ServiceInUse, balancer: string, { cluster }: Mark): boolean {
  const marked = clusterOf(service.metadata);
  if (marked !== undefined) return marked !== cluster;
  return usedBy.some(({ id, metadata }) => id !== balancer && clusterOf(metadata) !== cluster);
}

export function planBackends(
  desired: Desired,
  observed: Observed,
  { stackID }: Prefetched,
  mark: Mark,
): BackendPlan {
  const { balancer, services } = observed;
  const steps: RancherStep[] = [];
  const ids: string[] = [];
  const refused: RefusedTarget[] = [];
  const removing: { readonly nodes: readonly string[]; readonly text: string }[] = [];
  let wait: BackendPlan["wait"];
  const planned = new Set<string>();
  for (const backend of backendsOf(desired, balancer.name)) {
    const { name, nodes, ips, healthCheck } = backend;
    const refuse = (text: string) => refused.push(...nodes.map((node) => ({ node, text })));
    const key = name.toLowerCase();
    if (name === "" || planned.has(key)) {
      refuse(`Another Node has the same name in Rancher: ${JSON.stringify(name)}. Rename one of the Nodes.`);
      continue;
    }
    planned.add(key);
    const known = services.get(key);
    if (known === undefined) {
      const body = {
        name,
        stackId: stackID ?? balancer.stackId,
        externalIpAddresses: ips,
        startOnCreate: true,
        ...(healthCheck && { healthCheck }),
        metadata: metadataOf(mark.cluster, desired.owner.uid),
      };
      steps.push({
        do: "create external service",
        on: name,
        send: { kind: "create", type: "externalService", body },
      });
      continue;
    }
    const { service } = known;
    const { id, state, links = {}, actions = {}, transitioning, transitioningMessage } = service;
    if (state === "removing") {
      const why = transitioningMessage ? ` (${transitioningMessage})` : "";
      removing.push({ nodes, text: `external service ${name} to be removed${why}` });
      continue;
    }
    if (!isSame(known, backend)) {
      if (isOthers(known, balancer.id, mark)) {
        refuse(
          `The external service ${name} in Rancher has another address (${service.externalIpAddresses?.join(", ") ?? "none"}) and may belong to another cluster. Rename the Node, or give each cluster its own load-balancers-stack.`,
        );
        continue;
      }
      const link = actions["update"] === undefined ? undefined : links["self"];
      const metadata = metadataOf(
        mark.cluster,
        markedOwner(service.metadata) ?? desired.owner.uid,
        service.metadata,
      );
      const body = { externalIpAddresses: ips, ...(healthCheck && { healthCheck }), metadata };
      if (link === undefined) wait ??= waitFor(`external service ${name}, which is ${state}`).wait;
      else steps.push({ do: "change external service", on: name, send: { kind: "change", link, body } });
    } else if (!isUsable(state)) {
      const link = state === "inactive" && transitioning !== "yes" ? actions["activate"] : undefined;
      const why = transitioningMessage ? ` (${transitioningMessage})` : "";
      if (link !== undefined)
        steps.push({
          do: "activate external service",
          on: name,
          send: { kind: "act", link, isRetry: transitioning === "error" },
        });
      else wait ??= waitFor(`external service ${name}, which is ${state}${why}`).wait;
    }
    ids.push(id);
  }
  // The others must not wait for a removal that may hang.
  if (ids.length > 0 || steps.length > 0) {
    for (const { nodes, text } of removing)
      refused.push(...nodes.map((node) => ({ node, text: `Waiting for ${text} in Rancher.` })));
  } else if (removing[0] !== undefined) wait = waitFor(removing[0].text).wait;
  return { steps, ids, refused, ...(wait && { wait }) };
}
