// A world of Services with a cloud of two regions, "near" and "far": one listing of load balancers each. The provider is that of the
// fake cloud, once per region.

import { asTransport } from "#ccm/testing";
import { type FakeApi, fakeApi } from "../../providers/fake/api.ts";
import { machineSource } from "../../providers/fake/instances.ts";
import { type FakeBalancer, type FakeStep, fakeLoadBalancers } from "../../providers/fake/load-balancers.ts";
import { annotations, config } from "../../providers/fake/settings.ts";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { defineProvider, type LoadBalancers, oneOf } from "../../src/index.ts";
import type { Transport } from "../../src/platform/transport.ts";
import type { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { ServiceWorld } from "./service-world.ts";

export const regions = ["near", "far"] as const;
type Region = (typeof regions)[number];

export const regionAnnotation = "balancer.fake.example/region";
const fields = {
  ...annotations,
  region: oneOf("The region.", regions, { whenChanged: "recreate" }),
};

interface Regional extends FakeBalancer {
  readonly region: Region;
}
type RegionalStep = FakeStep & { readonly region: Region };
type Balancers = LoadBalancers<typeof fields, Regional, RegionalStep>;
type OfRegion = ReturnType<typeof fakeLoadBalancers>;

function regional(of: Readonly<Record<Region, OfRegion>>, namesParts: boolean): Balancers {
  const base = of.near;
  return {
    ...(base as unknown as Omit<Balancers, "list" | "plan" | "apply" | "settingsOf">),
    list: regions.map((region) => ({
      name: region,
      list: async function* (call) {
        const { list } = of[region];
        if (typeof list !== "function") throw new Error("The fake cloud has one part.");
        for await (const page of list(call)) yield page.map((balancer) => ({ ...balancer, region }));
      },
    })),
    ...(namesParts && { partOf: ({ settings }) => settings.region }),
    settingsOf: (observed, owner) => ({ ...base.settingsOf?.(observed, owner), region: observed.region }),
    plan: (members, observed, context) => {
      const region = observed?.region ?? members[0]?.settings.region ?? "near";
      const { steps, ...plan } = of[region].plan(members, observed, context as never);
      return { ...plan, steps: steps.map((step) => ({ ...step, region })) };
    },
    targetsOnly: (step) => {
      const part = base.targetsOnly?.(step);
      return part && { ...part, region: step.region };
    },
    apply: ({ region, ...step }, call) => of[region].apply(step, call),
  };
}

function providerOf(names: readonly Region[], namesParts: boolean) {
  return defineProvider({
    contract: 2,
    name: "fake",
    schemes: ["fake://"],
    config,
    annotations: { prefix: "balancer.fake.example/", fields },
    connect: (settings, { account, mark }) => {
      const apis = regions.map((region): readonly [Region, FakeApi] => {
        const { transport } = account({
          name: region,
          fetch: async () => ({ value: settings.token }),
          sign: (request) => request,
        });
        return [region, fakeApi({ base: `http://${region}`, transport, pageSize: 50 })];
      });
      const of = Object.fromEntries(
        apis.map(([region, api]) => [region, fakeLoadBalancers(api, mark, undefined)]),
      ) as Record<Region, OfRegion>;
      const near = apis[0]?.[1];
      if (near === undefined) throw new Error("There is no region.");
      const balancers = regional(of, namesParts);
      const list = Array.isArray(balancers.list)
        ? balancers.list.filter(({ name }) => names.some((one) => one === name))
        : balancers.list;
      return {
        instances: { sources: [machineSource(near, 50)], matchBy: ["name"] },
        loadBalancers: { ...balancers, list },
      };
    },
  });
}

export class RegionalWorld {
  readonly w: ServiceWorld;
  readonly far: FakeCloud;

  /** `namesParts`: the provider knows the region of a Service that has the annotation. */
  constructor({ namesParts = true }: { readonly namesParts?: boolean } = {}) {
    let far: FakeCloud | undefined;
    let near: Transport | undefined;
    this.w = new ServiceWorld({
      provider: providerOf(regions, namesParts),
      cloud: (clock: VirtualClock) => {
        far = new FakeCloud({ clock, latency: milliseconds(20) });
        const toFar = asTransport(far);
        return (request, signal) => {
          if (request.url.startsWith("http://far/")) return toFar(request, signal);
          near ??= asTransport(this.w.cloud);
          return near(request, signal);
        };
      },
    });
    if (far === undefined) throw new Error("The far region was not created.");
    this.far = far;
    // So that no name and no address is in both regions.
    for (let number = 0; number < 100; number += 1) {
      const { id } = far.balancers.create({ name: `other-${number}`, labels: { cluster: "x" } });
      far.balancers.remove(id);
    }
  }

  get near(): FakeCloud {
    return this.w.cloud;
  }

  create(name: string, region?: Region): void {
    this.w.create(name, region === undefined ? {} : { annotations: { [regionAnnotation]: region } });
  }

  /** The listings of the far region fail, until `faults.clear()`. */
  failFar(kind: "status" | "hang" = "status"): void {
    this.far.faults.add({ kind, operation: "GET /balancers", calls: 1e9, status: 503 });
  }

  ids(region: Region): readonly string[] {
    return this[region].balancers.list().map(({ id }) => id);
  }

  /** Requests that changed the far region, since the recorded requests were cleared. */
  get farChanges(): readonly string[] {
    return this.far.seen.filter(({ mutates }) => mutates).map(({ operation }) => operation);
  }
}
