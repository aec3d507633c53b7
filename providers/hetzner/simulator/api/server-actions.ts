// Actions of servers: power, rebuild and networks.

import { notFound, Refusal } from "../base/answer.ts";
import type { Project } from "../state/project.ts";
import type { Server, ServerStatus } from "../state/servers.ts";
import { attachmentActions } from "./attachment-actions.ts";
import { refuseLocked } from "./request.ts";
import type { ActionRules, ActionWork } from "./resource-handlers.ts";

function power(command: string, status: ServerStatus, during?: ServerStatus): ActionWork<Server> {
  return { command, during: during && { status: during }, end: () => ({ status }) };
}

function netOf({ privateNets }: Server, network: number) {
  return privateNets.find((net) => net.network === network);
}

export function serverActions(project: Project): ActionRules<Server> {
  const { servers, networks } = project;
  return {
    poweron: () => power("start_server", "running", "starting"),
    poweroff: () => power("stop_server", "off", "stopping"),
    reboot: () => power("reboot_server", "running"),
    rebuild: (_, body) => {
      body.needText("image");
      body.done();
      return { ...power("rebuild_server", "running", "rebuilding"), more: { root_password: null } };
    },
    ...attachmentActions(project, servers, {
      isAttached: (server, network) => netOf(server, network) !== undefined,
      alreadyAttached: () =>
        new Refusal("server_already_attached", "server is already attached to the network"),
      notAttached: (network) => notFound("network", network),
      hasAliases: true,
    }),
    change_alias_ips: (server, body) => {
      const network = body.needInteger("network");
      const aliasIps = body.texts("alias_ips") ?? [];
      body.done();
      const { aliasIps: before } = netOf(server, network) ?? {};
      if (before === undefined) throw notFound("network", network);
      refuseLocked(project, { type: "server", id: server.id });
      for (const ip of aliasIps.filter((each) => !before.includes(each)))
        servers.reserve(server, network, ip);
      for (const ip of before.filter((each) => !aliasIps.includes(each))) networks.release(network, ip);
      return {
        end: ({ privateNets }) => ({
          privateNets: privateNets.map((net) => (net.network === network ? { ...net, aliasIps } : net)),
        }),
      };
    },
  };
}
