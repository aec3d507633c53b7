// The load balancers of DigitalOcean: one per Service, found by the id on the Service or by its default name.

import {
  type BalancerAddress,
  type Call,
  CloudError,
  collect,
  deletedWithProof,
  done,
  factsOf,
  ifFound,
  inProgress,
  type LoadBalancers,
  parseIp,
  resolveOnce,
  type StepOutcome,
} from "#ccm";
import type { DigitalOceanApi } from "./api.ts";
import {
  type Annotations,
  adopts,
  type Desired,
  type DigitalOceanStep,
  isDisowned,
  type Observed,
  ownKeys,
  type Prefetched,
  reach,
  settingsOf,
  tagOf,
  toObserved,
  type UpdateStep,
} from "./balancer.ts";
import { certificateOf, needsCertificates } from "./certificates.ts";
import { activation, checkAfter, planLoadBalancer } from "./plan-balancer.ts";
import type { ApiLoadBalancer } from "./resources.ts";
import type { Settings } from "./settings.ts";

const collection = "/load_balancers";

/** DigitalOcean replaces a certificate that it renews. A change that still has the previous one would put it back. */
async function checkCertificate(
  api: DigitalOceanApi,
  { id, certificate, on }: UpdateStep & { readonly on?: string | undefined },
  call: Call,
): Promise<void> {
  if (certificate === undefined) return;
  const current = certificateOf(await api.loadBalancer(id, call));
  if (current === certificate) return;
  const text = `The certificate of ${on} was renewed or changed since the load balancer was listed, so nothing is changed. It is listed again.`;
  throw new CloudError("conflict", text, { operation: "PUT /load_balancers/{id}" });
}

async function tag(api: DigitalOceanApi, name: string, id: string, call: Call): Promise<void> {
  const resources = [{ resource_id: id, resource_type: "load_balancer" }];
  const path = `/tags/${encodeURIComponent(name)}/resources`;
  const add = { operation: "POST /tags/{tag}/resources", method: "POST", path, body: { resources } } as const;
  if ((await ifFound(api.call(add, call).then(() => true))) === true) return;
  await api.call({ operation: "POST /tags", method: "POST", path: "/tags", body: { name } }, call);
  await api.call(add, call);
}

async function apply(api: DigitalOceanApi, step: DigitalOceanStep, call: Call): Promise<StepOutcome> {
  const remember = step.owner && step.remember && factsOf([step.owner], step.remember);
  const operation = (method: "PUT" | "DELETE", id: string) =>
    ({ operation: `${method} ${collection}/{id}`, method, path: `${collection}/${id}` }) as const;
  switch (step.do) {
    case "create load balancer": {
      const { body, owner } = step;
      const request = { operation: `POST ${collection}`, method: "POST", path: collection, body } as const;
      type Created = { readonly load_balancer: ApiLoadBalancer };
      const { load_balancer: created } = await api.call<Created>(
        { ...request, expects: ["load_balancer"] },
        call,
      );
      const facts = { id: created.id, type: created.type ?? undefined };
      return inProgress(activation, { checkAfter, remember: owner && factsOf([owner], facts) });
    }
    case "delete load balancer":
      return deletedWithProof(api.call(operation("DELETE", step.id), call), () =>
        api.loadBalancer(step.id, call),
      );
    case "tag load balancer":
      await tag(api, step.tag, step.id, call);
      return done();
    case "adopt load balancer":
      // The listing may be older than its deletion.
      await api.loadBalancer(step.id, call);
      return done(remember);
    case "follow certificate":
      return done(remember);
    default:
      await checkCertificate(api, step, call);
      await api.call({ ...operation("PUT", step.id), body: step.body }, call);
      return done();
  }
}

export function targetsOnly(step: DigitalOceanStep): DigitalOceanStep | undefined {
  const { targets } = "targets" in step ? step : {};
  return targets && ({ ...step, do: "change targets", body: targets, targets } as DigitalOceanStep);
}

function addressesOf(
  { settings }: Desired,
  { ip, ipv6 }: ApiLoadBalancer,
  operator: Settings,
): readonly BalancerAddress[] {
  const { hostname, "ip-mode": own } = settings;
  if (hostname !== undefined) return [{ hostname: hostname.toLowerCase() }];
  const ipMode = own ?? operator["load-balancer-ip-mode"];
  return [ip, ipv6].flatMap((text) => {
    const address = parseIp(text ?? "");
    return address === undefined ? [] : [{ ip: address, ipMode }];
  });
}

export function digitalOceanLoadBalancers(
  api: DigitalOceanApi,
  operator: Settings,
): LoadBalancers<Annotations, Observed, DigitalOceanStep, Prefetched> {
  const ownTag = tagOf(operator);
  const regions = resolveOnce(async (call) => (await collect(api.regions(call))).map(({ slug }) => slug));
  return {
    groupOf: ({ defaultName }) => defaultName,
    ownKeys,
    list: async function* (call) {
      for await (const page of api.loadBalancers(call)) yield page.map((one) => toObserved(one, ownTag));
    },
    // The tag names a cluster, but not with --cluster-name.
    marksNameCluster: false,
    adopts: (desired, found) => adopts(desired, found, ownTag),
    prefetchKey: (desired) => (needsCertificates(desired) ? "certificates" : ""),
    prefetch: async (desired, call) => ({
      certificates: desired.some(needsCertificates) ? await collect(api.certificates(call)) : [],
      regions: operator.region === undefined ? undefined : await regions(call),
    }),
    settingsOf,
    reaches: (desired, target, observed) => reach(desired, target, observed, operator),
    plan: ([desired], observed, { prefetched }) => planLoadBalancer(desired, observed, prefetched, operator),
    targetsOnly,
    targetCount: ({ balancer }) => balancer.droplet_ids?.length ?? 0,
    apply: (step, call) => apply(api, step, call),
    publish: (desired, observed) => {
      if (isDisowned(desired)) return { kind: "not-ours" };
      const addresses = observed?.state === "ready" ? addressesOf(desired, observed.balancer, operator) : [];
      return addresses.length === 0
        ? { kind: "wait", waitingFor: activation }
        : { kind: "addresses", addresses };
    },
    supports: ["sourceRanges", "healthCheckNodePort", "UDP"],
  };
}
