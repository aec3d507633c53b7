// Operations of Cinder, and those of Nova that attach and detach volumes. A volume accepts nothing while it changes.

import {
  type Answer,
  anything,
  fields,
  integer,
  type OperationRequest,
  type Operations,
  optional,
  Refused,
  text,
} from "#ccm/testing";
import type { Project } from "../state/project.ts";
import type { Volume } from "../state/records.ts";
import { minorOf } from "./compute.ts";
import { matches, type PageSize, pageOf, versions } from "./pages.ts";

const base = "/volume/v3/volumes";
const attachments = "/compute/v2.1/servers/{id}/os-volume_attachments";
const maxDisks = 256;

const newVolume = fields({
  volume: fields({
    ...{ name: text(""), size: integer(1, 2 ** 20), description: text("") },
    ...{ volume_type: optional(text()), availability_zone: optional(text()), metadata: anything },
  }),
});
const extension = fields({ "os-extend": fields({ new_size: integer(1, 2 ** 20) }) });
const newAttachment = fields({ volumeAttachment: fields({ volumeId: text() }) });

/** Shows the status at once, and has its effect later. */
function begin(
  { volumes, later, times }: Project,
  { id }: Volume,
  status: string,
  end: () => Partial<Volume> | undefined,
) {
  const changing = volumes.change(id, { status });
  later.add(times.volume, () => {
    const changes = end();
    if (changes === undefined) volumes.remove(id);
    else volumes.change(id, changes);
  });
  return changing;
}

function requireStatus({ id, status }: Volume, ...allowed: readonly string[]): void {
  if (!allowed.includes(status))
    throw new Refused(400, `Invalid volume: Volume ${id} status must be ${allowed.join(" or ")}.`);
}

function create(project: Project, body: unknown): Answer {
  const { volumes, ids, volumeLimit } = project;
  const { volume_type, availability_zone, metadata, ...given } = newVolume(body, "").volume;
  if (volumes.list().length >= volumeLimit)
    throw new Refused(
      413,
      `VolumeLimitExceeded: Maximum number of volumes allowed (${volumeLimit}) exceeded for quota 'volumes'.`,
    );
  const status = project.volumeFailures > 0 ? "error" : "available";
  project.volumeFailures = Math.max(0, project.volumeFailures - 1);
  const volume = volumes.put({
    ...{ ...given, id: ids.uuid(), status: "creating", attachments: [], multiattach: false },
    ...{ volume_type: volume_type ?? "__DEFAULT__", availability_zone: availability_zone ?? "nova" },
    metadata: (metadata ?? {}) as Volume["metadata"],
  });
  return { status: 202, body: { volume: begin(project, volume, "creating", () => ({ status })) } };
}

function attach(project: Project, request: OperationRequest): Answer {
  const { volumes, servers, ids } = project;
  const server = servers.get(request.id);
  if (server === undefined) throw new Refused(404, `Instance ${request.id} could not be found.`);
  const volume = volumes.withID(newAttachment(request.body, "").volumeAttachment.volumeId);
  requireStatus(volume, "available");
  if (volume.multiattach && minorOf(request) < 60)
    throw new Refused(400, "Volume 'multiattach' is only supported with microversion 2.60.");
  const disks = volumes
    .list()
    .filter(({ attachments: all }) => all.some(({ server_id }) => server_id === server.id));
  if (disks.length >= maxDisks)
    throw new Refused(
      403,
      `The maximum allowed number of disk devices (${maxDisks}) to attach to a single instance has been exceeded.`,
    );
  const attachment = {
    ...{ server_id: server.id, volume_id: volume.id, attachment_id: ids.uuid() },
    device: `/dev/vd${"bcdefghijklmnopqrstuvwxyz".charAt(disks.length) || "aa"}`,
  };
  begin(project, volume, "attaching", () =>
    servers.get(server.id) === undefined
      ? { status: "available" }
      : { status: "in-use", attachments: [attachment] },
  );
  return {
    status: 200,
    body: { volumeAttachment: { id: volume.id, serverId: server.id, volumeId: volume.id } },
  };
}

function detach(project: Project, server: string, id: string): Answer {
  const volume = project.volumes.withID(id);
  if (!volume.attachments.some(({ server_id }) => server_id === server))
    throw new Refused(404, `Volume ${id} is not attached to instance ${server}.`);
  requireStatus(volume, "in-use");
  begin(project, volume, "detaching", () => ({ status: "available", attachments: [] }));
  return { status: 202 };
}

export function volumeOperations(project: Project, size: PageSize): Operations {
  const { volumes } = project;
  return {
    "GET /volume/v3/": ({ url }) => versions(url.href, ["v3.0"]),
    [`GET ${base}/detail`]: (request) => {
      const shown = volumes.listed().filter((one) => matches(one, request.query) && !request.isHidden(one));
      return pageOf("volumes", shown, request, (one) => one, size);
    },
    [`GET ${base}/{id}`]: ({ id, isHidden }) => {
      const volume = volumes.withID(id);
      if (isHidden(volume)) throw volumes.missing(id);
      return { status: 200, body: { volume } };
    },
    [`POST ${base}`]: ({ body }) => create(project, body),
    [`DELETE ${base}/{id}`]: ({ id }) => {
      const volume = volumes.withID(id);
      requireStatus(volume, "available", "error");
      begin(project, volume, "deleting", () => undefined);
      return { status: 202 };
    },
    [`POST ${base}/{id}/action`]: ({ id, body, header }) => {
      const volume = volumes.withID(id);
      requireStatus(volume, "available", "in-use");
      const minor = Number(/^volume 3\.(\d+)$/.exec(header("openstack-api-version") ?? "")?.[1] ?? 0);
      if (minor < 42) requireStatus(volume, "available");
      const { new_size } = extension(body, "")["os-extend"];
      if (new_size <= volume.size)
        throw new Refused(
          400,
          `Invalid input received: New size for extend must be greater than current size.`,
        );
      begin(project, volume, "extending", () => ({ status: volume.status, size: new_size }));
      return { status: 202 };
    },
    [`POST ${attachments}`]: (request) => attach(project, request),
    [`DELETE ${attachments}/{volume}`]: ({ params: [server = "", volume = ""] }) =>
      detach(project, server, volume),
  };
}
