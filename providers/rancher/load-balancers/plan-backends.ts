// Plans the external services of a load balancer: creates, changes and activates them, and says which can be forwarded to. Pure.

import { isSameIp, type RefusedTarget, seconds } from "#ccm";
import type { ApiExternalService } from "../api/resources.ts";
import { type Backend, backendsOf } from "./backends.ts";
import type { Desired, Mark, Observed, RancherStep, ServiceInUse } from "./model.ts";
import { clusterOf, markedOwner, metadataOf } from "./names.ts";

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
  if (isSame(known, backend)) return planActivation(service);
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

function planActivation(service: ApiExternalService): Outcome {
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
