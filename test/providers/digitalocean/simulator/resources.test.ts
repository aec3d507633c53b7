// Droplets, certificates, tags, firewalls, VPCs, pages and rate limits of the simulated DigitalOcean.

import { expect, test } from "bun:test";
import { serveCloud } from "#ccm/testing";
import { seconds } from "../../../../src/core/brand.ts";
import { described, setUp } from "./ask.ts";

test("the simulator shows a droplet with its networks, size and region", async () => {
  const { account, ask } = setUp();
  const { id } = account.droplets.add("node-1", { ipv6: true, tags: ["k8s:prod"] });
  const { droplet } = (await ask(`/droplets/${id}`)).body;
  expect(droplet).toMatchObject({
    id,
    name: "node-1",
    status: "active",
    size_slug: "s-2vcpu-4gb",
    vcpus: 2,
    memory: 4096,
    region: { slug: "nyc3" },
    tags: ["k8s:prod"],
  });
  expect(droplet.networks.v4.map(({ type }: { type: string }) => type)).toEqual(["public", "private"]);
  expect(droplet.networks.v6).toHaveLength(1);
  expect((await ask("/droplets/7")).body).toMatchObject({ id: "not_found" });
});

test("the simulator starts a droplet after a delay, and switches it off", async () => {
  const { ask, clock } = setUp({ times: { boot: seconds(30) } });
  const { body, status } = await ask("/droplets", "POST", {
    name: "a",
    size: "s-1vcpu-2gb",
    image: "ubuntu",
  });
  expect([status, body.droplet.status, body.droplet.networks.v4]).toEqual([202, "new", []]);
  await clock.advance(seconds(30));
  const path = `/droplets/${body.droplet.id}`;
  expect((await ask(path)).body.droplet.status).toBe("active");
  expect((await ask(`${path}/actions`, "POST", { type: "power_off" })).status).toBe(201);
  expect((await ask(path)).body.droplet.status).toBe("off");
  expect((await ask(path, "DELETE")).status).toBe(204);
  expect((await ask(path)).status).toBe(404);
});

test("the simulator returns pages with links, and the total of what the query selects", async () => {
  const { account, ask } = setUp();
  for (let number = 0; number < 45; number++) account.droplets.add(`node-${number}`, { tags: ["web"] });
  account.droplets.add("other");
  const first = (await ask("/droplets?tag_name=web&per_page=20")).body;
  expect([first.droplets.length, first.meta.total]).toEqual([20, 45]);
  expect(first.links.pages).toEqual({
    next: "https://api.digitalocean.com/v2/droplets?tag_name=web&per_page=20&page=2",
    last: "https://api.digitalocean.com/v2/droplets?tag_name=web&per_page=20&page=3",
  });
  const last = (await ask("/droplets?tag_name=web&per_page=20&page=3")).body;
  expect([last.droplets.length, Object.keys(last.links.pages)]).toEqual([5, ["first", "prev"]]);
  expect((await ask("/droplets?per_page=500")).body).toMatchObject({ links: {}, meta: { total: 46 } });
  expect((await ask("/droplets?name=NODE-7")).body.droplets).toHaveLength(1);
});

test("the simulator renews a certificate under a different id, which load balancers show", async () => {
  const { account, ask, clock } = setUp();
  const sent = { name: "web", type: "lets_encrypt", dns_names: ["example.com"] };
  const { certificate } = (await ask("/certificates", "POST", sent)).body;
  expect(certificate.state).toBe("pending");
  await clock.advance(seconds(60));
  const rule = { entry_protocol: "https", entry_port: 443, target_protocol: "http", target_port: 80 };
  const forwarding_rules = [{ ...rule, certificate_id: certificate.id }];
  expect((await ask("/load_balancers", "POST", described("shop", { forwarding_rules }))).status).toBe(202);
  const inUse = await ask(`/certificates/${certificate.id}`, "DELETE");
  expect([inUse.status, inUse.body.message]).toEqual([
    403,
    "Make sure the certificate is not in use before deleting it",
  ]);
  const { id } = account.renew("web");
  expect(id).not.toBe(certificate.id);
  expect((await ask(`/certificates/${certificate.id}`)).status).toBe(404);
  expect((await ask("/certificates?name=web")).body.certificates).toMatchObject([{ id, state: "verified" }]);
  expect((await ask("/load_balancers")).body.load_balancers[0].forwarding_rules[0].certificate_id).toBe(id);
});

test("the simulator tags droplets and load balancers", async () => {
  const { account, ask } = setUp();
  const droplet = account.droplets.add("node-1");
  const balancer = account.balancers.add("shop");
  const resources = [
    { resource_id: String(droplet.id), resource_type: "droplet" },
    { resource_id: balancer.id, resource_type: "load_balancer" },
  ];
  expect((await ask("/tags/k8s:prod/resources", "POST", { resources })).status).toBe(404);
  expect((await ask("/tags", "POST", { name: "k8s:prod" })).status).toBe(201);
  expect((await ask("/tags/k8s:prod/resources", "POST", { resources })).status).toBe(204);
  expect(account.droplets.existing("node-1").tags).toEqual(["k8s:prod"]);
  expect((await ask("/tags/k8s:prod")).body.tag.resources).toMatchObject({
    count: 2,
    droplets: { count: 1 },
  });
  await ask("/tags/k8s:prod/resources", "DELETE", { resources: resources.slice(0, 1) });
  expect(account.droplets.existing("node-1").tags).toEqual([]);
  expect((await ask("/tags/k8s:prod", "DELETE")).status).toBe(204);
  expect(account.balancers.existing("shop").tags).toEqual([]);
});

