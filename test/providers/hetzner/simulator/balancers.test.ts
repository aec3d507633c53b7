// Load balancers of the simulated Hetzner Cloud: creation, services, targets, networks and limits.

import { expect, test } from "bun:test";
import { milliseconds, seconds } from "../../../../src/core/brand.ts";
import { setUp } from "./ask.ts";

const immediate = { actionTime: milliseconds(0) };
const service = { protocol: "tcp", listen_port: 80, destination_port: 30080, proxyprotocol: false };
const spec = { name: "lb", load_balancer_type: "lb11", location: "fsn1" };

function withBalancer() {
  const world = setUp(immediate);
  const { id } = world.project.balancers.add("lb");
  const act = (action: string, body?: unknown) =>
    world.ask(`/load_balancers/${id}/actions/${action}`, "POST", body);
  const show = async () => (await world.ask(`/load_balancers/${id}`)).body.load_balancer;
  const addTarget = (server: number, use_private_ip = false) =>
    act("add_target", { type: "server", server: { id: server }, use_private_ip });
  return { ...world, id, act, show, addTarget };
}

test("the simulator creates a load balancer with services, targets and network, and adds addresses with the action", async () => {
  const { ask, clock, project } = setUp();
  const { id: network } = project.networks.add("net");
  const { id: server } = project.servers.add("a", { networks: [{ network }] });
  const created = await ask("/load_balancers", "POST", {
    ...spec,
    network,
    labels: { a: "b" },
    services: [service],
    targets: [{ type: "server", server: { id: server }, use_private_ip: true }],
  });
  expect(created.status).toBe(201);
  const { load_balancer, action } = created.body;
  expect(load_balancer.public_net.ipv4.ip).toBeNull();
  expect(action.command).toBe("create_load_balancer");
  await clock.advance(seconds(1));
  const shown = (await ask(`/load_balancers/${load_balancer.id}`)).body.load_balancer;
  expect(shown).toMatchObject({
    name: "lb",
    labels: { a: "b" },
    private_net: [{ network, ip: "10.0.0.3" }],
    public_net: { enabled: true, ipv4: { ip: "198.19.0.1" }, ipv6: { ip: "2001:db8:1:1::1" } },
    services: [{ ...service, health_check: { protocol: "tcp", port: 30080, interval: 15 } }],
  });
  expect(shown.targets).toEqual([
    {
      type: "server",
      server: { id: server },
      use_private_ip: true,
      health_status: [{ listen_port: 80, status: "healthy" }],
    },
  ]);
});

test("the simulator accepts the id of a type as a number, which the Go client sends [N26]", async () => {
  const { ask } = setUp(immediate);
  const created = await ask("/load_balancers", "POST", { ...spec, load_balancer_type: 2 });
  expect(created.body.load_balancer.load_balancer_type.name).toBe("lb21");
  const { id } = created.body.load_balancer;
  await ask(`/load_balancers/${id}/actions/change_type`, "POST", { load_balancer_type: 1 });
  const shown = await ask(`/load_balancers/${id}`);
  expect(shown.body.load_balancer.load_balancer_type.name).toBe("lb11");
  const unknown = await ask("/load_balancers", "POST", { ...spec, load_balancer_type: 99 });
  expect([unknown.status, unknown.code]).toEqual([422, "invalid_input"]);
});

test("the simulator rejects a second load balancer with the same name, and changes name and labels", async () => {
  const { ask } = setUp(immediate);
  const { id } = (await ask("/load_balancers", "POST", spec)).body.load_balancer;
  const second = await ask("/load_balancers", "POST", spec);
  expect([second.status, second.code]).toEqual([409, "uniqueness_error"]);
  const changed = await ask(`/load_balancers/${id}`, "PUT", { name: "other", labels: { a: "" } });
  expect(changed.body.load_balancer).toMatchObject({ name: "other", labels: { a: "" } });
});

test("the simulator reports every invalid field of a request", async () => {
  const { ask, project } = setUp();
  const { status, body } = await ask("/load_balancers", "POST", {
    load_balancer_type: "lb99",
    location: "fsn1",
    network_zone: "eu-central",
    labels: { "-": "x" },
    services: [{ ...service, listen_port: 0 }],
  });
  expect([status, body.error.code]).toEqual([422, "invalid_input"]);
  expect(body.error.details.fields.map(({ name }: { readonly name: string }) => name)).toEqual([
    ...["name", "load_balancer_type", "location", "labels", "services.0.listen_port"],
  ]);
  expect(project.balancers.list()).toEqual([]);
});

