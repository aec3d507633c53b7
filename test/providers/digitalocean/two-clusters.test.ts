// Two clusters in one account never change each other's resources.

import { expect, test } from "bun:test";
import { DigitalOceanWorld, idAnnotation, prefix, quick, tcpPort } from "./digitalocean-world.ts";

const other = { "cluster-id": "staging", region: "nyc3" };
const spec = { ports: [tcpPort(30_080)] };

/** A load balancer of another cluster, with one of its droplets. */
function foreign(h: DigitalOceanWorld, name: string, tags: readonly string[]) {
  const { id } = h.cloud.account.droplets.add(`of-${name}`);
  return h.cloud.account.balancers.add(name, { droplet_ids: [id], tags });
}

test.each([
  ["tagged", { "cluster-id": "prod" }, ["k8s:staging"]],
  ["tagged, while this cluster has no id", {}, ["k8s:staging"]],
  ["without a tag", { "cluster-id": "prod" }, []],
  ["without a tag, while this cluster has no id", {}, []],
])(
  "leaves another cluster's load balancer with the name of the Service unchanged: %s",
  async (_, config, tags) => {
    const h = new DigitalOceanWorld({ nodes: 2, config, ...quick });
    const before = foreign(h, "shop", tags);
    await h.start();
    h.world.create("web", { spec, annotations: { [`${prefix}name`]: "shop" } });
    await h.settle();
    h.world.delete("web");
    await h.world.pass(600);
    expect(h.balancers()).toEqual([before]);
    expect(h.world.find("web")).toBeUndefined();
  },
);

test("does not take over a load balancer with another cluster's tag by the id on a copied Service", async () => {
  const h = new DigitalOceanWorld({ nodes: 2, config: { "cluster-id": "prod" }, ...quick });
  const before = foreign(h, "a0123456789abcdef0123456789abcde", ["k8s:staging"]);
  await h.start();
  h.world.create("web", { spec, annotations: { [idAnnotation]: before.id } });
  await h.settle();
  expect(h.balancers()).toEqual([before]);
  expect(h.world.events("web").join("\n")).toContain(
    "belongs to cluster staging; this manager runs as prod. Nothing is created, changed or deleted for this Service. If the name is wrong, set DO_CLUSTER_ID to staging and restart. If that cluster has given it up, remove the mark of that cluster in the cloud.",
  );
  h.world.delete("web");
  await h.world.pass(600);
  expect(h.balancers()).toEqual([before]);
});

test("deletes nothing of another cluster whose Services it never saw", async () => {
  const h = new DigitalOceanWorld({ nodes: 2, config: other, ...quick });
  const all = [
    foreign(h, "a0123456789abcdef0123456789abcde", []),
    foreign(h, "afedcba9876543210fedcba987654321", ["k8s:prod"]),
    foreign(h, "shop", ["k8s:prod"]),
    foreign(h, "blog", []),
  ];
  await h.start();
  h.world.create("web", { spec });
  await h.settle();
  h.world.delete("web");
  await h.world.pass(7200);
  expect(h.balancers()).toEqual(all);
});

test("recognizes its tag in a different spelling, because DigitalOcean ignores case in tags", async () => {
  const h = new DigitalOceanWorld({ nodes: 2, config: { "cluster-id": "Prod" }, ...quick });
  h.cloud.account.addTags(["k8s:prod"]);
  await h.start();
  h.world.create("web", { spec });
  await h.settle();
  expect(h.balancers().map(({ tags }) => tags)).toEqual([["k8s:prod"]]);
  h.forget();
  h.world.annotate("web", { [`${prefix}size-unit`]: "2" });
  await h.world.pass(7200);
  expect(h.changes).toEqual(["PUT /v2/load_balancers/{id}"]);
  expect(h.world.addressesOf("web")).toHaveLength(1);
});
