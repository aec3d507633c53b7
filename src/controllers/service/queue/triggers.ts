// What enqueues groups: changes of Services, Nodes and machines, and listings. It decides which groups to reconcile and how
// soon, never what to do.

import { serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import { Debounce } from "../../../runtime/debounce.ts";
import { priorities, type WorkQueue } from "../../../runtime/work-queue.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import { dropGroupState, dropServiceStates } from "../state/drop-states.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { ServiceStates } from "../state/service-states.ts";
import type { NodeSyncLatency } from "../status/node-sync-latency.ts";
import { isRelevantNodeChange } from "../targets/eligible-nodes.ts";
import { claimMarkedBalancers } from "./claim-marked.ts";
import type { OwnServiceWrites } from "./own-service-writes.ts";
import type { Placement } from "./placement.ts";

export interface TriggerDeps {
  readonly controller: ServiceControllerDeps;
  readonly queue: WorkQueue;
  readonly groupStates: GroupStates;
  readonly serviceStates: ServiceStates;
  readonly desiredServices: DesiredServices;
  readonly placement: Placement;
  readonly ownWrites: OwnServiceWrites;
  readonly nodeSyncLatency: NodeSyncLatency;
}

interface ServiceChange {
  readonly key: string;
  readonly before?: Service;
  readonly after?: Service;
}

/** Enqueues everything once, then whatever changes. Returns a function that stops it. */
export function startTriggers(deps: TriggerDeps): () => void {
  const { controller, desiredServices, serviceStates } = deps;
  const { services, nodes, isSelected, onMachines, listing, clock } = controller;
  const nodeChanges = new Debounce(clock, () => onNodeChanges(deps));
  const stops = [
    services.subscribe((change) => onServiceChange(deps, change)),
    nodes.subscribe(({ before, after }) => {
      const labelsMatter = serviceStates.all.some((state) => state.lastTargetRules?.selector !== undefined);
      if (isRelevantNodeChange(before, after, { labelsMatter, isSelected })) nodeChanges.trigger();
    }),
    onMachines(() => nodeChanges.trigger()),
    listing.subscribe(() => onListing(deps)),
    () => nodeChanges.stop(),
  ];
  desiredServices.refreshTargets();
  enqueueAll(deps);
  return () => {
    for (const stop of stops) stop();
  };
}

/** What happened while another replica led is found here. */
function enqueueAll({ controller, queue, groupStates, serviceStates, placement }: TriggerDeps): void {
  const { services } = controller;
  const placed = serviceStates.all.filter(({ group }) => group !== undefined);
  for (const { metadata } of services.list()) {
    for (const group of placement.place(keyOf(metadata))) queue.add(group);
  }
  for (const { key } of placed) if (services.get(key) === undefined) placement.place(key);
  dropServiceStates(
    serviceStates.all.map(({ uid }) => uid),
    services,
    serviceStates,
    groupStates,
  );
  for (const { group, pendingReleases } of groupStates.all) {
    if (pendingReleases.size === 0) dropGroupState(group, groupStates);
  }
  for (const group of groupStates.names) queue.add(group);
}

function onServiceChange(deps: TriggerDeps, { key, before, after }: ServiceChange): void {
  const { controller, groupStates, serviceStates, placement, ownWrites } = deps;
  const isNews = ownWrites.isNews(key, before, after);
  if (before === undefined || before.metadata.uid === after?.metadata.uid) {
    if (isNews) placement.enqueue(key);
    return;
  }
  // It is gone, or another Service took its name: its group must release what it has.
  const uid = serviceUID(before.metadata.uid);
  if (isNews || groupStates.groupOf(uid) !== undefined) placement.enqueue(key);
  dropServiceStates([uid], controller.services, serviceStates, groupStates);
}

function onListing(deps: TriggerDeps): void {
  const { controller, queue, groupStates } = deps;
  const { listing, clock } = controller;
  const hasFailed = listing.failure !== undefined;
  if (!hasFailed) claimMarkedBalancers(deps);
  const states = groupStates.all;
  const isRequested = ({ listingRequestedAt }: { listingRequestedAt: number | undefined }) =>
    listingRequestedAt !== undefined;
  for (const { group } of states.filter(isRequested)) queue.add(group, { priority: priorities.urgent });
  if (hasFailed) return;
  const { names } = groupStates;
  for (const state of states) {
    if (isRequested(state) || state.isBackingOff(clock.monotonic()) || !names.has(state.group)) continue;
    queue.add(state.group, { priority: priorities.background });
  }
}

function onNodeChanges({
  controller,
  queue,
  groupStates,
  desiredServices,
  nodeSyncLatency,
}: TriggerDeps): void {
  if (!desiredServices.refreshTargets()) return;
  const now = controller.clock.monotonic();
  const groups = [...groupStates.names].filter((group) => groupStates.get(group)?.isBackingOff(now) !== true);
  nodeSyncLatency.begin(groups);
  for (const group of groups) queue.add(group);
}
