// Plans the external services of a load balancer: one for each Node, or one with a health check for all. Pure.

import { type BalancerTarget, ipFamily, isSameIp, type RefusedTarget, seconds } from "#ccm";
import {
  checkedServiceName,
  clusterOf,
  type Desired,
  type Mark,
  markedOwner,
  metadataOf,
  nodeServiceName,
  type Observed,
  type RancherStep,
  type ServiceInUse,
} from "./balancer.ts";
import type { ApiExternalService, HealthCheck } from "./resources.ts";

export interface Backend {
  readonly name: string;
  readonly nodes: readonly string[];
  readonly ips: readonly string[];
  readonly healthCheck?: HealthCheck;
}

/** The address at which the load balancer reaches a Node: its network has no IPv6. */
export const addressOf = ({ internalIPs, addresses }: BalancerTarget): string | undefined =>
  [...internalIPs, ...addresses].find((ip) => ipFamily(ip) === "IPv4");

export function backendsOf(desired: Desired): readonly Backend[] {
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
      name: checkedServiceName(desired.defaultName, port),
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

/** A removal takes some seconds. */
const removalTime = seconds(5);

export interface BackendPlan {
  readonly steps: readonly RancherStep[];
  /** Ids of the external services that can be forwarded to now. */
  readonly ids: readonly string[];
  readonly refused: readonly RefusedTarget[];
  readonly waitingFor?: string | undefined;
}

type Outcome =
  | { readonly kind: "missing"; readonly step: RancherStep }
  | {
      readonly kind: "found";
      readonly id: string;
      readonly step?: RancherStep;
      readonly waitingFor?: string;
    }
  | { readonly kind: "removing"; readonly waitingFor: string }
  | { readonly kind: "refused"; readonly text: string };

interface Context {
  readonly desired: Desired;
  readonly observed: Observed;
  readonly mark: Mark;
}

export function planBackends(context: Context): BackendPlan {
  const planned = new Set<string>();
  const outcomes = backendsOf(context.desired).map((backend) => {
    const key = backend.name.toLowerCase();
    const isTaken = key === "" || planned.has(key);
    planned.add(key);
    const text = `Another Node has the same name in Rancher: ${JSON.stringify(backend.name)}. Rename one of the Nodes.`;
    const outcome: Outcome = isTaken ? { kind: "refused", text } : planBackend(backend, context);
    return { nodes: backend.nodes, outcome };
  });
  const all = outcomes.map(({ outcome }) => outcome);
  const steps = all.flatMap((one) => ("step" in one && one.step !== undefined ? [one.step] : []));
  const ids = all.flatMap((one) => (one.kind === "found" ? [one.id] : []));
  // The other Nodes must not wait for a removal that may hang.
  const hasOthers = ids.length > 0 || steps.length > 0;
  const refused = outcomes.flatMap(({ nodes, outcome }): readonly RefusedTarget[] => {
    if (outcome.kind === "refused") return nodes.map((node) => ({ node, text: outcome.text }));
    if (outcome.kind !== "removing" || !hasOthers) return [];
    const text = `Waiting for ${outcome.waitingFor} in Rancher.`;
    return nodes.map((node) => ({ node, text, retryAfter: removalTime }));
  });
  const [waitingFor] = all.flatMap((one) => ("waitingFor" in one ? (one.waitingFor ?? []) : []));
  return { steps, ids, refused, waitingFor };
}

function planBackend(backend: Backend, context: Context): Outcome {
  const { desired, observed, mark } = context;
  const { name, ips, healthCheck } = backend;
  const known = observed.services.get(name.toLowerCase());
  if (known === undefined) {
    const metadata = metadataOf(mark.cluster, desired.owner.uid);
    const { stackId } = observed.balancer;
    const body = { name, stackId, externalIpAddresses: ips, startOnCreate: true, healthCheck, metadata };
    const send = { kind: "create", type: "externalService", body, nodes: backend.nodes } as const;
    return { kind: "missing", step: { do: "create external service", on: name, send, targets: "all" } };
  }
  const { service } = known;
  if (service.state === "removing")
    return { kind: "removing", waitingFor: `external service ${name} to be removed${whyOf(service)}` };
  if (isSame(known, backend)) return planServiceActivation(service);
  if (isOthers(known, observed.balancer.id, mark)) {
    const text = `The external service ${name} in Rancher has another address (${[service.hostname ?? service.externalIpAddresses ?? []].flat().join(", ")}) and may belong to another cluster or a user. Remove it or rename the Node, or give each cluster its own load-balancers-stack.`;
    return { kind: "refused", text };
  }
  const { id, links = {}, actions = {} } = service;
  const link = actions["update"] === undefined ? undefined : links["self"];
  if (link === undefined) return { kind: "found", id, waitingFor: stateOf(service) };
  const owner = markedOwner(service.metadata) ?? desired.owner.uid;
  const metadata = metadataOf(mark.cluster, owner, service.metadata);
  const send = { kind: "change", link, body: { externalIpAddresses: ips, metadata } } as const;
  return { kind: "found", id, step: { do: "change external service", on: name, send, targets: "all" } };
}

function planServiceActivation(service: ApiExternalService): Outcome {
  const { id, name, state, actions = {}, transitioning } = service;
  if (state === "active" || state === "updating-active") return { kind: "found", id };
  const link = state === "inactive" && transitioning !== "yes" ? actions["activate"] : undefined;
  if (link === undefined) return { kind: "found", id, waitingFor: stateOf(service) };
  const send = { kind: "act", link, isRetry: transitioning === "error" } as const;
  return { kind: "found", id, step: { do: "activate external service", on: name, send, targets: "all" } };
}

const whyOf = ({ transitioningMessage }: ApiExternalService): string =>
  transitioningMessage ? ` (${transitioningMessage})` : "";

const stateOf = (service: ApiExternalService): string =>
  `external service ${service.name}, which is ${service.state}${whyOf(service)}`;

function isSame({ service }: ServiceInUse, { ips }: Backend): boolean {
  const observed = (service.externalIpAddresses ?? []).toSorted();
  return (
    !service.hostname &&
    observed.length === ips.length &&
    ips.every((ip, index) => isSameIp(ip, observed[index] ?? ""))
  );
}

/** Whether another cluster or a user may use this external service with its address. */
function isOthers({ service, usedBy }: ServiceInUse, balancer: string, { cluster }: Mark): boolean {
  if (service.hostname) return true;
  const marked = clusterOf(service.metadata);
  if (marked !== undefined) return marked !== cluster;
  // Without a mark and without a load balancer, it may be a user's.
  const isOwn = ({ id, metadata }: ServiceInUse["usedBy"][number]) =>
    id === balancer || clusterOf(metadata) === cluster;
  return usedBy.length === 0 || !usedBy.every(isOwn);
}
