// The load balancers of Hetzner: one per Service, found by its label, or by its name when it has none.

import {
  type BalancerAddress,
  type Call,
  CloudError,
  codeOf,
  collect,
  deleted,
  deletedWithProof,
  done,
  inProgress,
  type LoadBalancers,
  mapEntries,
  milliseconds,
  parseIp,
  type ServiceUID,
  type StepOutcome,
  seconds,
} from "#ccm";
import { type HetznerApi, outcomeOf } from "./api.ts";
import {
  type Annotations,
  type Desired,
  type HetznerStep,
  type Observed,
  ownerLabel,
  type Prefetched,
  settingsOf,
  withDefaults,
} from "./balancer.ts";
import { needsCertificates } from "./certificates.ts";
import { possible, targetLimit } from "./placement.ts";
import { creation, hasAddresses, planLoadBalancer } from "./plan-balancer.ts";
import type { ApiLoadBalancer, ApiTarget } from "./resources.ts";
import type { NetworkID } from "./routes.ts";
import { hasRobotAccess, type Settings } from "./settings.ts";
import { reach, targetChecks, wantedTargets } from "./targets.ts";

function toObserved(balancer: ApiLoadBalancer): Observed {
  const { id, name, labels } = balancer;
  const owner = labels[ownerLabel];
  const common = { name: `${name} (${id})`, state: "ready", balancer } as const;
  if (owner === undefined) return { ...common, owners: [], ownership: "unmarked" };
  // The label holds the uid of a Service: the Go manager or this provider wrote it.
  return { ...common, owners: [owner as ServiceUID], ownership: "ours" };
}

function addressesOf(
  { settings }: Pick<Desired, "settings">,
  { public_net: { enabled, ipv4, ipv6 }, private_net, services }: ApiLoadBalancer,
): readonly BalancerAddress[] {
  const { hostname } = settings;
  if (hostname !== undefined) return [{ hostname }];
  const texts = [
    ...(enabled ? [ipv4.ip, settings["ipv6-disabled"] === true ? undefined : ipv6.ip] : []),
    ...(settings["disable-private-ingress"] === true ? [] : private_net.map(({ ip }) => ip)),
  ];
  // The mode of the ports, which may change later than the annotation, for example when their certificate exists.
  const wanted = services.length === 0 && settings["uses-proxyprotocol"] === true;
  const ipMode = wanted || services.some(({ proxyprotocol }) => proxyprotocol) ? "Proxy" : "VIP";
  return texts.flatMap((text) => {
    const ip = parseIp(text ?? "");
    return ip === undefined ? [] : [{ ip, ipMode } as const];
  });
}

const deletion = "delete load balancer";
const soon = milliseconds(100);
const removals = new Set([deletion, "delete service", "remove target", "detach from network"]);

/** Explains errors that only the name of the step can explain. */
function explained(error: CloudError, { on = "", request }: HetznerStep): CloudError {
  const { name = on } = (request.body ?? {}) as { readonly name?: string };
  const isCreation = request.operation === "POST /load_balancers";
  const isNamed = isCreation || request.operation === "PUT /load_balancers/{id}";
  if (!isNamed || codeOf(error) !== "uniqueness_error") return error;
  const so = isCreation ? "No load balancer is created" : `The load balancer keeps the name ${on}`;
  const adopt = isCreation ? ` To adopt it, remove its label ${ownerLabel}.` : "";
  const text = `The project has another load balancer with the name ${name}, which belongs to another Service or cluster. ${so}. Set another load-balancer.hetzner.cloud/name.${adopt}`;
  return new CloudError(error.kind, text, { ...error.detail, cause: error });
}

/** The cloud refuses this target, and would accept another one. */
const targetCodes: ReadonlySet<string | undefined> = new Set([
  "resource_limit_exceeded",
  "ip_not_owned",
  "cloud_resource_ip_not_allowed",
  "server_not_attached_to_network",
  "load_balancer_not_attached_to_network",
  "missing_ipv4",
  "robot_unavailable",
]);

/** A target that Robot could not check is added again. */
const whenAvailable = { retryAfter: seconds(30) };

/** The body of a creation without its targets; undefined if it has none. */
function withoutTargets(body: unknown): object | undefined {
  const { targets = [], ...rest } = (body ?? {}) as { readonly targets?: readonly ApiTarget[] };
  return targets.length === 0 ? undefined : { ...rest, targets: [] };
}

