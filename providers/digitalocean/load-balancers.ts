// The load balancers of DigitalOcean: one per Service, found by the id on the Service or by its default name.

import {
  type Call,
  CloudError,
  collect,
  deletedWithProof,
  done,
  ifFound,
  inProgress,
  type JsonRequest,
  type LoadBalancers,
  mapEntries,
  membersOf,
  publishIPs,
  type RefusedTarget,
  type StepOutcome,
} from "#ccm";
import { disown } from "./annotations.ts";
import type { DigitalOceanApi } from "./api.ts";
import {
  type Annotations,
  adopts,
  type DigitalOceanStep,
  type Observed,
  ownKeys,
  type Prefetched,
  reach,
  settingsOf,
  toObserved,
} from "./balancer.ts";
import { certificateOf, needsCertificates } from "./certificates.ts";
import {
  activation,
  checkAfter,
  deletionTitle,
  needsHandles,
  planLoadBalancer,
  taggingTitle,
} from "./plan-balancer.ts";
import type { ApiLoadBalancer } from "./resources.ts";
import type { Settings } from "./settings.ts";
import { applyTag, tagOf } from "./tags.ts";

/** Settings that cannot be changed, and settings that users change in the cloud: the API resets omitted fields. */
const kept = "type network network_stack vpc_uuid subnet_uuid project_id tls_cipher_policy".split(" ");

/** Keeps the current targets and these members. Never restores a certificate that was replaced by a renewal. */
async function updated(api: DigitalOceanApi, step: DigitalOceanStep, call: Call): Promise<JsonRequest> {
  const { id = "", certificate, on, request } = step;
  if (request.method !== "PUT") return request;
  const found = await api.loadBalancer(id, call);
  const now = { region: found.region?.slug, droplet_ids: found.droplet_ids ?? [] };
  const body = { ...membersOf(found, kept), ...now, ...(request.body as Body) };
  if (certificateOf(found) === certificate) return { ...request, body };
  const text = `The certificate of ${on} has been renewed or changed since the load balancer was listed, so nothing is changed. It is listed again.`;
  throw new CloudError("conflict", text, request);
}

interface Body {
  readonly droplet_ids?: readonly number[];
}

const isOfTargets = ({ path }: JsonRequest): boolean => path.endsWith("/droplets");

/** Whether the API may have rejected a droplet. */
const isOfDroplet = ({ kind }: CloudError): boolean => kind === "invalid" || kind === "not-found";

/** The droplets that the error names, or that no longer exist. Empty if the error has a different cause. */
async function refusedIn(error: CloudError, sent: readonly number[], api: DigitalOceanApi, call: Call) {
  if (sent.length === 0 || !isOfDroplet(error)) return [];
  const numbers = new Set(error.message.match(/\d+/g));
  const named = sent.filter((id) => numbers.has(String(id)));
  return named.length > 0 ? named : missingFrom(api, sent, call);
}

async function missingFrom(api: DigitalOceanApi, ids: readonly number[], call: Call) {
  const existing = new Set((await collect(api.droplets(call))).map(({ id }) => id));
  return ids.filter((id) => !existing.has(id));
}

/** Targets whose droplet was destroyed. While a load balancer has any, the API rejects changes of its other targets. */
async function destroyedIn(
  error: CloudError,
  { id = "" }: DigitalOceanStep,
  api: DigitalOceanApi,
  call: Call,
) {
  if (!isOfDroplet(error)) return [];
  const { droplet_ids } = await api.loadBalancer(id, call);
  const missing = await missingFrom(api, droplet_ids ?? [], call);
  const found = await Promise.all(missing.map((one) => ifFound(api.droplet(String(one), call))));
  return missing.filter((_, index) => found[index] === undefined);
}

interface Sent {
  readonly changed?: ApiLoadBalancer | undefined;
  readonly refused?: readonly RefusedTarget[];
}

