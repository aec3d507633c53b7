// The information that a plan receives about other Services with the same load balancer.

import { expect, test } from "bun:test";
import { BalancerInventory } from "../../../../src/cloud/inventory/balancers.ts";
import type { Desired } from "../../../../src/controllers/service/deps.ts";
import { withSharers } from "../../../../src/controllers/service/desired/sharers.ts";
import { servesWithoutClass } from "../../../../src/controllers/service/served-classes.ts";
import { serviceUID } from "../../../../src/core/brand.ts";
import type { Service } from "../../../../src/kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../../src/provider/load-balancers.ts";

const [web, blog] = [serviceUID("web"), serviceUID("blog")];
const viewOf = (uid: typeof web): ObservedLoadBalancer => ({
  name: "edge",
  owners: [uid],
  ownership: "ours",
  state: "ready",
});
const desired = { owner: { uid: web, namespace: "default", name: "web" } } as Desired;
const target = { node: "node-1" } as unknown as Desired["targets"][number];
const hidden = { node: "node-2" } as unknown as Desired["targets"][number];
const known = { desired: { targets: [target] }, gone: [hidden] };

interface Options {
  readonly views?: readonly ObservedLoadBalancer[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly uid?: string;
  readonly loadBalancerClass?: string;
  readonly member?: object | "unreadable";
}

function sharersOf({
  views = [viewOf(web), viewOf(blog)],
  annotations = {},
  uid = blog,
  loadBalancerClass,
  member = known,
}: Options = {}) {
  const service = {
    metadata: { name: "blog", uid, annotations },
    spec: { type: "LoadBalancer", loadBalancerClass },
    status: {},
  };
  const context = {
    controller: { services: { get: () => service as Service }, classes: servesWithoutClass },
    desiredServices: { tryOf: () => (member === "unreadable" ? undefined : member) },
    inventory: new BalancerInventory({ listing: { latest: { items: views } } } as never),
    records: { get: () => ({ key: "default/blog" }) },
  };
  return withSharers(desired, viewOf(web), context as never).sharers;
}

test("the plan for a shared load balancer gets the needs of the other Service, with targets that the cloud may hide [F38 N13]", () => {
  expect([...(sharersOf() ?? [])]).toEqual([[blog, { targets: [target, hidden] } as never]]);
});

test.each<[string, Options]>([
  ["paused", { annotations: { "fairlead.dev/paused": "true" } }],
  ["recreated under the same name", { uid: "other" }],
  ["of a class that another manager serves", { loadBalancerClass: "example.com/other" }],
  ["not readable for the provider", { member: "unreadable" }],
  ["waiting for its endpoints", { member: { ...known, isAwaited: true } }],
  ["without known targets", { member: { ...known, isBlocked: true } }],
  ["on hold", { member: { ...known, isOnHold: true } }],
])("a plan does not know the needs of a Service that is %s [F38]", (_, options) => {
  expect([...(sharersOf(options) ?? [])]).toEqual([[blog, undefined]]);
});

test("a Service that shares no load balancer gets no sharers [F38]", () => {
  expect(sharersOf({ views: [viewOf(web)] })).toBeUndefined();
  const foreign = { ...viewOf(blog), ownership: "foreign" } as const;
  expect(sharersOf({ views: [viewOf(web), foreign] })).toBeUndefined();
});