/** One target that the cloud refuses must not hold up the others, nor the creation. Later plans add targets one by one. */
async function applyWithoutRefused(api: HetznerApi, step: HetznerStep, call: Call): Promise<StepOutcome> {
  const { request } = step;
  const node = step.targets?.adds?.[0];
  const title = `"${step.do}" of ${step.on}`;
  try {
    const { action, load_balancer: changed } = await api.change<{ load_balancer?: ApiLoadBalancer }>(
      request,
      call,
    );
    const outcome = outcomeOf(action, title, node);
    const isReleased = changed !== undefined && changed.labels[ownerLabel] === undefined;
    return outcome.done && isReleased ? { ...outcome, isGone: true } : outcome;
  } catch (error) {
    if (!CloudError.is(error)) throw error;
    // "Not found" may be a server that was deleted a moment ago.
    const isRefused = targetCodes.has(codeOf(error)) || error.kind === "not-found";
    if (node !== undefined && (isRefused || error.kind === "invalid"))
      return done(undefined, [
        { node, text: error.message, ...(error.kind === "unavailable" && whenAvailable) },
      ]);
    if (!isRefused) throw explained(error, step);
    const body = withoutTargets(request.body);
    if (body === undefined) throw error;
    return applyWithoutRefused(api, { ...step, request: { ...request, body } }, call);
  }
}

function apply(api: HetznerApi, step: HetznerStep, call: Call): Promise<StepOutcome> {
  if (!removals.has(step.do)) return applyWithoutRefused(api, step, call);
  const request = api.change(step.request, call);
  const started = (response: Awaited<typeof request>) =>
    outcomeOf(response.action, `"${step.do}" of ${step.on}`);
  if (step.do === deletion)
    return deletedWithProof(
      request,
      () => api.loadBalancer(step.request.path.replace("/load_balancers/", ""), call),
      started,
    ).catch((error: unknown) => {
      if (codeOf(error) !== "protected") throw error;
      // Delete protection was enabled after the listing. The next plan releases it.
      return inProgress(`a listing that shows the delete protection of ${step.on}`, { checkAfter: soon });
    });
  // What a step removes may be gone already: a deleted server is no target any more.
  return deleted(request, started);
}

export function hetznerLoadBalancers(
  api: HetznerApi,
  operator: Settings,
  networkID: NetworkID | undefined,
): LoadBalancers<Annotations, Observed, HetznerStep, Prefetched> {
  const readsRobot = hasRobotAccess(operator);
  const chosen = (desired: Pick<Desired, "settings" | "ports">, observed: Observed | undefined) =>
    possible(withDefaults(desired, operator), observed?.balancer);
  return {
    list: (call) => mapEntries(api.loadBalancers(call), toObserved),
    // The label has no place for the cluster, and several clusters may share a project.
    marksNameCluster: false,
    adopts: ({ settings, defaultName }, { balancer }) => balancer.name === (settings.name ?? defaultName),
    prefetchKey: (desired) => (needsCertificates(desired) ? "certificates" : undefined),
    prefetch: async (key, call) => {
      const certificates = key === "" ? [] : await collect(api.certificates(call));
      return { networkID: await networkID?.(call), certificates };
    },
    settingsOf: (observed, _, published) => settingsOf(observed, operator, published),
    reaches: (desired, observed) => {
      const request = chosen(desired, observed);
      return (target) => reach(request, target, readsRobot);
    },
    targetLimit: (desired, observed) =>
      targetLimit(chosen(desired, observed).settings.type, observed?.balancer.load_balancer_type),
    healthOf: (desired, { balancer }) =>
      targetChecks(wantedTargets(withDefaults(desired, operator), readsRobot), balancer.targets),
    observeHealth: async (_, observed, call) => ({
      ...observed,
      balancer: await api.loadBalancer(observed.balancer.id, call),
    }),
    plan: (desired, observed, prefetched) => planLoadBalancer(desired, observed, prefetched, operator),
    apply: (step, call) => apply(api, step, call),
    publish: (desired, observed) =>
      observed === undefined || !hasAddresses(observed.balancer)
        ? { kind: "wait", waitingFor: creation }
        : { kind: "addresses", addresses: addressesOf(withDefaults(desired, operator), observed.balancer) },
    supports: ["release"],
  };
}
