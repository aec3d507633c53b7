// The id of a load balancer on a Service that did not get it from a manager: the id is copied,
// restored, mistyped, or written to take the load balancer over.

import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import { DigitalOceanWorld, idAnnotation, prefix, quick, tcpPort } from "./digitalocean-world.ts";

const disown = "service.kubernetes.io/do-loadbalancer-disown";
const config = { "cluster-id": "prod", region: "nyc3" };
const slow = { times: { activation: seconds(60), change: seconds(0) } };
let nodePort = 30_100;

function draft(annotations: Readonly<Record<string, string>> = {}) {
  const entries = Object.entries(annotations);
  nodePort += 1;
  return {
    annotations: Object.fromEntries(
      entries.map(([name, value]) => [name.includes("/") ? name : prefix + name, value]),
    ),
    spec: { ports: [tcpPort(nodePort)] },
  };
}

async function started(options: ConstructorParameters<typeof DigitalOceanWorld>[0] = {}) {
  const h = new DigitalOceanWorld({ nodes: 2, config, ...quick, ...options });
  await h.start();
  return h;
}

const eventsOf = (h: DigitalOceanWorld, name = "web") => h.world.events(name).join("\n");
const namesIn = (h: DigitalOceanWorld) => h.balancers().map(({ name }) => name);

function idNamed(h: DigitalOceanWorld, wanted: string): string {
  const found = h.balancers().find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`No load balancer ${wanted}.`);
  return found.id;
}

/** Changes the Service while no manager runs, so that the next one knows only what is stored. */
async function changeWhileStopped(h: DigitalOceanWorld, change: () => void): Promise<void> {
  await h.world.stop();
  change();
  await h.start();
  await h.settle();
}

test("keeps a new load balancer without an address when a Service with another load balancer writes its id [S11]", async () => {
  const h = await started(slow);
  h.world.create("thief", draft({ name: "mine" }));
  await h.settle();
  h.world.create("web", draft({ name: "shop" }));
  await h.world.pass(15);
  const shop = idNamed(h, "shop");
  await changeWhileStopped(h, () => h.world.annotate("thief", { [idAnnotation]: shop }));
  h.world.delete("thief");
  await h.world.pass(600);
  expect(h.balancers().map(({ id }) => id)).toContain(shop);
  expect(h.world.addressesOf("web")).toHaveLength(1);
});

test("manages the load balancer whose address a Service has, although another Service with an address has its id [S11]", async () => {
  const h = await started();
  h.world.create("web", draft({ name: "shop" }));
  h.world.create("thief", draft({ name: "mine" }));
  await h.settle();
  const shop = idNamed(h, "shop");
  await changeWhileStopped(h, () => h.world.annotate("thief", { [idAnnotation]: shop }));
  h.addNode("more");
  await h.settle();
  expect(h.balancers().find(({ id }) => id === shop)?.droplet_ids).toHaveLength(3);
  h.world.delete("web");
  await h.world.pass(600);
  expect(namesIn(h)).not.toContain("shop");
});

test("manages the load balancer of a Service whose copy was restored with its status [S11]", async () => {
  const h = await started();
  h.world.create("web", draft({ name: "shop" }));
  await h.settle();
  const { status } = h.world.get("web");
  h.world.create("copy", draft({ name: "shop", [idAnnotation]: idNamed(h, "shop") }));
  h.world.edit("copy", (service) => ({ ...service, status }), "status");
  await h.settle();
  h.addNode("more");
  await h.settle();
  h.world.delete("copy");
  await h.world.pass(600);
  expect(h.balancers().map(({ name, droplet_ids }) => [name, droplet_ids.length])).toEqual([["shop", 3]]);
});

test("keeps a load balancer that was created manually when the Service that names its id later is deleted [S11]", async () => {
  const h = await started();
  h.world.create("web", draft());
  await h.settle();
  const { id } = h.cloud.account.balancers.add("by-hand");
  await changeWhileStopped(h, () => {
    h.world.annotate("web", { [idAnnotation]: id });
    h.world.delete("web");
  });
  await h.world.pass(600);
  expect(namesIn(h)).toEqual(["by-hand"]);
  expect(h.world.find("web")).toBeUndefined();
});

