// Requests for servers: they are listed, created, changed and deleted, and their actions switch them and attach them to networks.
// There is no `datacenter` field, and servers without public addresses have null addresses.

import { notFound, Refusal } from "../base/answer.ts";
import type { BodyReader } from "../base/body-reader.ts";
import { findOffer, locations, offer, type ServerType, serverTypes } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";
import type { NewServer, Server, ServerStatus } from "../state/servers.ts";
import { attachmentActions } from "./attachment-actions.ts";
import { type Handlers, refuseLocked, start } from "./request.ts";
import { type ActionRules, type ActionWork, resourceHandlers } from "./resource-handlers.ts";

function power(command: string, status: ServerStatus, during?: ServerStatus): ActionWork<Server> {
  return { command, during: during && { status: during }, end: () => ({ status }) };
}

function netOf({ privateNets }: Server, network: number) {
  return privateNets.find((net) => net.network === network);
}

function serverActions(project: Project): ActionRules<Server> {
  const { servers, networks } = project;
  return {
    poweron: () => power("start_server", "running", "starting"),
    poweroff: () => power("stop_server", "off", "stopping"),
    reboot: () => power("reboot_server", "running"),
    rebuild: (_, body) => {
      body.needOffer("image");
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

function macOf(id: number, network: number): string {
  const hex = ((id * 4096 + network) % 2 ** 32).toString(16).padStart(8, "0");
  return `86:00:${(hex.match(/../g) ?? []).join(":")}`;
}

/** The form in which the API announces the end of a type. */
function announced(type: ServerType, end: string | undefined): unknown {
  if (end === undefined) return type;
  const deprecation = { announced: "2026-01-01T00:00:00Z", unavailable_after: end };
  return { ...type, deprecated: true, deprecation };
}

export function serverView({ actions, volumes, endingTypes }: Project, server: Server): unknown {
  const { id, name, created, status, labels, ipv4, ipv6 } = server;
  const type = offer(serverTypes, server.type);
  return {
    id,
    name,
    created,
    status,
    labels,
    server_type: announced(type, endingTypes.get(type.name)),
    location: offer(locations, server.location),
    public_net: {
      ipv4: ipv4 === null ? null : { id: id + 1, ip: ipv4, blocked: false, dns_ptr: `${name}.example.com` },
      ipv6: ipv6 === null ? null : { id: id + 2, ip: ipv6, blocked: false, dns_ptr: [] },
      floating_ips: [],
      firewalls: [],
    },
    private_net: server.privateNets.map(({ network, ip, aliasIps }) => ({
      network,
      ip,
      alias_ips: aliasIps ?? [],
      mac_address: macOf(id, network),
    })),
    protection: { delete: false, rebuild: false },
    locked: actions.isLocked({ type: "server", id }),
    backup_window: null,
    image: null,
    iso: null,
    placement_group: null,
    rescue_enabled: false,
    included_traffic: 21_990_232_555_520,
    ingoing_traffic: 0,
    outgoing_traffic: 0,
    primary_disk_size: type.disk,
    volumes: volumes.list().flatMap((volume) => (volume.server === id ? volume.id : [])),
  };
}

const hostname = /^[a-z0-9]([a-z0-9.-]{0,252}[a-z0-9])?$/i;

function checkHostname(name: string, body: BodyReader): void {
  if (!hostname.test(name)) body.reject("name", "must be a valid hostname");
}

function readNew(project: Project, body: BodyReader): { readonly name: string; readonly server: NewServer } {
  body.need("name");
  const name = body.text("name") ?? "";
  if (name !== "") checkHostname(name, body);
  const type = findOffer(serverTypes, body.needOffer("server_type"));
  if (type === undefined) body.reject("server_type", "server type not found");
  body.needOffer("image");
  const location = findOffer(locations, body.text("location") ?? "fsn1");
  if (location === undefined) body.reject("location", "location not found");
  const publicNet = body.object("public_net");
  const networks = body.integers("networks") ?? [];
  const labels = body.labels() ?? {};
  const ipv4 = publicNet?.flag("enable_ipv4") ?? true;
  const ipv6 = publicNet?.flag("enable_ipv6") ?? true;
  if (!ipv4 && !ipv6 && networks.length === 0)
    body.reject("public_net", "a server without public addresses needs a network");
  const isStarted = body.flag("start_after_create") ?? true;
  body.done();
  project.servers.refuseUsedName(name);
  for (const network of networks) project.networks.existing(network);
  const names = { type: type?.name ?? "", location: location?.name ?? "" };
  return {
    name,
    server: {
      ...names,
      labels,
      ipv4,
      ipv6,
      status: isStarted ? "initializing" : "off",
      networks: networks.map((network) => ({ network })),
    },
  };
}

export function serverHandlers(project: Project): Handlers {
  const { servers } = project;
  return resourceHandlers(project, "servers", servers, {
    view: (server) => serverView(project, server),
    name: checkHostname,
    create: (body) => {
      const { name, server } = readNew(project, body);
      const { id } = servers.add(name, server);
      const powerOn = () => {
        if (server.status !== "off") servers.setStatus(id, "running");
      };
      const resources = [{ type: "server", id }] as const;
      const action = start(project, { command: "create_server", resources, end: powerOn });
      return { id, more: { action, next_actions: [], root_password: "not-a-secret" } };
    },
    remove: ({ id }) => {
      const resources = [{ type: "server", id }] as const;
      const action = start(project, { command: "delete_server", resources, locks: [] });
      servers.remove(id);
      return { status: 200, body: { action } };
    },
    actions: serverActions(project),
  });
}
