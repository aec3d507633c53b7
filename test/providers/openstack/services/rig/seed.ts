// The contents of the databases before a test: service accounts, the catalog, and a project with an image, networks and a router.

import { ApiClient } from "./api.ts";
import { urlOf } from "./configuration.ts";

const domain_id = "default";
export const names = {
  project: "demo",
  image: "empty",
  flavor: "m1.tiny",
  external: "ext",
  nodes: "nodes",
} as const;

/** The accounts of the services, which most of them need to start, and a user. */
export async function seedIdentity(): Promise<void> {
  const admin = await ApiClient.logIn("admin", "admin");
  const create = async (path: string, kind: string, object: object) =>
    (await admin.create("keystone", path, kind, object)).id;
  const roles = new Map<string, string>();
  for (const { id, name } of await admin.list<{ id: string; name: string }>("keystone", "/roles"))
    roles.set(name, id);
  for (const name of ["load-balancer_member", "load-balancer_admin"])
    roles.set(name, await create("/roles", "role", { name }));
  const grant = (project: string, user: string, role: string) =>
    admin.send("keystone", "PUT", `/projects/${project}/users/${user}/roles/${roles.get(role)}`);
  const service = await create("/projects", "project", { name: "service", domain_id });
  for (const name of ["glance", "placement", "nova", "neutron", "octavia", "cinder"]) {
    const user = await create("/users", "user", { name, domain_id, password: "svc" });
    await grant(service, user, "admin");
  }
  const [name] = [names.project];
  const project = await create("/projects", "project", { name, domain_id });
  const user = await create("/users", "user", { name, domain_id, password: name });
  for (const role of ["member", "reader", "load-balancer_member"]) await grant(project, user, role);
  const catalog = [
    ["glance", "image", urlOf("glance")],
    ["placement", "placement", urlOf("placement")],
    ["nova", "compute", `${urlOf("nova")}/v2.1`],
    ["neutron", "network", urlOf("neutron")],
    ["octavia", "load-balancer", urlOf("octavia")],
    ["cinder", "volumev3", `${urlOf("cinder")}/v3/%(project_id)s`],
  ];
  for (const [name, type, url] of catalog) {
    const service_id = await create("/services", "service", { name, type });
    for (const kind of ["public", "internal", "admin"])
      await create("/endpoints", "endpoint", { service_id, region_id: "RegionOne", interface: kind, url });
  }
}

/** The objects that servers and load balancers need. */
export async function seedCloud(): Promise<void> {
  const admin = await ApiClient.logIn("admin", "admin");
  const user = await ApiClient.logIn(names.project, names.project);
  const image = { name: names.image, disk_format: "raw", container_format: "bare", visibility: "public" };
  const { id } = await admin.send<{ readonly id: string }>("glance", "POST", "/images", image);
  await admin.send("glance", "PUT", `/images/${id}/file`, new Uint8Array(1 << 20));
  await admin.create("nova", "/flavors", "flavor", {
    name: names.flavor,
    id: "1",
    ram: 512,
    disk: 1,
    vcpus: 1,
  });
  const external = await admin.create("neutron", "/networks", "network", {
    name: names.external,
    "router:external": true,
    "provider:network_type": "flat",
    "provider:physical_network": "physnet1",
  });
  const subnet = (client: ApiClient, network_id: string, name: string, cidr: string) =>
    client.create("neutron", "/subnets", "subnet", {
      network_id,
      name,
      cidr,
      ip_version: 4,
      enable_dhcp: false,
    });
  await subnet(admin, external.id, "ext-1", "203.0.113.0/24");
  const nodes = await user.create("neutron", "/networks", "network", { name: names.nodes });
  const inside = await subnet(user, nodes.id, "nodes-1", "10.0.0.0/24");
  const router = await user.create("neutron", "/routers", "router", {
    name: "router",
    external_gateway_info: { network_id: external.id },
  });
  await user.send("neutron", "PUT", `/routers/${router.id}/add_router_interface`, { subnet_id: inside.id });
}