/** Sends a step so that a rejected droplet blocks neither other droplets nor the creation. */
async function send(
  api: DigitalOceanApi,
  step: DigitalOceanStep,
  call: Call,
  /** Destroyed droplets that were already removed, but that the load balancer may still show. */
  removed: readonly number[] = [],
): Promise<Sent> {
  const { request, nodes = {} } = step;
  const ofTargets = isOfTargets(request);
  const { droplet_ids: sent = [] } = (request.body ?? {}) as Body;
  if (ofTargets && sent.length === 0) return {};
  const sendWithout = (left: readonly number[], gone = removed) => {
    const droplet_ids = sent.filter((id) => !left.includes(id));
    const rest = { ...request, body: { ...(request.body as Body), droplet_ids } };
    return send(api, { ...step, request: rest }, call, gone);
  };
  try {
    const expects = ofTargets ? undefined : ["load_balancer"];
    const response = api.call<{ readonly load_balancer: ApiLoadBalancer }>({ ...request, expects }, call);
    return { changed: (await response)?.load_balancer };
  } catch (error) {
    if (!CloudError.is(error)) throw error;
    const gone = request.method === "DELETE" ? [] : await refusedIn(error, sent, api, call);
    if (gone.length === 0) {
      const all = ofTargets ? await destroyedIn(error, step, api, call) : [];
      const destroyed = all.filter((id) => !removed.includes(id));
      if (destroyed.length === 0) throw error;
      await api.call({ ...request, method: "DELETE", body: { droplet_ids: destroyed } }, call);
      return sendWithout(destroyed, [...removed, ...destroyed]);
    }
    const text = error.message;
    const own = gone.flatMap((id) => (nodes[id] === undefined ? [] : [{ node: nodes[id], text }]));
    const { changed, refused = [] } = await sendWithout(gone);
    return { changed, refused: [...own, ...refused] };
  }
}

async function apply(api: DigitalOceanApi, step: DigitalOceanStep, call: Call): Promise<StepOutcome> {
  const { id, request, remember } = step;
  if (step.do === deletionTitle)
    return deletedWithProof(api.call(request, call), () => api.loadBalancer(id ?? "", call));
  if (step.do === taggingTitle) return applyTag(api, request, call).then(() => done());
  const { changed, refused } = await send(api, { ...step, request: await updated(api, step, call) }, call);
  if (id !== undefined || changed === undefined) return done(remember, refused);
  const created = { id: changed.id, type: changed.type ?? undefined };
  return inProgress(activation, { checkAfter, remember: created, refused });
}

export function digitalOceanLoadBalancers(
  api: DigitalOceanApi,
  operator: Settings,
): LoadBalancers<Annotations, Observed, DigitalOceanStep, Prefetched> {
  const ownTag = tagOf(operator);
  return {
    ownKeys,
    list: (call) => mapEntries(api.loadBalancers(call), (one) => toObserved(one, ownTag)),
    // The tag names a cluster, but not by --cluster-name.
    marksNameCluster: { name: "DO_CLUSTER_ID", value: operator["cluster-id"] ?? "a cluster without an id" },
    adopts: (desired, found) => adopts(desired, found, ownTag),
    prefetchKey: (desired) => (needsCertificates(desired) ? "certificates" : undefined),
    prefetch: async (key, call) => ({
      certificates: key === "" ? [] : await collect(api.certificates(call)),
    }),
    settingsOf,
    reaches: (desired, observed) => (target) => reach(desired, target, observed, operator),
    plan: (desired, observed, prefetched) => planLoadBalancer(desired, observed, prefetched, operator),
    apply: (step, call) => apply(api, step, call),
    publish: (desired, observed) => {
      const { hostname, "ip-mode": ipMode = operator["load-balancer-ip-mode"] } = desired.settings;
      if (desired.settings[disown]) return { kind: "not-ours" };
      if (observed?.state !== "ready") return { kind: "wait", waitingFor: activation };
      if (hostname !== undefined)
        return { kind: "addresses", addresses: [{ hostname: hostname.toLowerCase() }] };
      return publishIPs([observed.balancer.ip, observed.balancer.ipv6], activation, ipMode);
    },
    needsHandles: needsHandles(operator),
    supports: ["sourceRanges", "healthCheckNodePort", "UDP"],
  };
}
