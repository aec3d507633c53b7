// The operations of tests on the servers of a simulated project.

import { addPort, ensureSubnet } from "./network.ts";
import type { Project } from "./project.ts";
import type { Server } from "./records.ts";

export interface NewServer extends Partial<Omit<Server, "id" | "name" | "addresses">> {
  /** The network of the port; it is created with its subnet if it does not exist. */
  readonly network?: string;
}

/** Adds a running server with a port in one network. */
export function addServer(
  project: Project,
  name: string,
  { network = "nodes", ...changes }: NewServer = {},
): Server {
  const id = project.ids.uuid();
  const subnet = ensureSubnet(project, network, "10.1.0.0/16");
  const port = addPort(project, subnet, { device_id: id, device_owner: "compute:nova", status: "ACTIVE" });
  const addr = port.fixed_ips[0]?.ip_address ?? "";
  return project.servers.put({
    id,
    name,
    status: "ACTIVE",
    metadata: {},
    accessIPv4: "",
    accessIPv6: "",
    flavor: { original_name: "m1.small", vcpus: 1, ram: 2048 },
    addresses: { [network]: [{ addr, version: 4, "OS-EXT-IPS:type": "fixed" }] },
    "OS-EXT-AZ:availability_zone": "nova",
    "OS-EXT-STS:task_state": null,
    ...changes,
  });
}

/** Removes a server and its ports, and detaches its volumes. */
export function removeServer({ servers, ports, volumes }: Project, name: string): void {
  const { id } = servers.existing(name);
  for (const port of ports.list()) if (port.device_id === id) ports.remove(port.id);
  for (const { id: volume, attachments } of volumes.list())
    if (attachments.some(({ server_id }) => server_id === id))
      volumes.change(volume, { attachments: [], status: "available" });
  servers.remove(id);
}
