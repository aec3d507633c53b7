// What /status shows: the report of the manager, and a row for every Node, Service and volume. Computed in one pass.

import { providerIDOf } from "../../controllers/node-facts.ts";
import { addressesOf } from "../../controllers/service/status/status.ts";
import type { Node } from "../../kube/objects.ts";
import { Describer } from "../explain/describe-object.ts";
import { describeVolume, factsOfVolume } from "../explain/describe-volume.ts";
import type { Brief } from "../explain/description.ts";
import type { Manager } from "../manager/manager.ts";
import { type Tone, toneOf } from "./words.ts";

export interface NodeDetails extends Brief {
  readonly address: string | undefined;
  readonly providerID: string | undefined;
}

/** Texts only: a view is kept for a while, and must not keep replaced objects in memory. */
export interface NodeRow {
  readonly name: string;
  readonly tone: Tone;
  /** Absent for a settled Node: its details are read when it is shown. */
  readonly details?: NodeDetails;
}

export interface ServiceRow extends Brief {
  readonly tone: Tone;
  readonly addresses: readonly string[];
}

export interface VolumeRow extends Brief {
  readonly tone: Tone;
  readonly volume: string;
  readonly attachedTo: string;
}

export type StatusView = ReturnType<typeof statusViewOf>;

const order: Readonly<Record<Tone, number>> = { bad: 0, waiting: 1, quiet: 2, good: 2 };

/** What needs attention first; otherwise by name, as kubectl does. */
function sorted<T extends NodeRow | ServiceRow | VolumeRow>(rows: T[]): readonly T[] {
  return rows.sort(
    (a, b) => order[a.tone] - order[b.tone] || (a.name < b.name ? -1 : Number(a.name > b.name)),
  );
}

function detailsOf(node: Node, describer: Describer): NodeDetails {
  const address = node.status.addresses?.find(({ type }) => type === "InternalIP")?.address;
  return { ...describer.nodeBriefly(node), address, providerID: providerIDOf(node) };
}

function nodeRow(node: Node, describer: Describer): NodeRow {
  const { name } = node.metadata;
  if (describer.isPlain(node)) return { name, tone: "good" };
  const details = detailsOf(node, describer);
  return { name, tone: toneOf(details), details };
}

export type ToneCounts = Readonly<Record<Tone, number>>;

function countTones(rows: readonly { readonly tone: Tone }[]): ToneCounts {
  const counts = { good: 0, waiting: 0, bad: 0, quiet: 0 };
  for (const { tone } of rows) counts[tone] += 1;
  return counts;
}

export function statusViewOf(manager: Manager) {
  const describer = new Describer(manager);
  const nodes = sorted(manager.nodes.list().map((node) => nodeRow(node, describer)));
  const services = sorted(
    describer.services.map((service): ServiceRow => {
      const brief = describer.serviceBriefly(service);
      return { ...brief, tone: toneOf(brief), addresses: [...new Set(addressesOf(service))] };
    }),
  );
  const volumes = sorted(
    describer.volumes.map((known): VolumeRow => {
      const brief = describeVolume(known);
      const { Volume: volume = "", "Attached to": attachedTo = "" } = factsOfVolume(known);
      return { ...brief, tone: toneOf(brief), volume, attachedTo };
    }),
  );
  return {
    report: manager.report(),
    nodes,
    services,
    /** Undefined unless the volume controller runs here. */
    volumes: manager.volumes && volumes,
    nodeCounts: countTones(nodes),
    serviceCounts: countTones(services),
    /** Undefined if the Node was deleted meanwhile. */
    detailsOf: ({ name, details }: NodeRow): NodeDetails | undefined => {
      if (details !== undefined) return details;
      const node = manager.nodes.get(name);
      return node && detailsOf(node, describer);
    },
  };
}
