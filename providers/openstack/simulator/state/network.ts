// Networks, subnets and ports that a simulated project gets.

import { Refused } from "#ccm/testing";
import type { Project } from "./project.ts";
import type { Network, Port, Subnet } from "./records.ts";

/** The network with this name and its first subnet; both are created if they do not exist. */
export function ensureSubnet(project: Project, name: string, cidr: string, isExternal = false): Subnet {
  const { networks, subnets, ids } = project;
  const found = networks.find(name);
  const first = subnets.list().find(({ network_id }) => network_id === found?.id);
  if (first !== undefined) return first;
  const network = networks.put({ id: ids.uuid(), name, "router:external": isExternal, subnets: [] });
  return addSubnet(project, network, `${name}-1`, cidr);
}

export function addSubnet(
  { networks, subnets, ids }: Project,
  network: Network,
  name: string,
  cidr: string,
): Subnet {
  const ip_version = cidr.includes(":") ? 6 : 4;
  const subnet = subnets.put({ id: ids.uuid(), name, network_id: network.id, cidr, ip_version, tags: [] });
  networks.change(network.id, { subnets: [...networks.withID(network.id).subnets, subnet.id] });
  return subnet;
}

/** The only external network, from which floating IPs come. */
export const addExternalNetwork = (project: Project, name = "public"): Subnet =>
  ensureSubnet(project, name, "198.18.0.0/16", true);

/** Adds a port; rejects the request if the subnet is full. */
export function addPort(project: Project, subnet: Subnet, changes: Partial<Port>): Port {
  if (subnet.isFull === true)
    throw new Refused(
      409,
      `No more IP addresses available on network ${subnet.network_id}.`,
      "IpAddressGenerationFailure",
    );
  const id = project.ids.uuid();
  return project.ports.put({
    id,
    name: "",
    network_id: subnet.network_id,
    device_id: "",
    device_owner: "",
    status: "DOWN",
    mac_address: `fa:16:3e:${id.slice(-6).replaceAll(/(..)(..)(..)/g, "$1:$2:$3")}`,
    fixed_ips: changes.fixed_ips ?? [{ subnet_id: subnet.id, ip_address: project.addressIn(subnet.cidr) }],
    security_groups: [],
    port_security_enabled: true,
    allowed_address_pairs: [],
    revision_number: 1,
    ...changes,
  });
}

/** Adds a router with an interface in the network of the servers. */
export function addRouter(project: Project, id: string): void {
  project.routers.put({ id, name: id, routes: [], revision_number: 1 });
  const subnet = ensureSubnet(project, "nodes", "10.1.0.0/16");
  const fixed_ips = [{ subnet_id: subnet.id, ip_address: "10.1.0.1" }];
  addPort(project, subnet, { device_id: id, device_owner: "network:router_interface", fixed_ips });
}
