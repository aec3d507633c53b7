// Operations of volumes. While an action is in progress, the volume and the droplet accept no other.

import {
  type Answer,
  fields,
  ignored,
  integer,
  listOf,
  type Operations,
  oneOf,
  optional,
  Refused,
  removal,
  text,
} from "#ccm/testing";
import type { Account } from "../state/account.ts";
import { findRegion } from "../state/catalog.ts";
import type { Action, Snapshot, Volume } from "../state/volumes.ts";
import { pageOf, reads } from "./pages.ts";

const limits = { account: 100, droplet: 7 };
const gigabytes = () => integer(1, 16_384);
const newVolume = fields({
  name: text(),
  region: text(),
  size_gigabytes: gigabytes(),
  description: text(""),
  tags: listOf(text()),
  filesystem_type: ignored,
  filesystem_label: ignored,
  snapshot_id: text(""),
});
/** godo sends the volume id in the body, although the path contains it. */
const newSnapshot = fields({ name: text(), tags: listOf(text()), description: ignored, volume_id: ignored });
const change = fields({
  type: oneOf(["attach", "detach", "resize"]),
  droplet_id: optional(integer(1, Number.MAX_SAFE_INTEGER)),
  size_gigabytes: optional(gigabytes()),
  region: text(""),
});

const attachedTo = ({ droplets }: Account, { droplet_ids }: Pick<Volume, "droplet_ids">): readonly number[] =>
  droplet_ids.filter((id) => droplets.get(id) !== undefined);

function create(account: Account, body: unknown): Volume {
  const { volumes, ids, volumeName } = account;
  const { snapshot_id, ...created } = newVolume(body, "");
  const { name, region } = created;
  if (!volumeName.test(name)) throw new Refused(422, "name is invalid");
  if (findRegion(region) === undefined) throw new Refused(422, "region is invalid");
  if (volumes.list().some((other) => other.name === name && other.region === region))
    throw new Refused(409, "volume name already exists");
  if (volumes.list().length >= limits.account)
    throw new Refused(403, "volume/snapshot capacity limit exceeded");
  const content = snapshot_id === "" ? { data: "" } : contentOf(account, snapshot_id, created);
  const tags = account.addTags(created.tags);
  return volumes.put({ ...created, ...content, tags, id: ids.uuid(), droplet_ids: [], created_at: ids.now });
}

/** The volume has the size of the snapshot: the Go driver resizes it afterwards. */
function contentOf(
  { snapshots }: Account,
  id: string,
  { region, size_gigabytes }: Pick<Volume, "region" | "size_gigabytes">,
): Pick<Volume, "data" | "size_gigabytes"> {
  const { min_disk_size, regions, data } = snapshots.withID(id);
  if (!regions.includes(region)) throw new Refused(422, "snapshot is not available in this region");
  if (size_gigabytes < min_disk_size) throw new Refused(422, "volume is smaller than the snapshot");
  return { data, size_gigabytes: min_disk_size };
}

function createSnapshot(account: Account, volume: Volume, body: unknown): Snapshot {
  const { snapshots, ids } = account;
  const { name, ...created } = newSnapshot(body, "");
  if (snapshots.list().some((other) => other.name === name))
    throw new Refused(409, "snapshot name already exists");
  const tags = account.addTags(created.tags);
  const { size_gigabytes, data, region } = volume;
  return snapshots.put({
    id: ids.uuid(),
    name,
    tags,
    data,
    created_at: ids.now,
    regions: [region],
    resource_id: volume.id,
    resource_type: "volume",
    min_disk_size: size_gigabytes,
    size_gigabytes,
  });
}

/** The droplets of the volume when the action has ended. */
function dropletsAfter(account: Account, volume: Volume, type: string, id: number): readonly number[] {
  const { droplets, volumes } = account;
  const attached = attachedTo(account, volume);
  if (type === "detach") {
    if (!attached.includes(id)) throw new Refused(422, "Attachment not found");
    return attached.filter((each) => each !== id);
  }
  if (attached.length > 0) throw new Refused(422, "This volume is already attached");
  if (droplets.withID(id).region !== volume.region)
    throw new Refused(422, "Droplet and volume must be in the same region");
  if (volumes.list().filter(({ droplet_ids }) => droplet_ids.includes(id)).length >= limits.droplet)
    throw new Refused(422, `cannot attach more than ${limits.droplet} volumes to a single Droplet`);
  return [id];
}

