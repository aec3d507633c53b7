import { expect, test } from "bun:test";
import { BalancerInventory } from "../../../src/cloud/inventory/balancers.ts";
import { serviceUID } from "../../../src/core/brand.ts";
import type { ObservedLoadBalancer } from "../../../src/provider/load-balancers.ts";

const [web, shop] = [serviceUID("web"), serviceUID("shop")];

function balancer(name: string, changes: Partial<ObservedLoadBalancer> = {}): ObservedLoadBalancer {
  return { name, owners: [web], ownership: "ours", state: "ready", ...changes };
}

function indexOf(...items: readonly ObservedLoadBalancer[]): BalancerInventory {
  return new BalancerInventory({ listing: { latest: { items } } } as never);
}

test("counts two load balancers of one Service with different names as two", () => {
  const index = indexOf(balancer("b1"), balancer("b2"));
  expect([index.of(web).length, index.onlyOneOf(web)]).toEqual([2, undefined]);
});

test("counts a load balancer that the listing repeats once", () => {
  const index = indexOf(balancer("b1"), balancer("b1"));
  expect([index.of(web), index.onlyOneOf(web)]).toEqual([[balancer("b1")], balancer("b1")]);
});

test("finds the load balancers of a Service by its uid", () => {
  const other = balancer("b2", { owners: [shop] });
  const index = indexOf(balancer("b1"), other);
  expect([index.of(web), index.of(shop), index.of(serviceUID("gone"))]).toEqual([
    [balancer("b1")],
    [other],
    [],
  ]);
});

test("finds a load balancer with another cluster's mark only as foreign", () => {
  const foreign = balancer("b1", { ownership: "foreign" });
  const index = indexOf(foreign);
  expect([index.of(web), index.marked, index.foreignOf(web)]).toEqual([[], [], [foreign]]);
});

test("treats an unmarked load balancer as the load balancer of no Service", () => {
  const index = indexOf(balancer("b1", { ownership: "unmarked" }));
  expect([index.of(web), index.marked, index.foreignOf(web)]).toEqual([[], [], []]);
});

test("finds no single load balancer for a Service while another cluster has a load balancer for it", () => {
  const index = indexOf(balancer("b1"), balancer("b2", { ownership: "foreign" }));
  expect([index.of(web), index.onlyOneOf(web)]).toEqual([[balancer("b1")], undefined]);
});
