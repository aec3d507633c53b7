// Listings of the simulated Rancher: pages, filters, order and links.

import { expect, test } from "bun:test";
import { seconds } from "../../../../src/core/brand.ts";
import { setUp } from "./ask.ts";

const namesOf = (body: {
  readonly data: readonly { readonly hostname?: string; readonly name?: string }[];
}) => body.data.map(({ hostname, name }) => hostname ?? name);

test("the simulator lists 250 hosts in three pages of 100, and links to the next page", async () => {
  const { environment, get } = setUp();
  for (let index = 0; index < 250; index += 1) environment.hosts.add(`node-${index}`);
  const sizes: number[] = [];
  let next: string | null = "/hosts";
  while (next !== null) {
    const { body }: Awaited<ReturnType<typeof get>> = await get(next);
    sizes.push(body.data.length);
    expect([body.pagination.limit, body.pagination.partial]).toEqual([100, sizes.length < 3]);
    next = body.pagination.next;
  }
  expect(sizes).toEqual([100, 100, 50]);
});

test.each([
  ["limit=2", 2],
  ["limit=0", 4],
  ["limit=-1", 4],
  ["limit=9", 4],
  ["limit=many", 4],
  ["marker=m3", 4],
  ["marker=other", 4],
])("a listing page with %s has at most %i hosts", async (query, limit) => {
  const { environment, get } = setUp({ maxLimit: 4 });
  for (let index = 0; index < 9; index += 1) environment.hosts.add(`node-${index}`);
  const { body } = await get(`/hosts?${query}`);
  expect([body.data.length, body.pagination.limit]).toEqual([limit, limit]);
});

test.each([
  ["name=WEB", ["web"]],
  ["name_eq=web", ["web"]],
  ["name_ne=web", ["db", "web-2"]],
  ["name_prefix=web", ["web", "web-2"]],
  ["name_like=%25b", ["web", "db"]],
  ["name_notlike=web%25", ["db"]],
  ["id_gt=1", ["db", "web-2"]],
  ["id_lte=2", ["web", "db"]],
  // The server treats an id as a number.
  ["id=1s2", []],
  ["state=inactive", []],
  ["removed_null=1&name=db", ["db"]],
  ["removed_notnull=1", []],
  // Neither these fields nor this modifier can be filtered.
  ["scale=7", ["web", "db", "web-2"]],
  ["external_id=x", ["web", "db", "web-2"]],
  ["name_is=x", ["web", "db", "web-2"]],
  ["sort=name", ["db", "web", "web-2"]],
  ["sort=name&order=desc", ["web-2", "web", "db"]],
  ["sort=scale&order=desc", ["web", "db", "web-2"]],
])("the simulator applies %s to external services", async (query, names) => {
  const { createExternal, get, pass } = setUp();
  for (const name of ["web", "db", "web-2"]) await createExternal(name, { startOnCreate: true });
  await pass(seconds(5));
  const { body } = await get(`/externalServices?${query}`);
  expect(namesOf(body)).toEqual(names);
});

test("the simulator reports which filters and order it applied, and which types can be created", async () => {
  const { get } = setUp();
  const { body } = await get("/stacks?name=lbs&sort=name");
  expect(body).toMatchObject({
    type: "collection",
    resourceType: "stack",
    filters: { name: [{ modifier: "eq", value: "lbs" }], state: null },
    sort: { name: "name", order: "asc" },
    createTypes: { stack: "http://rancher.example:8080/v2-beta/stacks" },
    data: [{ name: "lbs", type: "stack", state: "active" }],
  });
});

test("the simulator expands only links that can be included, and counts joined rows", async () => {
  const { environment, get } = setUp();
  environment.hosts.add("node-0", { ips: ["192.0.2.1", "192.0.2.2"] });
  environment.hosts.add("node-1");
  const first = await get("/hosts?include=ipAddresses&limit=1");
  const second = await get(first.body.pagination.next);
  expect([first, second].map(({ body }) => namesOf(body))).toEqual([["node-0"], ["node-0"]]);
  expect(second.body.data[0].ipAddresses).toMatchObject([{ address: "192.0.2.2", type: "ipAddress" }]);
  const other = await get("/hosts?include=instances&include=ipAddresses");
  expect([other.body.data.length, other.body.data[0].ipAddresses]).toEqual([2, undefined]);
});

test("the simulator lists the services at both ends of a link", async () => {
  const { createBalancer, createExternal, get } = setUp();
  const external = await createExternal("node-0");
  const portRules = [{ sourcePort: 80, targetPort: 30_080, protocol: "tcp", serviceId: external.id }];
  const balancer = await createBalancer("lb-a", undefined, { lbConfig: { portRules } });
  const consumed = await get(balancer.links.consumedservices);
  const consumers = await get(external.links.consumedbyservices);
  expect([namesOf(consumed.body), namesOf(consumers.body)]).toEqual([["node-0"], ["lb-a"]]);
  expect(namesOf((await get("/services")).body)).toEqual(["node-0", "lb-a"]);
  expect((await get(`/services/${external.id}`)).body).toMatchObject({
    type: "externalService",
    name: "node-0",
  });
});

test("the simulator shows the state of a lost agent as the state of the host", async () => {
  const { environment, get } = setUp();
  environment.hosts.add("node-0");
  environment.hosts.disconnect("node-0");
  expect((await get("/hosts")).body.data).toMatchObject([
    { state: "disconnected", agentState: "disconnected" },
  ]);
  environment.hosts.reconnect("node-0");
  expect((await get("/hosts")).body.data).toMatchObject([{ state: "active" }]);
});
