// The load balancers of Hetzner: one per Service, found by its label, or by its name when it has none.

import {
  type BalancerAddress,
  type Call,
  CloudError,
  deleted,
  done,
  type LoadBalancers,
  parseIp,
  type ServiceUID,
  type StepOutcome,
} from "#ccm";
import { outcomeOf } from "../actions.ts";
import type { HetznerApi } from "../api/client.ts";
import { refusesTarget } from "../api/errors.ts";
import type { ApiCertificate, ApiLoadBalancer } from "../api/resources.ts";
import type { NetworkID } from "../network.ts";
import { needsCertificates } from "./certificates.ts";
import {
  type Annotations,
  choicesOf,
  type Desired,
  type HetznerStep,
  type Observed,
  ownerLabel,
  type Prefetched,
  type Settings,
} from "./model.ts";
import { planLoadBalancer } from "./plan.ts";
import { settingsOf } from "./settings-of.ts";
import { targetsOnly } from "./steps.ts";
import { reach, targetLimit } from "./targets.ts";

function toObserved(balancer: ApiLoadBalancer): Observed {
  const { id, name, labels } = balancer;
  const owner = labels[ownerLabel];
  const common = { name: `${name} (${id})`, state: "ready", balancer } as const;
  if (owner === undefined) return { ...common, group: `unmarked ${id}`, owners: [], ownership: "unmarked" };
  // The label holds the uid of a Service: the Go manager or this provider wrote it.
  return { ...common, group: owner, owners: [owner as ServiceUID], ownership: "ours" };
}

function addressesOf(
  desired: Desired,
  { public_net, private_net }: ApiLoadBalancer,
  operator: Settings,
): readonly BalancerAddress[] {
  const { hostname } = desired.settings;
  if (hostname !== undefined) return [{ hostname }];
  const { hasIPv6, hasPrivateIngress, proxyProtocol } = choicesOf(desired, operator);
  const texts = [
    ...(public_net.enabled ? [public_net.ipv4.ip, hasIPv6 ? public_net.ipv6.ip : undefined] : []),
    ...(hasPrivateIngress ? private_net.map(({ ip }) => ip) : []),
  ];
  const ipMode = proxyProtocol === true ? "Proxy" : "VIP";
  return texts.flatMap((text) => {
    const ip = parseIp(text ?? "");
    return ip === undefined ? [] : [{ ip, ipMode } as const];
  });
}

const removals = new Set(["delete load balancer", "delete service", "remove target", "detach from network"]);

/** Explains errors that only the name of the step can explain. */
function explained(error: CloudError, { on = "", request }: HetznerStep): CloudError {
  if (request.operation !== "POST /load_balancers" || !error.message.endsWith("[uniqueness_error]"))
    return error;
  const text = `The project has another load balancer with the name ${on}, which belongs to another Service or cluster. No load balancer is created. Set another load-balancer.hetzner.cloud/name. To adopt it, remove its label ${ownerLabel}.`;
  return new CloudError(error.kind, text, { ...error.detail, cause: error });
}

async function apply(api: HetznerApi, step: HetznerStep, call: Call): Promise<StepOutcome> {
  const { request, node } = step;
  const title = `"${step.do}" of ${step.on}`;
  // What a step removes may be gone already: a deleted server is no target any more.
  if (removals.has(step.do))
    return deleted(api.change(request, call), (response) => outcomeOf(response?.action, title));
  try {
    return outcomeOf((await api.change(request, call))?.action, title);
  } catch (error) {
    if (!CloudError.is(error)) throw error;
    // A target that is refused must not hold up the others.
    if (node !== undefined && refusesTarget(error.message))
      return done(undefined, [{ node, text: error.message }]);
    throw explained(error, step);
  }
}

export function hetznerLoadBalancers(
  api: HetznerApi,
  operator: Settings,
  networkID: NetworkID | undefined,
): LoadBalancers<Annotations, Observed, HetznerStep, Prefetched> {
  return {
    list: async function* (call) {
      for await (const page of api.loadBalancers(call)) yield page.map(toObserved);
    },
    // The label has no place for the cluster, and several clusters may share a project.
    marksNameCluster: false,
    adopts: ({ settings, defaultName }, { balancer }) => balancer.name === (settings.name ?? defaultName),
    prefetch: async (desired, call) => {
      const certificates: ApiCertificate[] = [];
      if (desired.some(needsCertificates)) {
        for await (const page of api.certificates(call)) certificates.push(...page);
      }
      return { networkID: await networkID?.(call), certificates };
    },
    settingsOf,
    reaches: (desired, target) => reach(choicesOf(desired, operator), target),
    targetLimit: (desired, observed) =>
      targetLimit(choicesOf(desired, operator).type, observed?.balancer.load_balancer_type),
    plan: ([desired], observed, { prefetched }) => planLoadBalancer(desired, observed, prefetched, operator),
    targetsOnly,
    apply: (step, call) => apply(api, step, call),
    publish: (desired, observed) =>
      observed === undefined
        ? { kind: "wait", waitingFor: "the load balancer to be created" }
        : { kind: "addresses", addresses: addressesOf(desired, observed.balancer, operator) },
    releases: true,
    supports: [],
  };
}
