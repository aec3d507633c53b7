// Cinder operations, and the Nova operations that attach and detach volumes. A volume accepts nothing while it changes.

import {
  type Answer,
  anything,
  fields,
  flag,
  integer,
  type OperationRequest,
  type Operations,
  optional,
  type Records,
  Refused,
  type Stored,
  text,
} from "#ccm/testing";
import type { Project } from "../state/project.ts";
import type { Volume } from "../state/records.ts";
import { minorOf } from "./compute.ts";
import { type PageSize, reads, versions } from "./pages.ts";

const base = "/volume/v3/volumes";
const attachments = "/compute/v2.1/servers/{id}/os-volume_attachments";
const snapshotsBase = "/volume/v3/snapshots";
const maxDisks = 256;

/** `GET /things/detail` and `GET /things/{id}`, without simulation-only fields. */
function detailedReads<T extends Stored & { readonly data: string }>(
  path: string,
  names: readonly [plural: string, singular: string],
  records: Records<T>,
  size: PageSize,
): Operations {
  const { [`GET ${path}`]: list, ...one } = reads(
    path,
    names,
    records,
    size,
    ({ data: _, ...shown }) => shown,
  );
  return { [`GET ${path}/detail`]: list as NonNullable<typeof list>, ...one };
}

const newVolume = fields({
  volume: fields({
    name: text(""),
    size: integer(1, 2 ** 20),
    description: text(""),
    volume_type: optional(text()),
    availability_zone: optional(text()),
    metadata: anything,
    snapshot_id: optional(text()),
    source_volid: optional(text()),
  }),
});
const newSnapshot = fields({
  snapshot: fields({
    name: text(""),
    volume_id: text(),
    description: text(""),
    metadata: anything,
    force: flag(false),
  }),
});
const extension = fields({ "os-extend": fields({ new_size: integer(1, 2 ** 20) }) });
const newAttachment = fields({ volumeAttachment: fields({ volumeId: text() }) });

/** Shows the status immediately, and takes effect later. */
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
  const { volumes, snapshots, ids, volumeLimit } = project;
  const { volume_type, availability_zone, metadata, snapshot_id, source_volid, ...given } = newVolume(
    body,
    "",
  ).volume;
  const source =
    snapshot_id === undefined
      ? source_volid === undefined
        ? undefined
        : volumes.withID(source_volid)
      : snapshots.withID(snapshot_id);
  if (source !== undefined && (given.size < source.size || !["available", "in-use"].includes(source.status)))
    throw new Refused(
      400,
      `Invalid input received: the source has ${source.size} GiB, and is ${source.status}.`,
    );
  if (volumes.list().length >= volumeLimit)
    throw new Refused(
      413,
      `VolumeLimitExceeded: Maximum number of volumes allowed (${volumeLimit}) exceeded for quota 'volumes'.`,
    );
  const status = project.volumeFailures > 0 ? "error" : "available";
  project.volumeFailures = Math.max(0, project.volumeFailures - 1);
  const volume = volumes.put({
    ...given,
    id: ids.uuid(),
    status: "creating",
    attachments: [],
    multiattach: false,
    volume_type: volume_type ?? "__DEFAULT__",
    availability_zone: availability_zone ?? "nova",
    metadata: (metadata ?? {}) as Volume["metadata"],
    data: source?.data ?? "",
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
    server_id: server.id,
    volume_id: volume.id,
    attachment_id: ids.uuid(),
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

function takeSnapshot(project: Project, body: unknown): Answer {
  const { volumes, snapshots, ids, later, times } = project;
  const { volume_id, name, description, metadata, force } = newSnapshot(body, "").snapshot;
  const volume = volumes.withID(volume_id);
  requireStatus(volume, "available", ...(force ? ["in-use"] : []));
  const snapshot = snapshots.put({
    id: ids.uuid(),
    name,
    description,
    volume_id,
    size: volume.size,
    status: "creating",
    data: "",
    metadata: (metadata ?? {}) as Volume["metadata"],
    created_at: ids.now.replace("Z", ""),
  });
  later.add(times.volume, () => {
    const { data } = volumes.withID(volume_id);
    if (snapshots.get(snapshot.id) !== undefined)
      snapshots.change(snapshot.id, { status: "available", data });
  });
  return { status: 202, body: { snapshot } };
}

export function volumeOperations(project: Project, size: PageSize): Operations {
  const { volumes, snapshots, later, times } = project;
  const hasSnapshots = (id: string) => snapshots.list().some(({ volume_id }) => volume_id === id);
  return {
    ...detailedReads(snapshotsBase, ["snapshots", "snapshot"], snapshots, size),
    [`POST ${snapshotsBase}`]: ({ body }) => takeSnapshot(project, body),
    [`DELETE ${snapshotsBase}/{id}`]: ({ id }) => {
      snapshots.change(snapshots.withID(id).id, { status: "deleting" });
      later.add(times.volume, () => snapshots.remove(id));
      return { status: 202 };
    },
    ...detailedReads(base, ["volumes", "volume"], volumes, size),
    "GET /volume/v3/": ({ url }) => versions(url.href, ["v3.0"]),
    [`POST ${base}`]: ({ body }) => create(project, body),
    [`DELETE ${base}/{id}`]: ({ id }) => {
      const volume = volumes.withID(id);
      requireStatus(volume, "available", "error");
      if (hasSnapshots(id)) throw new Refused(400, `Invalid volume: Volume ${id} must not have snapshots.`);
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