test("the simulator adds, updates and deletes services", async () => {
  const { act, show } = withBalancer();
  await act("add_service", service);
  expect((await act("add_service", service)).code).toBe("source_port_already_used");
  await act("update_service", { listen_port: 80, proxyprotocol: true, health_check: { retries: 5 } });
  expect((await show()).services).toEqual([
    {
      ...service,
      proxyprotocol: true,
      health_check: { protocol: "tcp", port: 30080, interval: 15, timeout: 10, retries: 5 },
    },
  ]);
  expect((await act("update_service", { listen_port: 81 })).code).toBe("not_found");
  await act("delete_service", { listen_port: 80 });
  expect((await show()).services).toEqual([]);
  expect((await act("delete_service", { listen_port: 80 })).code).toBe("not_found");
});

test("the simulator fills in the defaults of http services, and reserves port 80 for a redirect", async () => {
  const { act, show, project } = withBalancer();
  const { id } = project.certificates.add("cert");
  const https = { protocol: "https", http: { certificates: [id], redirect_http: true } };
  expect((await act("add_service", https)).status).toBe(201);
  expect((await show()).services[0]).toMatchObject({
    listen_port: 443,
    destination_port: 80,
    proxyprotocol: false,
    http: { cookie_name: "HCLBSTICKY", cookie_lifetime: 300, sticky_sessions: false, certificates: [id] },
    health_check: { protocol: "http", port: 80, http: { path: "/", status_codes: ["2??", "3??"] } },
  });
  expect((await act("add_service", service)).code).toBe("source_port_already_used");
  const other = { ...https, listen_port: 8443, http: { certificates: [id + 100] } };
  expect((await act("add_service", other)).code).toBe("not_found");
});

test("the simulator limits the services and targets of a load balancer by its type", async () => {
  const { act, addTarget, project } = withBalancer();
  for (let port = 1; port <= 5; port++)
    expect((await act("add_service", { ...service, listen_port: port })).status).toBe(201);
  const more = await act("add_service", { ...service, listen_port: 6 });
  expect([more.status, more.code]).toEqual([403, "resource_limit_exceeded"]);
  const servers = Array.from({ length: 26 }, (_, index) => project.servers.add(`node-${index}`).id);
  const codes = [];
  for (const server of servers) codes.push((await addTarget(server)).code);
  expect(codes.filter((code) => code !== undefined)).toEqual(["resource_limit_exceeded"]);
  expect((await act("change_type", { load_balancer_type: "lb21" })).status).toBe(201);
  expect((await addTarget(servers[25] ?? 0)).status).toBe(201);
  expect((await act("change_type", { load_balancer_type: "lb11" })).code).toBe("invalid_load_balancer_type");
});

test("the simulator checks targets against addresses and networks", async () => {
  const { act, addTarget, project } = withBalancer();
  const { id: network } = project.networks.add("net");
  const { id: outside } = project.servers.add("outside", { ipv4: false });
  const { id: inside } = project.servers.add("inside", { networks: [{ network }] });
  expect((await addTarget(outside)).code).toBe("missing_ipv4");
  expect((await addTarget(inside, true)).code).toBe("load_balancer_not_attached_to_network");
  expect((await act("attach_to_network", { network })).status).toBe(201);
  expect((await addTarget(outside, true)).code).toBe("server_not_attached_to_network");
  expect((await addTarget(inside, true)).status).toBe(201);
  expect((await addTarget(inside)).code).toBe("target_already_defined");
  expect((await addTarget(7)).code).toBe("not_found");
  const target = { type: "server", server: { id: inside } };
  expect((await act("remove_target", target)).status).toBe(201);
  expect((await act("remove_target", target)).code).toBe("not_found");
});

test("the simulator accepts only Robot servers as IP targets", async () => {
  const { act, project, show } = withBalancer();
  const { ip } = project.robot.add("bm-1");
  const cloudIp = project.servers.add("a").ipv4;
  const add = (address: string | null) => act("add_target", { type: "ip", ip: { ip: address } });
  expect((await add(ip)).status).toBe(201);
  expect((await add(cloudIp)).code).toBe("cloud_resource_ip_not_allowed");
  expect((await add("203.0.113.9")).code).toBe("ip_not_owned");
  project.robot.isUnavailable = true;
  expect((await add("203.0.113.9")).code).toBe("robot_unavailable");
  expect((await show()).targets).toEqual([{ type: "ip", ip: { ip }, health_status: [] }]);
});

test("the simulator resolves label selectors to the servers that match now", async () => {
  const { act, project, show } = withBalancer();
  await act("add_target", { type: "label_selector", label_selector: { selector: "pool=web" } });
  const { id } = project.servers.add("a", { labels: { pool: "web" } });
  project.servers.add("b");
  const [target] = (await show()).targets;
  expect(target.targets.map(({ server }: { readonly server: unknown }) => server)).toEqual([{ id }]);
});