test("the simulator stores firewalls with their rules, droplets and tags", async () => {
  const { account, ask } = setUp();
  const { id: droplet } = account.droplets.add("node-1");
  const inbound_rules = [{ protocol: "tcp", ports: "80", sources: { addresses: ["0.0.0.0/0"] } }];
  const outbound_rules = [{ protocol: "tcp", ports: "all", destinations: { addresses: ["0.0.0.0/0"] } }];
  const create = (changes: object) =>
    ask("/firewalls", "POST", { name: "workers", inbound_rules, ...changes });
  expect((await create({ inbound_rules: [] })).status).toBe(422);
  expect((await create({ tags: ["unknown"] })).status).toBe(422);
  const { firewall } = (await create({ outbound_rules })).body;
  expect(firewall.outbound_rules[0].ports).toBe("0");
  expect((await create({})).body).toMatchObject({ id: "conflict", message: "duplicate name" });
  const path = `/firewalls/${firewall.id}`;
  expect((await ask(`${path}/droplets`, "POST", { droplet_ids: [droplet] })).status).toBe(204);
  expect((await ask(`${path}/rules`, "DELETE", { outbound_rules })).status).toBe(204);
  expect((await ask(path)).body.firewall).toMatchObject({ droplet_ids: [droplet], outbound_rules: [] });
  expect((await ask(path, "PUT", { name: "all", inbound_rules })).body.firewall.droplet_ids).toEqual([]);
  expect((await ask(path, "DELETE")).status).toBe(204);
});

test("the simulator stores VPCs with their members", async () => {
  const { account, ask } = setUp();
  const { vpc } = (await ask("/vpcs", "POST", { name: "prod", region: "nyc3" })).body;
  account.droplets.add("node-1", { vpc_uuid: vpc.id });
  expect((await ask(`/vpcs/${vpc.id}/members`)).body.members).toMatchObject([{ name: "node-1" }]);
  expect((await ask(`/vpcs/${vpc.id}`, "DELETE")).status).toBe(403);
  account.droplets.remove("node-1");
  expect((await ask(`/vpcs/${vpc.id}`, "DELETE")).status).toBe(204);
  expect((await ask("/regions")).body.meta.total).toBe(4);
  expect((await ask("/account")).body.account.status).toBe("active");
});

test("the simulator rejects more than 250 requests in a minute, and more than 5,000 in an hour", async () => {
  const { ask, clock, cloud } = setUp();
  for (let count = 0; count < 250; count++) expect((await ask("/account")).status).toBe(200);
  const refused = await ask("/account");
  expect([refused.status, refused.body.id, refused.headers.get("retry-after")]).toEqual([
    ...[429, "too_many_requests", "1"],
  ]);
  expect(refused.headers.get("ratelimit-limit")).toBe("5000");
  await clock.advance(seconds(60));
  expect((await ask("/account")).status).toBe(200);
  cloud.hourly.drain();
  const spent = await ask("/account");
  expect([spent.status, spent.headers.get("ratelimit-remaining"), spent.headers.get("retry-after")]).toEqual([
    ...[429, "0", null],
  ]);
});

test("the simulator rejects an unknown token, and a change with a read-only token", async () => {
  const { ask, cloud } = setUp();
  cloud.tokens.add("known");
  cloud.tokens.add("viewer", "read");
  expect((await ask("/account", "GET", undefined, "other")).body).toMatchObject({ id: "unauthorized" });
  expect((await ask("/account", "GET", undefined, "viewer")).status).toBe(200);
  expect((await ask("/tags", "POST", { name: "a" }, "viewer")).body).toMatchObject({ id: "forbidden" });
  cloud.tokens.revoke("known");
  expect((await ask("/account", "GET", undefined, "known")).status).toBe(401);
});

test("the simulator lets other processes add and revoke tokens", async () => {
  const { cloud } = setUp();
  cloud.tokens.add("first");
  await using served = serveCloud(cloud, 0);
  const statusOf = async (path: string, method = "GET", token = "") =>
    (await fetch(served.url + path, { method, headers: { authorization: `Bearer ${token}` } })).status;
  expect(await statusOf("/simulator/tokens/second", "PUT")).toBe(204);
  expect(await statusOf("/simulator/tokens/first", "DELETE")).toBe(204);
  expect(await statusOf("/simulator/tokens/", "DELETE")).toBe(400);
  expect(await statusOf("/v2/account", "GET", "first")).toBe(401);
  expect(await statusOf("/v2/account", "GET", "second")).toBe(200);
});

test("the simulator injects faults, hides a droplet, and shows an older state", async () => {
  const { account, ask, clock, cloud } = setUp();
  cloud.faults.add({ kind: "status", status: 500, operation: "GET /v2/droplets" });
  expect((await ask("/droplets")).body).toMatchObject({ id: "server_error", message: "injected fault" });
  const { id } = account.droplets.add("node-1");
  cloud.faults.hide({ resource: "node-1", from: "listings", milliseconds: 1000 });
  expect((await ask("/droplets")).body.droplets).toEqual([]);
  expect((await ask(`/droplets/${id}`)).status).toBe(200);
  await clock.advance(seconds(1));
  cloud.faults.add({ kind: "short-page" });
  expect((await ask("/droplets")).body).toMatchObject({ droplets: [], meta: { total: 1 } });
  account.droplets.lag = seconds(5);
  account.droplets.add("node-2");
  expect((await ask("/droplets")).body.droplets).toHaveLength(1);
  await clock.advance(seconds(5));
  expect((await ask("/droplets")).body.droplets).toHaveLength(2);
  expect(cloud.counts()).toEqual({ "GET /v2/droplets": 5, "GET /v2/droplets/{id}": 1 });
});
