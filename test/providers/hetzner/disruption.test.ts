// Changes of settings interrupt as little traffic as possible, and mistakes of operators interrupt none.

import { expect, test } from "bun:test";
import { HetznerWorld, type HetznerWorldOptions } from "./hetzner-world.ts";

const prefix = "load-balancer.hetzner.cloud/";
const isChange = (operation: string): boolean => !operation.startsWith("GET ");
const ports = [{ port: 80, protocol: "TCP", nodePort: 30_080 }];
const all = "cloud-node,cloud-node-lifecycle,service";

async function created(annotations: Readonly<Record<string, string>>, options: HetznerWorldOptions = {}) {
  const h = new HetznerWorld({ nodes: 2, hasNetwork: true, ...options });
  await h.start(all);
  h.world.create("web", {
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([name, value]) => [prefix + name, value]),
    ),
    spec: { ports },
  });
  await h.world.pass(60);
  h.forget();
  return h;
}

const onlyBalancer = (h: HetznerWorld) => {
  const [balancer, ...others] = h.cloud.project.balancers.list();
  if (balancer === undefined || others.length > 0) throw new Error("Expected one load balancer.");
  return balancer;
};
const changesOf = (h: HetznerWorld): readonly string[] => h.requests.filter(isChange);

test("a hung action costs at most 200 requests in an hour, and the Service says what hangs", async () => {
  const h = await created({});
  h.cloud.project.actions.plan({ outcome: "hangs", command: "add_target" });
  h.addNode("more");
  await h.world.pass(3600);
  expect(changesOf(h)).toHaveLength(1);
  expect(h.requests.filter((operation) => operation === "GET /actions").length).toBeLessThanOrEqual(200);
  const [condition] = h.world.get("web").status.conditions ?? [];
  expect(condition).toMatchObject({ reason: "CloudObjectBusy" });
  expect(condition?.message).toContain('"add target"');
});

test("a program that reverts each change costs at most 40 changes in an hour [F71]", async () => {
  const h = await created({});
  h.world.onCrossing = () => {
    h.cloud.settle();
    h.cloud.project.balancers.change(onlyBalancer(h).id, { algorithm: "round_robin" });
  };
  h.world.annotate("web", { [`${prefix}algorithm-type`]: "least_connections" });
  await h.world.pass(3600);
  expect(changesOf(h).length).toBeLessThanOrEqual(40);
});
