// The load balancers of DigitalOcean: one per Service, found by the id on the Service or by its default name.

import {
  type Call,
  CloudError,
  collect,
  deletedWithProof,
  done,
  factsOf,
  ifFound,
  inProgress,
  type JsonRequest,
  type LoadBalancers,
  membersOf,
  publishIPs,
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
  tagOf,
  toObserved,
} from "./balancer.ts";
import { certificateOf, needsCertificates } from "./certificates.ts";
import {
  activation,
  checkAfter,
  kept,
  planLoadBalancer,
  taggingTitle,
  targetsTitle,
} from "./plan-balancer.ts";
import type { ApiLoadBalancer } from "./resources.ts";
import type { Settings } from "./settings.ts";

/** Keeps what users set in the cloud since the listing, and never puts a certificate back that was renewed. Target changes are frequent. */
async function updated(api: DigitalOceanApi, step: DigitalOceanStep, call: Call): Promise<JsonRequest> {
  const { id = "", certificate, on, request } = step;
  const isRead = request.method === "PUT" && (step.do !== targetsTitle || certificate !== undefined);
  if (!isRead) return request;
  const found = await api.loadBalancer(id, call);
  if (certificateOf(found) === certificate)
    return { ...request, body: { ...(request.body as object), ...membersOf(found, kept) } };
  const text = `The certificate of ${on} was renewed or changed since the load balancer was listed, so nothing is changed. It is listed again.`;
  throw new CloudError("conflict", text, request);
}

/** Creates the tag if it does not exist. */
async function applyTag(
  api: DigitalOceanApi,
  { request }: DigitalOceanStep,
  call: Call,
): Promise<StepOutcome> {
  const send = () => api.call(request, call).then(() => true);
  if ((await ifFound(send())) === true) return done();
  const body = { name: decodeURIComponent(request.path.split("/")[2] ?? "") };
  await api.call({ operation: "POST /tags", method: "POST", path: "/tags", body }, call);
  await send();
  return done();
}

async function apply(api: DigitalOceanApi, step: DigitalOceanStep, call: Call): Promise<StepOutcome> {
  const { id, request, owner, remember } = step;
  if (request.method === "DELETE")
    return deletedWithProof(api.call(request, call), () => api.loadBalancer(id ?? "", call));
  if (step.do === taggingTitle) return applyTag(api, step, call);
  const expects = ["load_balancer"];
  const current = { ...(await updated(api, step, call)), expects };
  const response = api.call<{ readonly load_balancer: ApiLoadBalancer }>(current, call);
  const { load_balancer: changed } = await response;
  const owners = owner === undefined ? [] : [owner];
  if (id !== undefined) return done(remember && factsOf(owners, remember));
  const created = { id: changed.id, type: changed.type ?? undefined };
  return inProgress(activation, { checkAfter, remember: factsOf(owners, created) });
}

export function digitalOceanLoadBalancers(
  api: DigitalOceanApi,
  operator: Settings,
): LoadBalancers<Annotations, Observed, DigitalOceanStep, Prefetched> {
  const ownTag = tagOf(operator);
  return {
    groupOf: ({ defaultName }) => defaultName,
    ownKeys,
    list: async function* (call) {
      for await (const page of api.loadBalancers(call)) yield page.map((one) => toObserved(one, ownTag));
    },
    // The tag names a cluster, but not with --cluster-name.
    marksNameCluster: false,
    clusterSetting: { name: "DO_CLUSTER_ID", value: operator["cluster-id"] ?? "a cluster without an id" },
    adopts: (desired, found) => adopts(desired, found, ownTag),
    prefetchKey: (desired) => (needsCertificates(desired) ? "certificates" : ""),
    prefetch: async (desired, call) => ({
      certificates: desired.some(needsCertificates) ? await collect(api.certificates(call)) : [],
    }),
    settingsOf,
    reaches: (desired, target, observed) => reach(desired, target, observed, operator),
    plan: ([desired], observed, { prefetched }) => planLoadBalancer(desired, observed, prefetched, operator),
    targetsOnly: (step) => step.targets && { ...step, do: targetsTitle, request: step.targets },
    targetCount: ({ balancer }) => balancer.droplet_ids?.length ?? 0,
    apply: (step, call) => apply(api, step, call),
    publish: (desired, observed) => {
      const { hostname, "ip-mode": ipMode = operator["load-balancer-ip-mode"] } = desired.settings;
      if (desired.settings[disown]) return { kind: "not-ours" };
      if (observed?.state !== "ready") return { kind: "wait", waitingFor: activation };
      if (hostname !== undefined)
        return { kind: "addresses", addresses: [{ hostname: hostname.toLowerCase() }] };
      return publishIPs([observed.balancer.ip, observed.balancer.ipv6], activation, ipMode);
    },
    supports: ["sourceRanges", "healthCheckNodePort", "UDP"],
  };
}
