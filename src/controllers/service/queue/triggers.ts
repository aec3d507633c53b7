// Enqueues groups when Services, Nodes or machines change, and after listings. It decides only which groups to reconcile, and how
// soon, and measures the time from a change of Nodes until every load balancer has been reconciled.

import { serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { Change } from "../../../kube/watch/store.ts";
import type { Clock } from "../../../platform/clock.ts";
import { Debounce } from "../../../runtime/debounce.ts";
import { priorities, type WorkQueue } from "../../../runtime/work-queue.ts";
import type { ServiceControllerDeps, ServiceObserver } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import type { BalancerMassLimit } from "../observed/balancer-mass-count.ts";
import type { EvidenceUpdates } from "../observed/evidence-updates.ts";
import type { FreshListing } from "../observed/fresh-listing.ts";
import { isEnding } from "../predicates.ts";
import { type GroupState, isBackingOff } from "../state/group-state.ts";
import type { GroupStates } from "../state/group-states.ts";
import type { ServiceStates } from "../state/service-states.ts";
import type { OwnServiceWrites } from "../status/service-writes.ts";
import { isRelevantNodeChange } from "../targets/candidate-targets.ts";
import type { GroupAssignment } from "./group-assignment.ts";

export interface TriggerDeps {
  readonly controller: ServiceControllerDeps;
  readonly queue: WorkQueue;
  readonly groupStates: GroupStates;
  readonly serviceStates: ServiceStates;
  readonly desiredServices: DesiredServices;
  readonly assignment: GroupAssignment;
  readonly ownWrites: OwnServiceWrites;
  readonly evidenceUpdates: EvidenceUpdates;
  readonly freshListing: FreshListing;
  readonly massLimit: BalancerMassLimit;
  readonly nodeSyncLatency: NodeSyncLatency;
}

/** Enqueues all groups once, then those that a change affects. Returns a function that stops it. */
export function startTriggers(deps: TriggerDeps): () => void {
  const { controller, desiredServices, serviceStates } = deps;
  const { services, nodes, isSelected, onMachines, listing, clock, balancers } = controller;
  const nodeChanges = new Debounce(clock, () => onNodeChanges(deps));
  const stops = [
    services.subscribe((change) => onServiceChange(deps, change)),
    nodes.subscribe(({ before, after }) => {
      const labelsMatter = serviceStates.hasTargetSelector || balancers.reaches !== undefined;
      if (!isRelevantNodeChange(before, after, { labelsMatter, isSelected })) return;
      // Its server is probably gone too, and some clouds then remove it from the targets themselves.
      if (after === undefined && balancers.toleratesMissingTargets !== true) deps.freshListing.expire();
      nodeChanges.trigger();
    }),
    onMachines(() => nodeChanges.trigger()),
    listing.subscribe(() => onListing(deps)),
    () => nodeChanges.stop(),
  ];
  desiredServices.targets.refresh();
  enqueueAll(deps);
  return () => {
    for (const stop of stops) stop();
  };
}

/** Finds what changed while another replica was the leader. */
function enqueueAll({ controller, queue, groupStates, serviceStates, assignment }: TriggerDeps): void {
  const { services, clock } = controller;
  const assigned = serviceStates.all.map(({ key, uid, group }) => ({ key, uid, group }));
  for (const { metadata } of services.list()) {
    for (const group of assignment.assign(keyOf(metadata))) queue.add(group);
  }
  for (const { key, uid, group } of assigned) {
    if (group === undefined || services.get(key)?.metadata.uid === uid) continue;
    assignment.assign(key);
    groupStates.noteGone(group, uid, clock.monotonic());
  }
  groupStates.dropServices(
    serviceStates.all.map(({ uid }) => uid),
    services,
  );
  for (const { group, pendingReleases } of groupStates.all) {
    if (pendingReleases.size === 0) groupStates.drop(group);
  }
  for (const group of groupStates.names) queue.add(group);
}

function onServiceChange(deps: TriggerDeps, change: Change<Service>): void {
  const { key, before, after } = change;
  const { controller, groupStates, serviceStates, assignment, ownWrites, massLimit, freshListing } = deps;
  const { listing, clock } = controller;
  const isNews = ownWrites.isNews(change);
  // It may be one that vanished. The listing shows whether the mass limit still holds.
  if (before === undefined && massLimit.isHolding) listing.request(clock.monotonic(), "refresh");
  if (before === undefined || before.metadata.uid === after?.metadata.uid) {
    if (isNews) assignment.enqueue(key);
    if (isNews && before !== undefined) {
      const state = serviceStates.of(before);
      state.endRefusals();
      const group = state.group === undefined ? undefined : groupStates.get(state.group);
      if (group !== undefined && after !== undefined && !isEnding(after)) freshListing.noteEdit(group);
    }
    return;
  }
  // It is gone, or another Service has its name now: its group must release its load balancer.
  const uid = serviceUID(before.metadata.uid);
  const group = groupStates.groupOf(uid);
  if (isNews || group !== undefined) assignment.enqueue(key);
  if (group !== undefined) groupStates.noteGone(group, uid, clock.monotonic());
  groupStates.dropServices([uid], controller.services);
}

function onListing(deps: TriggerDeps): void {
  const { controller, queue, groupStates, freshListing } = deps;
  const hasFailed = controller.listing.failure !== undefined;
  if (!hasFailed) {
    deps.evidenceUpdates.update();
    deps.massLimit.refresh();
    deps.assignment.enqueueLeftovers(freshListing.index);
  }
  const states = groupStates.all;
  const isRequested = ({ listingRequestedAt }: GroupState): boolean => listingRequestedAt !== undefined;
  for (const { group } of states.filter(isRequested)) queue.add(group, { priority: priorities.urgent });
  if (hasFailed) return;
  const { names } = groupStates;
  for (const state of states) {
    if (isRequested(state) || !names.has(state.group)) continue;
    if (isBackingOff(state, controller.clock.monotonic()) || freshListing.isAtRest(state)) continue;
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
  if (!desiredServices.targets.refresh()) return;
  const now = controller.clock.monotonic();
  const groups = [...groupStates.names].filter((group) => !isBackingOff(groupStates.of(group), now));
  nodeSyncLatency.begin(groups);
  for (const group of groups) queue.add(group);
}

export class NodeSyncLatency {
  readonly #clock: Clock;
  readonly #observer: Pick<ServiceObserver, "onNodeSync">;
  readonly #remaining = new Set<string>();
  #beganAt = 0;

  constructor(clock: Clock, observer: Pick<ServiceObserver, "onNodeSync">) {
    this.#clock = clock;
    this.#observer = observer;
  }

  begin(groups: Iterable<string>): void {
    if (this.#remaining.size === 0) this.#beganAt = this.#clock.monotonic();
    for (const group of groups) this.#remaining.add(group);
  }

  /** The group is complete, has failed, or is gone. */
  end(group: string): void {
    if (!this.#remaining.delete(group) || this.#remaining.size > 0) return;
    this.#observer.onNodeSync(this.#clock.monotonic() - this.#beganAt);
  }
}
