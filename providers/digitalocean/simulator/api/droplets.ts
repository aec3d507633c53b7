// Operations of droplets.

import {
  type Answer,
  fields,
  flag,
  ignored,
  listOf,
  type Operations,
  Refused,
  removal,
  text,
} from "#ccm/testing";
import type { Account } from "../state/account.ts";
import { findRegion, sizeOf } from "../state/catalog.ts";
import type { Droplet } from "../state/droplets.ts";
import { reads } from "./pages.ts";

const newDroplet = fields({
  name: text(),
  region: text("nyc3"),
  size: text(),
  ipv6: flag(false),
  public_networking: flag(true),
  tags: listOf(text()),
  vpc_uuid: text(""),
  image: ignored,
  ssh_keys: ignored,
  backups: ignored,
  private_networking: ignored,
  volumes: ignored,
  monitoring: ignored,
  user_data: ignored,
  with_droplet_agent: ignored,
});

function dropletView({ region, ...droplet }: Droplet) {
  const { memory, vcpus, disk, ...size } = sizeOf(droplet.size_slug);
  return {
    ...droplet,
    memory,
    vcpus,
    disk,
    locked: false,
    kernel: null,
    next_backup_window: null,
    features: ["private_networking"],
    backup_ids: [],
    snapshot_ids: [],
    volume_ids: [],
    image: { id: 63_663_980, name: "24.04 x64", distribution: "Ubuntu", slug: "ubuntu-24-04-x64" },
    size: { ...size, memory, vcpus, disk },
    region: findRegion(region),
  };
}

function matches({ name, tags }: Droplet, query: URLSearchParams): boolean {
  const [wanted, tag] = [query.get("name"), query.get("tag_name")];
  // Names are compared without regard to case.
  return (
    (wanted === null || name.toLowerCase() === wanted.toLowerCase()) && (tag === null || tags.includes(tag))
  );
}

function create(account: Account, body: unknown): Answer {
  const { droplets, later, times } = account;
  const { name, size: size_slug, public_networking: isPublic, ...created } = newDroplet(body, "");
  if (findRegion(created.region) === undefined)
    throw new Refused(422, "You specified an invalid region for Droplet creation.");
  const { id, networks } = droplets.add(name, { size_slug, isPublic, ...created });
  account.addTags(created.tags);
  if (times.boot > 0) {
    droplets.change(id, { status: "new", networks: { v4: [], v6: [] } });
    later.add(times.boot, () => {
      if (droplets.get(id)?.status === "new") droplets.change(id, { status: "active", networks });
    });
  }
  return { status: 202, body: { droplet: dropletView(droplets.existing(id)), links: { actions: [] } } };
}

const powerActions: Readonly<Record<string, Droplet["status"]>> = {
  power_off: "off",
  shutdown: "off",
  power_on: "active",
  reboot: "active",
  power_cycle: "active",
};

function act({ droplets }: Account, droplet: Droplet, body: unknown): Answer {
  const { type = "" } = Object(body) as { readonly type?: string };
  const status = powerActions[type];
  if (status === undefined) throw new Refused(422, `${type} is not an action of the simulated API`);
  droplets.change(droplet.id, { status });
  const { id, created_at, region: region_slug } = droplet;
  const times = { started_at: created_at, completed_at: created_at };
  const resource = { resource_id: id, resource_type: "droplet", region_slug };
  return { status: 201, body: { action: { id, status: "completed", type, ...times, ...resource } } };
}

export function dropletOperations(account: Account): Operations {
  const { droplets } = account;
  const path = "/v2/droplets";
  return {
    ...reads("droplets", "droplet", { records: droplets, view: dropletView, matches }),
    [`POST ${path}`]: ({ body }) => create(account, body),
    ...removal(path, droplets),
    [`DELETE ${path}`]: ({ query }) => {
      const tag = query.get("tag_name");
      if (tag === null) throw new Refused(422, "tag_name is required");
      for (const { id, tags } of droplets.list()) if (tags.includes(tag)) droplets.remove(id);
      return { status: 204 };
    },
    [`POST ${path}/{id}/actions`]: ({ id, body }) => act(account, droplets.withID(id), body),
  };
}
