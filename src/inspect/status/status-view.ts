// The content of /status: the manager's report, and a row for every Node, Service and volume. Computed in one pass.

import type { Manager } from "../../app/manager/manager.ts";
import { providerIDOf } from "../../controllers/node-facts.ts";
import { addressesOf } from "../../controllers/service/status/status.ts";
import type { Node } from "../../kube/objects.ts";
import { Describer } from "../explain/describe-object.ts";
import { type Brief, briefly, type Describable } from "../explain/description.ts";
import { type Tone, toneOf } from "./words.ts";

export interface Details extends Brief {
  /** Cell texts, by column title. */
  readonly cells: Readonly<Record<string, string | undefined>>;
}

/** Contains only texts, because a view is kept for a while and must not keep replaced objects in memory. */
export interface Row {
  readonly name: string;
  readonly tone: Tone;
  /** Undefined if the object was deleted in the meantime. Reasons of a settled Node are computed only when it is shown. */
  details(): Details | undefined;
}

export type StatusView = ReturnType<typeof statusViewOf>;

const order: Readonly<Record<Tone, number>> = { bad: 0, waiting: 1, quiet: 2, good: 2 };

/** Objects that need attention first; otherwise by name, as in kubectl. */
function sorted(rows: Row[]): readonly Row[] {
  return rows.sort(
    (a, b) => order[a.tone] - order[b.tone] || (a.name < b.name ? -1 : Number(a.name > b.name)),
  );
}

function row(subject: Describable, cells: Details["cells"]): Row {
  const details = { ...briefly(subject), cells };
  return { name: details.name, tone: toneOf(details), details: () => details };
}

function nodeRow(node: Node, describer: Describer): Row {
  const address = node.status.addresses?.find(({ type }) => type === "InternalIP")?.address;
  return row(describer.node(node), { Address: address, "Provider id": providerIDOf(node) });
}

export type ToneCounts = Readonly<Record<Tone, number>>;

function countTones(rows: readonly Row[]): ToneCounts {
  const counts = { good: 0, waiting: 0, bad: 0, quiet: 0 };
  for (const { tone } of rows) counts[tone] += 1;
  return counts;
}

export function statusViewOf(manager: Manager) {
  const describer = new Describer(manager);
  const settledRow = (name: string): Row => ({
    name,
    tone: "good",
    details: () => {
      const node = manager.nodes.get(name);
      return node && nodeRow(node, describer).details();
    },
  });
  const nodes = sorted(
    manager.nodes
      .list()
      .map((node) => (describer.isPlain(node) ? settledRow(node.metadata.name) : nodeRow(node, describer))),
  );
  const services = sorted(
    describer.services.map((service) =>
      row(describer.service(service), {
        Address: [...new Set(addressesOf(service))].join(", ") || undefined,
      }),
    ),
  );
  const volumes = describer.volumes.map((volume) => row(volume, volume.facts()));
  return {
    report: manager.report(),
    nodes,
    services,
    /** Undefined unless the volume controller runs here. */
    volumes: manager.volumes && sorted(volumes),
    nodeCounts: countTones(nodes),
    serviceCounts: countTones(services),
  };
}
