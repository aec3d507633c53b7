// What /status shows, as data: the state of every Node and Service, and what the manager knows besides. Computed from the running
// manager in one pass.

import { providerIDOf } from "../../controllers/node-facts.ts";
import { removalKinds } from "../../controllers/removal-history.ts";
import type { Node } from "../../kube/objects.ts";
import { describeServicesBriefly, type NodeDescriber, nodeDescriber } from "../describe/describe-object.ts";
import { addressesOf } from "../describe/describe-service.ts";
import type { Brief } from "../describe/description.ts";
import type { Manager } from "../manager/manager.ts";
import { type Tone, toneOf } from "./tone.ts";

export interface NodeDetails extends Brief {
  readonly address: string | undefined;
  readonly providerID: string | undefined;
}

/** Texts only: a snapshot is kept for a while, and must not keep replaced objects in memory. */
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

export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

export type Snapshot = ReturnType<typeof snapshotOf>;

const order: Readonly<Record<Tone, number>> = { bad: 0, waiting: 1, quiet: 2, good: 2 };

/** What needs attention first; otherwise by name, as kubectl does. */
function sorted<T extends NodeRow | ServiceRow>(rows: T[]): readonly T[] {
  return rows.sort(
    (a, b) => order[a.tone] - order[b.tone] || (a.name < b.name ? -1 : Number(a.name > b.name)),
  );
}

function detailsOf(node: Node, { describe }: NodeDescriber): NodeDetails {
  const address = node.status.addresses?.find(({ type }) => type === "InternalIP")?.address;
  return { ...describe(node), address, providerID: providerIDOf(node) };
}

function nodeRows(manager: Manager, now: number): readonly NodeRow[] {
  const describer = nodeDescriber(manager, now);
  const rows = manager.nodes.list().map((node): NodeRow => {
    const { name } = node.metadata;
    if (describer.isPlain(node)) return { name, tone: "good" };
    const details = detailsOf(node, describer);
    return { name, tone: toneOf(details), details };
  });
  return sorted(rows);
}

/** Now; undefined if the Node was deleted. */
function readDetails(manager: Manager, name: string, now: number): NodeDetails | undefined {
  const node = manager.nodes.get(name);
  return node && detailsOf(node, nodeDescriber(manager, now));
}

function serviceRows(manager: Manager, now: number): readonly ServiceRow[] {
  const rows = describeServicesBriefly(manager, now).map(
    ({ service, ...brief }): ServiceRow => ({
      ...brief,
      tone: toneOf(brief),
      addresses: [...new Set(addressesOf(service))],
    }),
  );
  return sorted(rows);
}

export type ToneCounts = Readonly<Record<Tone, number>>;

function countTones(rows: readonly { readonly tone: Tone }[]): ToneCounts {
  const counts = { good: 0, waiting: 0, bad: 0, quiet: 0 };
  for (const { tone } of rows) counts[tone] += 1;
  return counts;
}

/** Of each table, if there are several. */
function routeSyncs(manager: Manager) {
  const syncs = manager.lastRouteSync();
  return syncs === undefined ? [] : "isComplete" in syncs ? [syncs] : syncs;
}

export function snapshotOf(manager: Manager, now: Moment) {
  const nodes = nodeRows(manager, now.monotonic);
  const services = serviceRows(manager, now.monotonic);
  return {
    at: now,
    identity: manager.identity,
    mode: manager.mode,
    leads: manager.leads(),
    holders: manager.holders(),
    runsFor: now.monotonic - manager.startedAt,
    stalled: manager.stalled(),
    pendingRestart: manager.pendingRestart(),
    caches: Object.entries(manager.caches()),
    nodes,
    detailsOf: ({ name, details }: NodeRow) => details ?? readDetails(manager, name, now.monotonic),
    services,
    nodeCounts: countTones(nodes),
    serviceCounts: countTones(services),
    routes: routeSyncs(manager),
    balancerHolds: manager.balancerHolds(),
    massLimits: removalKinds.map((kind) => ({
      kind,
      recent: manager.removals.count(kind),
      held: manager.removals.held(kind),
      howToRelease: manager.removals.howToRelease(kind),
    })),
    orphans: manager.orphans(),
    journal: manager.journal.entries().toReversed(),
    sources: manager.inventory.sources,
    unreadable: manager.inventory.unreadable,
    balancerListings: manager.balancers?.parts ?? [],
    accounts: manager.accounts,
    calls: manager.cloudCalls.all,
    queues: Object.entries(manager.queues),
  };
}
