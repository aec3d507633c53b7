// Requests that list, create, change and delete servers.

import { Refusal } from "../base/answer.ts";
import { BodyReader } from "../base/body-reader.ts";
import { findOffer, locations, serverTypes } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";
import type { NewServer } from "../state/servers.ts";
import { type Handlers, refuseLocked, start } from "./request.ts";
import { resourceHandlers } from "./resource-handlers.ts";
import { serverView } from "./server-view.ts";

const hostname = /^[a-z0-9]([a-z0-9.-]{0,252}[a-z0-9])?$/i;

function checkHostname(name: string, body: BodyReader): void {
  if (!hostname.test(name)) body.reject("name", "must be a valid hostname");
}

function readNew(project: Project, raw: unknown): { readonly name: string; readonly server: NewServer } {
  const body = new BodyReader(raw);
  body.need("name");
  const name = body.text("name") ?? "";
  if (name !== "") checkHostname(name, body);
  const type = findOffer(serverTypes, body.needText("server_type"));
  if (type === undefined) body.reject("server_type", "server type not found");
  body.needText("image");
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
      ...{ ...names, labels, ipv4, ipv6, status: isStarted ? "initializing" : "off" },
      networks: networks.map((network) => ({ network })),
    },
  };
}

export function serverHandlers(project: Project): Handlers {
  const { servers } = project;
  return {
    ...resourceHandlers("servers", servers, {
      view: (server) => serverView(project, server),
      filter: ["status", "status"],
      name: checkHostname,
    }),
    "POST /servers": ({ body }) => {
      const { name, server } = readNew(project, body);
      const { id } = servers.add(name, server);
      const resources = [{ type: "server", id }] as const;
      const powerOn = () => {
        if (server.status !== "off") servers.setStatus(id, "running");
      };
      const action = start(project, { command: "create_server", resources, end: powerOn });
      return {
        status: 201,
        body: {
          server: serverView(project, servers.existing(id)),
          ...{ action, next_actions: [], root_password: "not-a-secret" },
        },
      };
    },
    "DELETE /servers/{id}": ({ id }) => {
      const server = servers.existing(id);
      refuseLocked(project, { type: "server", id });
      if (server.isProtected) throw new Refusal("protected", "server deletion is protected");
      const resources = [{ type: "server", id }] as const;
      const action = start(project, { command: "delete_server", resources, locks: [] });
      servers.remove(id);
      return { status: 200, body: { action } };
    },
  };
}