test("keeps a load balancer that a deleted Service named but never adopted [S11]", async () => {
  const h = await started();
  const { id } = h.cloud.account.balancers.add("by-hand");
  h.world.create("web", draft({ [idAnnotation]: id, "sticky-sessions-type": "cookies" }));
  await h.settle();
  h.world.delete("web");
  await h.world.pass(600);
  expect(namesIn(h)).toEqual(["by-hand"]);
  expect(h.world.find("web")).toBeUndefined();
});

test("neither changes nor deletes a load balancer of type GLOBAL that a Service names [S11]", async () => {
  const h = await started();
  const { id } = h.cloud.account.balancers.add("world", { type: "GLOBAL" });
  const finalizers = ["service.kubernetes.io/load-balancer-cleanup"];
  h.world.create("web", { ...draft({ [idAnnotation]: id }), finalizers });
  await h.settle();
  expect(eventsOf(h)).toContain("is of type GLOBAL");
  h.world.delete("web");
  await h.world.pass(600);
  expect([namesIn(h), h.changes, h.world.find("web")]).toEqual([["world"], [], undefined]);
});

test("does not adopt by name a load balancer whose targets are chosen by a tag that no droplet has yet [S11]", async () => {
  const h = await started();
  const before = h.cloud.account.balancers.add("db", { tag: "db" });
  h.world.create("web", draft({ name: "db" }));
  await h.settle();
  expect(h.balancers()).toEqual([before]);
});

test("keeps the load balancer of a deleted Service while the annotation disown is invalid, and deletes it afterwards [F41]", async () => {
  const h = await started();
  h.world.create("web", draft());
  await h.settle();
  h.forget();
  h.world.annotate("web", { [disown]: "yes" });
  h.world.delete("web");
  await h.world.pass(600);
  expect([h.changes, h.balancers().length]).toEqual([[], 1]);
  expect(eventsOf(h)).toContain(`Deletion is on hold: ${disown} must be true or false, got "yes". The load`);
  h.world.annotate("web", { [disown]: undefined });
  await h.world.pass(60);
  expect([namesIn(h), h.world.find("web")]).toEqual([[], undefined]);
});

test("deletes a Service although copies of another Service have its id [S11]", async () => {
  const h = await started();
  h.world.create("web", draft());
  await h.settle();
  const [balancer] = h.balancers();
  for (let index = 0; index < 6; index += 1)
    h.world.create(`copy-${index}`, draft({ [idAnnotation]: balancer?.id ?? "" }));
  await h.settle();
  expect(h.balancers()).toHaveLength(7);
  h.world.delete("web");
  await h.settle();
  expect(h.world.find("web")).toBeUndefined();
  expect(h.balancers()).toHaveLength(6);
});

test("adopts a load balancer by id immediately, and reports no missing load balancer [F39]", async () => {
  const h = await started();
  const { id } = h.cloud.account.balancers.add("by-hand");
  h.world.create("web", draft({ [idAnnotation]: id }));
  await h.world.pass(20);
  expect(h.world.addressesOf("web")).toHaveLength(1);
  expect(eventsOf(h)).not.toContain("LoadBalancerMissing");
});

test("keeps settings that users change in the cloud after the listing on which a change of the Service is based", async () => {
  const h = await started();
  h.world.create("web", draft());
  await h.settle();
  const [balancer] = h.balancers();
  h.cloud.account.balancers.change(balancer?.id ?? "", { tls_cipher_policy: "STRONG" });
  h.world.annotate("web", { [`${prefix}size-unit`]: "2" });
  await h.settle();
  expect(h.balancers().map((each) => [each.size_unit, each.tls_cipher_policy])).toEqual([[2, "STRONG"]]);
});

test("deletes the load balancer with the address of a Service whose id was removed", async () => {
  const h = await started();
  h.world.create("web", draft({ name: "shop" }));
  await h.settle();
  await changeWhileStopped(h, () => {
    h.world.annotate("web", { [idAnnotation]: undefined });
    h.world.delete("web");
  });
  expect([namesIn(h), h.world.find("web")]).toEqual([[], undefined]);
});

test("stores the load balancer's id again when it was removed together with a rename", async () => {
  const h = await started();
  h.world.create("web", draft({ name: "shop" }));
  await h.settle();
  const id = idNamed(h, "shop");
  h.world.annotate("web", { [idAnnotation]: undefined, [`${prefix}name`]: "store" });
  await h.settle();
  expect(h.balancers().map((each) => [each.id, each.name])).toEqual([[id, "store"]]);
  expect(h.world.get("web").metadata.annotations?.[idAnnotation]).toBe(id);
});