/** Throws while an action of the volume or the droplet is in progress. */
function checkPending({ actions }: Account, ...ids: readonly string[]): void {
  const pending = actions.list().filter(({ status }) => status === "in-progress");
  if (pending.some(({ name, resource_id }) => ids.includes(name) || ids.includes(resource_id)))
    throw new Refused(422, "Droplet already has a pending event.");
}

function act(account: Account, volume: Volume, body: unknown): Answer {
  const { volumes, actions, ids, later, times } = account;
  const { type, droplet_id = 0, size_gigabytes = 0 } = change(body, "");
  checkPending(account, volume.id, String(droplet_id));
  if (type === "resize" && size_gigabytes < volume.size_gigabytes)
    throw new Refused(422, "a volume cannot become smaller");
  const after =
    type === "resize"
      ? { size_gigabytes }
      : { droplet_ids: dropletsAfter(account, volume, type, droplet_id) };
  const { id } = actions.put({
    // The name finds the action that a droplet waits for.
    id: ids.next(),
    name: String(droplet_id),
    status: "in-progress",
    type: `${type}_volume`,
    started_at: ids.now,
    completed_at: null,
    resource_type: "volume",
    resource_id: volume.id,
    region_slug: volume.region,
  });
  later.add(times.change, () => {
    volumes.change(volume.id, after);
    actions.change(id, { status: "completed", completed_at: ids.now });
  });
  return { status: 202, body: { action: view(actions.existing(id)) } };
}

/** The API does not show the id of the volume. */
const view = ({ name: _, ...action }: Action) => ({ ...action, resource_id: null });

const shownSnapshot = ({ data: _, ...snapshot }: Snapshot) => snapshot;

export function volumeOperations(account: Account): Operations {
  const { volumes, snapshots, actions } = account;
  const path = "/v2/volumes";
  const shown = ({ data: _, ...volume }: Volume) => ({
    ...volume,
    region: findRegion(volume.region),
    droplet_ids: attachedTo(account, volume),
    filesystem_type: "",
    filesystem_label: "",
  });
  return {
    ...reads("volumes", "volume", {
      records: volumes,
      view: shown,
      matches: ({ name, region }, query) =>
        (query.get("name") ?? name) === name && (query.get("region") ?? region) === region,
    }),
    ...reads("snapshots", "snapshot", {
      records: snapshots,
      view: shownSnapshot,
      matches: ({ resource_type }, query) => (query.get("resource_type") ?? resource_type) === resource_type,
    }),
    ...removal("/v2/snapshots", snapshots, () => undefined),
    [`GET ${path}/{id}/snapshots`]: (request) => {
      const all = snapshots.list().filter(({ resource_id }) => resource_id === request.id);
      return pageOf("snapshots", all, request, shownSnapshot);
    },
    [`POST ${path}/{id}/snapshots`]: ({ id, body }) => ({
      status: 201,
      body: { snapshot: shownSnapshot(createSnapshot(account, volumes.withID(id), body)) },
    }),
    ...reads("actions", "action", { records: actions, view }),
    [`POST ${path}`]: ({ body }) => ({ status: 201, body: { volume: shown(create(account, body)) } }),
    ...removal(path, volumes, (volume) => {
      checkPending(account, volume.id);
      if (attachedTo(account, volume).length > 0)
        throw new Refused(409, "A volume that's attached to a Droplet can not be deleted");
    }),
    [`POST ${path}/{id}/actions`]: ({ id, body }) => act(account, volumes.withID(id), body),
    [`GET ${path}/{id}/actions`]: (request) => {
      const all = actions.list().filter(({ resource_id }) => resource_id === request.id);
      return pageOf("actions", all, request, view);
    },
    [`GET ${path}/{id}/actions/{action}`]: ({ params: [, action = ""] }) => ({
      status: 200,
      body: { action: view(actions.withID(action)) },
    }),
  };
}
