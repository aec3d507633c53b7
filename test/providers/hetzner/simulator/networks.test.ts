// Networks of the simulated Hetzner Cloud: subnets, routes, addresses, and the resources attached to them.

import { expect, test } from "bun:test";
import { milliseconds, seconds } from "../../../../src/core/brand.ts";
import { setUp } from "./ask.ts";

const immediate = { actionTime: milliseconds(0) };

function withNetwork() {
  const world = setUp(immediate);
  const { id } = world.project.networks.add("net");
  const act = (action: string, body: unknown) => world.ask(`/networks/${id}/actions/${action}`, "POST", body);
  const show = async () => (await world.ask(`/networks/${id}`)).body.network;
  const addRoute = (destination: string, gateway = "10.0.0.2") => act("add_route", { destination, gateway });
  return { ...world, id, act, show, addRoute };
}

test("the simulator creates a network, and gives a subnet the first free range", async () => {
  const { ask } = setUp(immediate);
  const { body } = await ask("/networks", "POST", {
    name: "net",
    ip_range: "10.0.0.0/16",
    subnets: [{ type: "cloud", network_zone: "eu-central", ip_range: "10.0.0.0/24" }],
  });
  const { id, subnets } = body.network;
  expect(subnets[0]).toEqual({
    type: "cloud",
    network_zone: "eu-central",
    ip_range: "10.0.0.0/24",
    gateway: "10.0.0.1",
    vswitch_id: null,
  });
  await ask(`/networks/${id}/actions/add_subnet`, "POST", { type: "cloud", network_zone: "us-east" });
  const shown = (await ask(`/networks/${id}`)).body.network;
  expect(shown.subnets[1]).toMatchObject({ ip_range: "10.0.1.0/24", network_zone: "us-east" });
  expect((await ask("/networks", "POST", { name: "net", ip_range: "10.0.0.0/16" })).code).toBe(
    "uniqueness_error",
  );
});

test.each([
  ["a public range", { name: "a", ip_range: "8.8.0.0/16" }, "ip_range"],
  ["host bits", { name: "a", ip_range: "10.0.0.1/16" }, "ip_range"],
  ["a small range", { name: "a", ip_range: "10.0.0.0/25" }, "ip_range"],
  ["no name", { ip_range: "10.0.0.0/16" }, "name"],
  ["invalid labels", { name: "a", ip_range: "10.0.0.0/16", labels: { a: "ü" } }, "labels"],
])("the simulator rejects a network with %s", async (_, body, field) => {
  const { ask } = setUp();
  const answer = await ask("/networks", "POST", body);
  expect([answer.status, answer.body.error.details.fields[0].name]).toEqual([422, field]);
});

test("the simulator adds and deletes routes by destination and gateway", async () => {
  const { act, addRoute, show } = withNetwork();
  expect((await addRoute("10.244.0.0/24")).body.action.command).toBe("add_route");
  expect((await addRoute("0.0.0.0/0")).status).toBe(201);
  expect((await addRoute("10.244.1.0/24", "10.0.0.3")).status).toBe(201);
  const other = { destination: "10.244.0.0/24", gateway: "10.0.0.9" };
  expect((await act("delete_route", other)).code).toBe("not_found");
  expect((await act("delete_route", { ...other, gateway: "10.0.0.2" })).status).toBe(201);
  expect((await show()).routes).toEqual([
    { destination: "0.0.0.0/0", gateway: "10.0.0.2" },
    { destination: "10.244.1.0/24", gateway: "10.0.0.3" },
  ]);
});

test.each([
  ["a public destination", "8.8.8.0/24", "10.0.0.2", "destination"],
  ["host bits", "10.244.0.1/24", "10.0.0.2", "destination"],
  ["IPv6", "fd00::/64", "10.0.0.2", "destination"],
  ["a destination inside a subnet", "10.0.5.0/24", "10.0.0.2", "destination"],
  ["a destination that overlaps", "10.244.0.0/16", "10.0.0.2", "destination"],
  ["a gateway outside the network", "10.244.1.0/24", "192.168.0.1", "gateway"],
  ["the network's own gateway", "10.244.1.0/24", "10.0.0.1", "gateway"],
])("the simulator rejects a route with %s", async (_, destination, gateway, field) => {
  const { addRoute } = withNetwork();
  await addRoute("10.244.0.0/24");
  const { body, code } = await addRoute(destination, gateway);
  expect([code, body.error.details.fields[0].name]).toEqual(["invalid_input", field]);
});

test("the simulator limits a network to 100 routes", async () => {
  const { addRoute, show } = withNetwork();
  for (let index = 0; index < 100; index++) expect((await addRoute(`10.244.${index}.0/24`)).status).toBe(201);
  const more = await addRoute("10.244.100.0/24");
  expect([more.status, more.code]).toEqual([403, "resource_limit_exceeded"]);
  expect((await show()).routes).toHaveLength(100);
});

test("the simulator keeps a route when its gateway server is deleted, and gives the address to the next server", async () => {
  const { addRoute, id, project, show } = withNetwork();
  const [net] = project.servers.add("a", { networks: [{ network: id }] }).privateNets;
  await addRoute("10.244.0.0/24", net?.ip);
  project.servers.remove("a");
  expect((await show()).routes).toEqual([{ destination: "10.244.0.0/24", gateway: net?.ip }]);
  expect(project.servers.add("b", { networks: [{ network: id, ip: net?.ip ?? "" }] }).privateNets).toEqual([
    { network: id, ip: net?.ip ?? "", aliasIps: [] },
  ]);
});

test("the simulator lists the servers and load balancers of a network, and detaches them when it is deleted", async () => {
  const { ask, id, project, show } = withNetwork();
  const { id: server } = project.servers.add("a", { networks: [{ network: id }] });
  const created = await ask("/load_balancers", "POST", {
    name: "lb",
    load_balancer_type: "lb11",
    location: "fsn1",
    network: id,
  });
  const balancer = created.body.load_balancer.id;
  expect(await show()).toMatchObject({ servers: [server], load_balancers: [balancer] });
  expect((await ask(`/networks/${id}`, "DELETE")).status).toBe(204);
  expect(project.servers.existing(server).privateNets).toEqual([]);
  expect(project.balancers.existing(balancer).privateNets).toEqual([]);
});

test("the simulator gives addresses only in subnets of the server's network zone", async () => {
  const { ask, id, project } = withNetwork();
  const { id: server } = project.servers.add("a", { location: "ash" });
  const attach = () => ask(`/servers/${server}/actions/attach_to_network`, "POST", { network: id });
  expect((await attach()).code).toBe("no_subnet_available");
});

test("the simulator reserves the address of a server while the server is being attached", async () => {
  const { ask, clock, project } = setUp({ actionTime: seconds(1) });
  const { id } = project.networks.add("net");
  const { id: server } = project.servers.add("a");
  await ask(`/servers/${server}/actions/attach_to_network`, "POST", { network: id });
  const shown = async () => (await ask(`/servers/${server}`)).body.server.private_net;
  expect([project.networks.members(id, "server"), await shown()]).toEqual([[server], []]);
  await clock.advance(seconds(1));
  expect(await shown()).toMatchObject([{ network: id, ip: "10.0.0.2" }]);
});