test("the simulator drops a target when its server is deleted, even while an action adds another target", async () => {
  const { ask, clock, project } = setUp();
  const [a, b] = [project.servers.add("a").id, project.servers.add("b").id];
  const targets = [{ type: "server" as const, server: a, usesPrivateIp: false }];
  const { id } = project.balancers.add("lb", { targets });
  const body = { type: "server", server: { id: b } };
  await ask(`/load_balancers/${id}/actions/add_target`, "POST", body);
  project.servers.remove(a);
  await clock.advance(seconds(1));
  const shown = (await ask(`/load_balancers/${id}`)).body.load_balancer.targets;
  expect(shown.map(({ server }: { readonly server: unknown }) => server)).toEqual([{ id: b }]);
});

test("the simulator attaches a load balancer to one network, at the requested address", async () => {
  const { act, project, show } = withBalancer();
  const { id: network } = project.networks.add("net");
  project.servers.add("a", { networks: [{ network, ip: "10.0.0.7" }] });
  expect((await act("attach_to_network", { network, ip: "10.0.0.7" })).code).toBe("ip_not_available");
  expect((await act("attach_to_network", { network, ip_range: "10.9.0.0/24" })).code).toBe(
    "no_subnet_available",
  );
  expect((await act("attach_to_network", { network, ip: "10.0.0.8" })).status).toBe(201);
  expect((await show()).private_net).toEqual([{ network, ip: "10.0.0.8" }]);
  expect((await act("attach_to_network", { network })).code).toBe("load_balancer_already_attached");
  expect((await act("detach_from_network", { network })).status).toBe(201);
  expect((await show()).private_net).toEqual([]);
  expect((await act("attach_to_network", { network, ip: "10.0.0.8" })).status).toBe(201);
});

test("the simulator disables the public interface only when private addresses suffice", async () => {
  const { act, addTarget, project, show } = withBalancer();
  const { id: network } = project.networks.add("net");
  const { id: server } = project.servers.add("a", { networks: [{ network }] });
  expect((await act("disable_public_interface")).code).toBe("load_balancer_not_attached_to_network");
  await act("attach_to_network", { network });
  await addTarget(server);
  expect((await act("disable_public_interface")).code).toBe("targets_without_use_private_ip");
  await act("remove_target", { type: "server", server: { id: server } });
  expect((await act("disable_public_interface")).status).toBe(201);
  expect((await show()).public_net.enabled).toBe(false);
  expect((await addTarget(server)).code).toBe("load_balancer_public_interface_disabled");
  expect((await addTarget(server, true)).status).toBe(201);
  expect((await act("enable_public_interface")).status).toBe(201);
});

test("the simulator sets and removes PTR records", async () => {
  const { act, show } = withBalancer();
  const { ip } = (await show()).public_net.ipv4;
  expect((await act("change_dns_ptr", { ip, dns_ptr: "lb.example.com" })).status).toBe(201);
  expect((await show()).public_net.ipv4.dns_ptr).toBe("lb.example.com");
  await act("change_dns_ptr", { ip, dns_ptr: null });
  expect((await show()).public_net.ipv4.dns_ptr).toBeNull();
  expect((await act("change_dns_ptr", { ip: "192.0.2.1", dns_ptr: null })).code).toBe("not_found");
  expect((await act("change_dns_ptr", { ip })).code).toBe("invalid_input");
});

test("the simulator rejects the deletion of a protected load balancer", async () => {
  const { act, ask, id } = withBalancer();
  await act("change_protection", { delete: true });
  const refused = await ask(`/load_balancers/${id}`, "DELETE");
  expect([refused.status, refused.code]).toEqual([423, "protected"]);
  await act("change_protection", { delete: false });
  const deleted = await ask(`/load_balancers/${id}`, "DELETE");
  expect([deleted.status, deleted.body.action.command]).toEqual([201, "delete_load_balancer"]);
  expect((await ask(`/load_balancers/${id}`)).code).toBe("not_found");
});

test("the simulator deletes a load balancer when the action ends, and keeps it when the action fails", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.balancers.add("lb");
  project.actions.plan({ outcome: "fails", command: "delete_load_balancer" });
  for (const status of [200, 404]) {
    await ask(`/load_balancers/${id}`, "DELETE");
    expect((await ask(`/load_balancers/${id}`)).status).toBe(200);
    await clock.advance(seconds(1));
    expect((await ask(`/load_balancers/${id}`)).status).toBe(status);
  }
});
