// Requests for volumes: they are listed, created, changed and deleted, and their actions attach, detach and resize them.

import { invalid, Refusal } from "../base/answer.ts";
import type { BodyReader } from "../base/body-reader.ts";
import { findOffer, locations, offer } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";
import type { Volume } from "../state/volumes.ts";
import { type Handlers, start } from "./request.ts";
import { type ActionRules, resourceHandlers } from "./resource-handlers.ts";

const sizes = { min: 10, max: 10_240 };
const perServer = 16;
const validName = /^[a-z0-9A-Z]([a-z0-9A-Z._-]{0,62}[a-z0-9A-Z])?$/;

function volumeView({ id, name, created, labels, status, size, server, ...volume }: Volume): unknown {
  return {
    id,
    name,
    created,
    labels,
    status,
    size,
    server,
    location: offer(locations, volume.location),
    linux_device: `/dev/disk/by-id/scsi-0HC_Volume_${id}`,
    protection: { delete: volume.isProtected },
    format: null,
  };
}

function checkName(name: string, body: BodyReader): void {
  if (!validName.test(name)) body.reject("name", "must be a valid volume name");
}

/** Whether the volume is attached, or being attached. */
function attachedTo({ volumes, actions }: Project, server: number): number {
  const isJoining = ({ id }: Volume): boolean =>
    actions
      .list("volume", id)
      .some(
        ({ command, status, resources }) =>
          command === "attach_volume" && status === "running" && resources.some((each) => each.id === server),
      );
  return volumes.list().filter((volume) => volume.server === server || isJoining(volume)).length;
}

function volumeActions(project: Project): ActionRules<Volume> {
  const { servers } = project;
  return {
    attach: (volume, body) => {
      const id = body.needInteger("server");
      body.flag("automount");
      body.done();
      const server = servers.withID(id);
      if (volume.server !== null)
        throw new Refusal("volume_already_attached", "volume is already attached to a server");
      if (server.location !== volume.location)
        throw invalid("server", "server and volume must be in the same location");
      if (attachedTo(project, id) >= perServer)
        throw new Refusal("limit_exceeded_error", `server has ${perServer} volumes`);
      return { command: "attach_volume", server: id, end: () => ({ server: id }) };
    },
    detach: (volume) => {
      if (volume.server === null) throw new Refusal("invalid_input", "volume is not attached");
      return { command: "detach_volume", server: volume.server, end: () => ({ server: null }) };
    },
    resize: ({ size: before }, body) => {
      const size = body.needInteger("size", sizes.min, sizes.max);
      if (size <= before) body.reject("size", "must be larger than the current size");
      body.done();
      return { command: "resize_volume", end: () => ({ size }) };
    },
    change_protection: ({ isProtected: before }, body) => {
      const isProtected = body.flag("delete") ?? before;
      body.done();
      return { end: () => ({ isProtected }) };
    },
  };
}

export function volumeHandlers(project: Project): Handlers {
  const { volumes } = project;
  return resourceHandlers(project, "volumes", volumes, {
    view: volumeView,
    name: checkName,
    create: (body) => {
      const name = body.needText("name");
      if (name !== "") checkName(name, body);
      const size = body.needInteger("size", sizes.min, sizes.max);
      const location = findOffer(locations, body.needOffer("location"));
      if (location === undefined) body.reject("location", "location not found");
      const labels = body.labels() ?? {};
      body.done();
      volumes.refuseUsedName(name);
      const { id } = volumes.add(name, { size, labels, location: location?.name ?? "", status: "creating" });
      const action = start(project, {
        command: "create_volume",
        resources: [{ type: "volume", id }],
        end: () => volumes.change(id, { status: "available" }),
        fail: () => volumes.remove(id),
      });
      return { id, more: { action, next_actions: [] } };
    },
    remove: ({ id, server }) => {
      if (server !== null) throw new Refusal("resource_in_use", "volume is attached to a server");
      volumes.remove(id);
      return { status: 204 };
    },
    actions: volumeActions(project),
  });
}
