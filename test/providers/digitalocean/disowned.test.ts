import { expect, test } from "bun:test";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { DigitalOceanWorld, quick, tcpPort } from "./digitalocean-world.ts";

// A disowned load balancer stays, however the Service ends, although its name still contains most of the Service's uid.

const disown = "service.kubernetes.io/do-loadbalancer-disown";

async function worldWithService(value: string) {
  const config = { "cluster-id": "prod", region: "nyc3" };
  const h = new DigitalOceanWorld({ nodes: 2, config, ...quick });
  await h.start("service");
  h.world.create("web", { annotations: {}, spec: { ports: [tcpPort(30_080)] } });
  await h.settle();
  h.world.annotate("web", { [disown]: value });
  await h.settle();
  h.forget();
  return h;
}

function vanish({ world: { server } }: DigitalOceanWorld): void {
  const service = server.store.get("services", "default", "web");
  if (service !== undefined) server.store.remove(resourceNamed("services"), service);
}

function dropFinalizers({ world }: DigitalOceanWorld): void {
  world.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
}

test.each<readonly [string, string, (h: DigitalOceanWorld) => Promise<void>]>([
  [
    "is deleted long after it became a ClusterIP Service",
    "true",
    async (h) => {
      h.world.editSpec("web", { type: "ClusterIP" });
      await h.world.pass(1800);
      h.world.delete("web");
    },
  ],
  ["vanishes", "true", async (h) => vanish(h)],
  [
    "is deleted after its finalizer was removed by hand",
    "true",
    async (h) => {
      dropFinalizers(h);
      h.world.delete("web");
    },
  ],
  [
    "is deleted with an invalid annotation and without its finalizer",
    "yes",
    async (h) => {
      h.world.delete("web");
      await h.settle();
      dropFinalizers(h);
    },
  ],
])("keeps the load balancer of a disowning Service that %s", async (_, value, end) => {
  const h = await worldWithService(value);
  const before = h.balancers().map(({ id }) => id);
  await end(h);
  await h.world.pass(3600);
  expect([h.balancers().map(({ id }) => id), h.changes]).toEqual([before, []]);
});
