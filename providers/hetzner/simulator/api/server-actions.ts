// Actions of servers: power, rebuild, networks, type and protection.

import { notFound, Refusal } from "../base/answer.ts";
import { BodyReader } from "../base/body-reader.ts";
import { findOffer, locations, offer, serverTypes } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";
import type { Server, ServerStatus } from "../state/servers.ts";
import { type Handler, type Handlers, refuseLocked, startAction } from "./request.ts";

function power(
  project: Project,
  command: string,
  during: ServerStatus | undefined,
  after: ServerStatus,
): Handler {
  const { servers } = project;
  return ({ id }) => {
    servers.existing(id);
    const answer = startAction(project, {
      command,
      resources: [{ type: "server", id }],
      end: () => servers.setStatus(id, after),
    });
    if (during !== undefined && project.actions.isLocked({ type: "server", id }))
      servers.setStatus(id, during);
    return answer;
  };
}

function netOf({ privateNets }: Server, network: number) {
  return privateNets.find((net) => net.network === network);
}

export function serverActionHandlers(project: Project): Handlers {
  const { servers, networks } = project;
  const path = "POST /servers/{id}/actions";
  /** For what takes effect when the action ends. */
  const change = (id: number, command: string, changes: Partial<Server>) =>
    startAction(project, {
      command,
      resources: [{ type: "server", id }],
      end: () => servers.change(id, changes),
    });
  return {
    [`${path}/poweron`]: power(project, "start_server", "starting", "running"),
    [`${path}/poweroff`]: power(project, "stop_server", "stopping", "off"),
    [`${path}/shutdown`]: power(project, "shutdown_server", undefined, "off"),
    [`${path}/reboot`]: power(project, "reboot_server", undefined, "running"),
    [`${path}/reset`]: power(project, "reset_server", undefined, "running"),
    [`${path}/rebuild`]: (request) => {
      const body = new BodyReader(request.body);
      body.needText("image");
      body.done();
      if (servers.existing(request.id).isProtected)
        throw new Refusal("protected", "server rebuild is protected");
      const answer = power(project, "rebuild_server", "rebuilding", "running")(request);
      return { ...answer, body: { ...Object(answer.body), root_password: null } };
    },
    [`${path}/change_type`]: ({ id, body: raw }) => {
      const body = new BodyReader(raw);
      const type = findOffer(serverTypes, body.needText("server_type"));
      if (type === undefined) body.reject("server_type", "server type not found");
      body.need("upgrade_disk");
      body.done();
      servers.existing(id);
      return change(id, "change_server_type", { type: type?.name ?? "" });
    },
    [`${path}/change_protection`]: ({ id, body: raw }) => {
      const body = new BodyReader(raw);
      const isProtected = body.flag("delete") ?? servers.existing(id).isProtected;
      body.done();
      return change(id, "change_protection", { isProtected });
    },
    [`${path}/attach_to_network`]: ({ id, body: raw }) => {
      const body = new BodyReader(raw);
      const network = body.needInteger("network");
      const [ip, ipRange] = [body.text("ip"), body.text("ip_range")];
      const aliasIps = body.texts("alias_ips") ?? [];
      body.done();
      const server = servers.existing(id);
      networks.existing(network);
      const resources = [
        { type: "server", id },
        { type: "network", id: network },
      ] as const;
      for (const resource of resources) refuseLocked(project, resource);
      if (netOf(server, network) !== undefined)
        throw new Refusal("server_already_attached", "server is already attached to the network");
      const zone = offer(locations, server.location).network_zone;
      const taken = networks.reserve(network, resources[0], { zone, ip, ipRange });
      for (const alias of aliasIps) networks.reserve(network, resources[0], { zone, ip: alias });
      return startAction(project, {
        command: "attach_to_network",
        resources,
        end: () => {
          const { privateNets } = servers.existing(id);
          servers.change(id, { privateNets: [...privateNets, { network, ip: taken, aliasIps }] });
        },
        fail: () => {
          for (const each of [taken, ...aliasIps]) networks.release(network, each);
        },
      });
    },
    [`${path}/detach_from_network`]: ({ id, body: raw }) => {
      const body = new BodyReader(raw);
      const network = body.needInteger("network");
      body.done();
      if (netOf(servers.existing(id), network) === undefined) throw notFound("network", network);
      refuseLocked(project, { type: "network", id: network });
      return startAction(project, {
        command: "detach_from_network",
        resources: [
          { type: "server", id },
          { type: "network", id: network },
        ],
        end: () => servers.detach(id, network),
      });
    },
    [`${path}/change_alias_ips`]: ({ id, body: raw }) => {
      const body = new BodyReader(raw);
      const network = body.needInteger("network");
      const aliasIps = body.texts("alias_ips") ?? [];
      body.done();
      const { privateNets, location } = servers.existing(id);
      const { aliasIps: before } = netOf(servers.existing(id), network) ?? {};
      if (before === undefined) throw notFound("network", network);
      refuseLocked(project, { type: "server", id });
      const zone = offer(locations, location).network_zone;
      for (const ip of aliasIps.filter((each) => !before.includes(each)))
        networks.reserve(network, { type: "server", id }, { zone, ip });
      for (const ip of before.filter((each) => !aliasIps.includes(each))) networks.release(network, ip);
      return change(id, "change_alias_ips", {
        privateNets: privateNets.map((net) => (net.network === network ? { ...net, aliasIps } : net)),
      });
    },
  };
}
