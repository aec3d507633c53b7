// Load balancers of the simulated DigitalOcean: their life, what a replacement resets, and which requests are rejected.

import { expect, test } from "bun:test";
import { milliseconds, seconds } from "../../../../src/core/brand.ts";
import { described, setUp } from "./ask.ts";

const path = "/load_balancers";

test("the simulator shows a new load balancer without an address for a minute", async () => {
  const { ask, clock } = setUp();
  const { status, body } = await ask(path, "POST", described("shop"));
  expect([status, body.load_balancer.status, body.load_balancer.ip]).toEqual([202, "new", ""]);
  const { id } = body.load_balancer;
  await clock.advance(seconds(59));
  expect((await ask(`${path}/${id}`)).body.load_balancer.status).toBe("new");
  await clock.advance(seconds(1));
  const active = (await ask(`${path}/${id}`)).body.load_balancer;
  expect([active.status, active.region.slug]).toEqual(["active", "nyc3"]);
  expect(active.ip).toMatch(/^198\.19\./);
});

test("the simulator rejects a change of a load balancer while it processes the previous change", async () => {
  const { account, ask, clock } = setUp();
  const { id } = account.balancers.add("shop");
  const put = () => ask(`${path}/${id}`, "PUT", described("shop"));
  expect((await put()).status).toBe(200);
  expect(await put()).toMatchObject({
    status: 403,
    body: { id: "forbidden", message: "Load Balancer can't be updated while it processes previous actions" },
  });
  await clock.advance(seconds(2));
  expect((await put()).status).toBe(200);
});

test("the simulator resets the fields that a replacement of a load balancer lacks, and keeps tags and VPC", async () => {
  const { account, ask } = setUp();
  const { id } = account.balancers.add("shop", {
    tags: ["k8s:prod"],
    vpc_uuid: "vpc",
    enable_proxy_protocol: true,
    size_unit: 3,
  });
  await ask(`${path}/${id}`, "PUT", described("blog"));
  expect((await ask(`${path}/${id}`)).body.load_balancer).toMatchObject({
    name: "blog",
    tags: ["k8s:prod"],
    vpc_uuid: "vpc",
    enable_proxy_protocol: false,
    size_unit: 1,
    health_check: { protocol: "http", port: 80, path: "/", check_interval_seconds: 10 },
  });
});

test("the simulator shows the largest size slug that the size of a load balancer reaches", async () => {
  const { ask } = setUp();
  const slugOf = async (name: string, changes: object) =>
    (await ask(path, "POST", described(name, changes))).body.load_balancer.size;
  expect(await slugOf("default", {})).toBe("lb-small");
  expect(await slugOf("two", { size_unit: 2 })).toBe("lb-small");
  expect(await slugOf("four", { size_unit: 4 })).toBe("lb-medium");
  expect(await slugOf("slug", { size: "lb-large" })).toBe("lb-large");
});

test("the simulator adds droplets and forwarding rules to a load balancer, and removes them", async () => {
  const { account, ask } = setUp({ times: { change: milliseconds(0) } });
  const [one, two] = [account.droplets.add("one"), account.droplets.add("two")];
  const { id } = (await ask(path, "POST", described("shop", { droplet_ids: [one.id] }))).body.load_balancer;
  account.balancers.change(id, { status: "active" });
  const rules = [{ entry_protocol: "tcp", entry_port: 25, target_protocol: "tcp", target_port: 30_025 }];
  const sent = async (method: string, part: string, body: unknown) =>
    (await ask(`${path}/${id}/${part}`, method, body)).status;
  expect(await sent("POST", "droplets", { droplet_ids: [two.id] })).toBe(204);
  expect(await sent("DELETE", "droplets", { droplet_ids: [one.id] })).toBe(204);
  expect(await sent("POST", "forwarding_rules", { forwarding_rules: rules })).toBe(204);
  const after = account.balancers.existing("shop");
  expect(after.droplet_ids).toEqual([two.id]);
  expect(after.forwarding_rules.map(({ entry_port }) => entry_port)).toEqual([80, 25]);
  expect(await sent("DELETE", "forwarding_rules", { forwarding_rules: rules })).toBe(204);
  expect(account.balancers.existing("shop").forwarding_rules).toHaveLength(1);
});

test("the simulator uses droplets with the tag of a load balancer as its targets", async () => {
  const { account, ask } = setUp();
  const { id } = account.droplets.add("one", { tags: ["web"] });
  account.droplets.add("two");
  await ask(path, "POST", described("shop", { tag: "web" }));
  expect((await ask(path)).body.load_balancers[0].droplet_ids).toEqual([id]);
});

const https = { entry_protocol: "https", entry_port: 443, target_protocol: "http", target_port: 30_443 };
const tcp = { entry_protocol: "tcp", entry_port: 80, target_protocol: "tcp", target_port: 30_080 };

test.each([
  ["without a name", { name: undefined }, "name is required"],
  ["with a name that is taken", { name: "taken" }, "name is not unique"],
  ["in an invalid region", { region: "mars1" }, "region is invalid"],
  ["without rules", { forwarding_rules: [] }, "forwarding_rules must have at least one entry"],
  ["with HTTPS without a certificate", { forwarding_rules: [https] }, "certificate_id"],
  ["with two rules for a port", { forwarding_rules: [tcp, tcp] }, "different entry ports"],
  [
    "of the network type with a different port",
    { type: "REGIONAL_NETWORK", forwarding_rules: [tcp] },
    "differ",
  ],
  ["with an unknown droplet", { droplet_ids: [7] }, "droplet 7 is not in region nyc3"],
  ["with droplets and a tag", { droplet_ids: [7], tag: "web" }, "mutually exclusive"],
  ["with cookies without a name", { sticky_sessions: { type: "cookies" } }, "cookie_name"],
  ["with an invalid firewall rule", { firewall: { allow: ["10.0.0.0/8"] } }, "firewall rule 10.0.0.0/8"],
  ["with a short health check", { health_check: { check_interval_seconds: 1 } }, "between 3 and 300"],
  ["with a misspelled field", { heath_check: {} }, "heath_check is not a field"],
] as const)("the simulator rejects a load balancer %s", async (_, changes, message) => {
  const { account, ask } = setUp();
  account.balancers.add("taken");
  const { status, body } = await ask(path, "POST", described("shop", changes));
  expect([status, body.id]).toEqual([422, "unprocessable_entity"]);
  expect(body.message).toContain(message);
  expect(body.request_id).toBeString();
  expect(account.balancers.list()).toHaveLength(1);
});

test.each([
  { type: "REGIONAL_NETWORK" },
  { network: "INTERNAL" },
  { network_stack: "DUALSTACK" },
  { region: "fra1" },
])("the simulator rejects the change %p of a load balancer", async (change) => {
  const { account, ask } = setUp();
  const { id } = account.balancers.add("shop");
  const changed = await ask(`${path}/${id}`, "PUT", described("shop", change));
  expect(changed.status).toBe(422);
  expect(changed.body.message).toContain("cannot be updated");
});

test("the simulator only validates a load balancer with validate_only", async () => {
  const { account, ask } = setUp();
  const validated = (changes: object) =>
    ask(path, "POST", described("shop", { validate_only: true, ...changes }));
  expect((await validated({})).status).toBe(204);
  expect((await validated({ region: "mars1" })).status).toBe(422);
  expect(account.balancers.list()).toEqual([]);
});
