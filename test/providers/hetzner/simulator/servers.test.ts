// Servers of the simulated Hetzner Cloud: what tests and clients do to them, and what the API shows.

import { expect, test } from "bun:test";
import { milliseconds, seconds } from "../../../../src/core/brand.ts";
import { setUp } from "./ask.ts";

const spec = { name: "a", server_type: "cx23", image: "debian-12" };

test("the simulator shows servers without public addresses, and never a datacenter", async () => {
  const { ask, project } = setUp();
  const { id: network } = project.networks.add("net");
  const { id } = project.servers.add("a", { ipv4: false, ipv6: false, networks: [{ network }] });
  const { server } = (await ask(`/servers/${id}`)).body;
  expect([server.public_net.ipv4, server.public_net.ipv6, "datacenter" in server]).toEqual([
    null,
    null,
    false,
  ]);
  expect(server).toMatchObject({
    name: "a",
    status: "running",
    private_net: [{ network, ip: "10.0.0.2", alias_ips: [] }],
    server_type: { name: "cx23" },
    location: { name: "fsn1", network_zone: "eu-central" },
  });
});

test("the simulator creates servers that run when their action ends", async () => {
  const { ask, clock } = setUp();
  const { body } = await ask("/servers", "POST", { ...spec, location: "hel1", labels: { a: "b" } });
  expect(body.server).toMatchObject({
    status: "initializing",
    location: { name: "hel1" },
    labels: { a: "b" },
  });
  await clock.advance(seconds(1));
  expect((await ask(`/servers/${body.server.id}`)).body.server.status).toBe("running");
  expect((await ask("/servers", "POST", spec)).code).toBe("uniqueness_error");
});

test("the simulator reports every invalid field of a new server", async () => {
  const { ask } = setUp();
  const { body } = await ask("/servers", "POST", { name: "no host", server_type: "x", location: "y" });
  expect(body.error.details.fields.map(({ name }: { readonly name: string }) => name)).toEqual([
    ...["name", "server_type", "image", "location"],
  ]);
});

test("the simulator replaces a server by a server with the same name and a different id", async () => {
  const { ask, project } = setUp();
  const { id: network } = project.networks.add("net");
  const before = project.servers.add("a", { labels: { a: "b" }, networks: [{ network }] });
  const after = project.servers.rebuild("a");
  expect(after).toMatchObject({ name: "a", labels: { a: "b" }, status: "running" });
  expect([after.id === before.id, after.ipv4 === before.ipv4]).toEqual([false, false]);
  expect((await ask(`/servers/${before.id}`)).code).toBe("not_found");
  expect((await ask("/servers?name=a")).body.servers[0].id).toBe(after.id);
});

test("the simulator deletes a server immediately", async () => {
  const { ask, project } = setUp({ actionTime: milliseconds(0) });
  const { id } = project.servers.add("a");
  expect((await ask(`/servers/${id}`, "DELETE")).body.action.command).toBe("delete_server");
  expect((await ask(`/servers/${id}`)).code).toBe("not_found");
});

test("the simulator attaches and detaches a server over the API, and frees its address", async () => {
  const { ask, project } = setUp({ actionTime: milliseconds(0) });
  const { id: network } = project.networks.add("net");
  const { id } = project.servers.add("a");
  const act = (action: string, body: unknown) => ask(`/servers/${id}/actions/${action}`, "POST", body);
  const attached = await act("attach_to_network", { network, ip: "10.0.0.5", alias_ips: ["10.0.0.6"] });
  expect(attached.body.action.resources).toEqual([
    { type: "server", id },
    { type: "network", id: network },
  ]);
  expect((await act("attach_to_network", { network })).code).toBe("server_already_attached");
  expect((await act("change_alias_ips", { network, alias_ips: [] })).status).toBe(201);
  expect(project.servers.existing("a").privateNets).toEqual([{ network, ip: "10.0.0.5", aliasIps: [] }]);
  project.servers.add("b", { networks: [{ network, ip: "10.0.0.6" }] });
  expect((await act("detach_from_network", { network })).status).toBe(201);
  expect((await act("detach_from_network", { network })).code).toBe("not_found");
  project.servers.add("c", { networks: [{ network, ip: "10.0.0.5" }] });
});
