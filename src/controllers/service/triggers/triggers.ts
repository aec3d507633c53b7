// Enqueues Services when they, Nodes or machines change, and after listings. Decides only which Services to reconcile, and
// how soon, and measures the time from a change of Nodes until every load balancer has been reconciled.

import type { BalancerInventory } from "../../../cloud/inventory/balancers.ts";
import { type Milliseconds, seconds, serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { Change } from "../../../kube/watch/store.ts";
import type { Clock } from "../../../platform/clock.ts";
import { Debounce } from "../../../runtime/debounce.ts";
import { priorities, type WorkQueue } from "../../../runtime/work-queue.ts";
import type { Doubt } from "../../kernel/doubt.ts";
import type { Subscriptions } from "../../kernel/run-controller.ts";
import type { ServiceControllerDeps, ServiceObserver } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import type { EvidenceUpdates } from "../observe/evidence-updates.ts";
import { isEnding } from "../predicates.ts";
import { isBackingOff, type ServiceState } from "../state/service-record.ts";
import type { ServiceRecords } from "../state/service-records.ts";
import type { OwnServiceWrites } from "../status/service-writes.ts";
import { isRelevantNodeChange } from "../targets/candidate-targets.ts";
import type { ServiceTracking } from "./service-tracking.ts";

export interface TriggerDeps {
  readonly controller: ServiceControllerDeps;
  /** The uids of the Services to reconcile. */
  readonly queue: WorkQueue;
  readonly records: ServiceRecords;
  readonly desiredServices: DesiredServices;
  readonly tracking: ServiceTracking;
  readonly ownWrites: OwnServiceWrites;
  readonly evidenceUpdates: EvidenceUpdates;
  readonly inventory: BalancerInventory;
  readonly doubt: Doubt;
  readonly nodeSyncLatency: NodeSyncLatency;
}

/** When a user changes a Service, its load balancer is not reread within this time. */
const sameReadingFor: Milliseconds = seconds(30);

/** Enqueues all Services once, then the Services that a change affects. */
export function* startTriggers(deps: TriggerDeps): Subscriptions {
  const { controller, desiredServices, records } = deps;
  const { services, nodes, isSelected, onMachines, listing, clock, balancers } = controller;
  const nodeChanges = new Debounce(clock, () => onNodeChanges(deps));
  yield services.subscribe((change) => onServiceChange(deps, change));
  yield nodes.subscribe(({ before, after }) => {
    const labelsMatter = records.hasTargetSelector || balancers.reaches !== undefined;
    if (!isRelevantNodeChange(before, after, { labelsMatter, isSelected })) return;
    // The server is probably gone too, and some clouds then remove it from the targets.
    if (after === undefined && balancers.toleratesMissingTargets !== true) deps.inventory.expire();
    nodeChanges.trigger();
  });
  yield onMachines(() => nodeChanges.trigger());
  yield listing.subscribe(() => onListing(deps));
  yield () => nodeChanges.stop();
  desiredServices.targets.refresh();
  enqueueAll(deps);
}

/** Finds what changed while another replica was the leader. */
function enqueueAll({ controller, queue, records, tracking }: TriggerDeps): void {
  const { services, clock } = controller;
  const before = records.all;
  const managed = before.filter(({ phase }) => phase === "managed");
  for (const { metadata } of services.list()) tracking.track(keyOf(metadata));
  for (const record of managed) {
    if (services.get(record.key)?.metadata.uid === record.uid) continue;
    tracking.track(record.key);
    record.noteGone(clock.monotonic());
  }
  for (const { uid } of before) records.end(uid);
  for (const { uid } of records.active) queue.add(uid);
}

function onServiceChange(deps: TriggerDeps, change: Change<Service>): void {
  const { key, before, after } = change;
  const { controller, records, tracking, ownWrites, doubt } = deps;
  const { listing, clock } = controller;
  const isNews = ownWrites.isNews(change);
  // This may be a Service that vanished. The listing shows whether the hold lasts.
  if (before === undefined && doubt.isHolding) listing.request(clock.monotonic(), "refresh");
  const record = before && records.get(serviceUID(before.metadata.uid));
  if (before === undefined || before.metadata.uid === after?.metadata.uid) {
    if (!isNews) return;
    tracking.enqueue(key);
    records.managed(key)?.noteNews(clock.monotonic());
    record?.endRefusals();
    if (record?.phase === "managed" && after !== undefined && !isEnding(after, controller.classes))
      noteEdit(deps, record);
    return;
  }
  // The Service is gone, or another Service has its name, so its load balancer must be removed.
  const wasManaged = record?.phase === "managed";
  if (isNews || wasManaged) tracking.enqueue(key);
  records.managed(key)?.noteNews(clock.monotonic());
  if (wasManaged) record.noteGone(clock.monotonic());
  records.end(serviceUID(before.metadata.uid));
}

function onListing(deps: TriggerDeps): void {
  const { controller, queue, records, inventory } = deps;
  const hasFailed = controller.listing.failure !== undefined;
  if (!hasFailed) {
    deps.evidenceUpdates.update();
    deps.doubt.refresh();
    deps.tracking.enqueueLeftovers(inventory);
  }
  for (const uid of inventory.answered) queue.add(uid, { priority: priorities.answered });
  if (hasFailed) return;
  for (const state of records.all) {
    const { uid, phase, session } = state;
    if (inventory.isWaiting(uid) || phase === "idle" || inventory.isAtRest(uid, session.observation))
      continue;
    if (isBackingOff(state, controller.clock.monotonic())) continue;
    queue.add(uid, { priority: priorities.background });
  }
}

/**
 * A user who changes a Service may also have changed something in the cloud. The time between two such reads is limited,
 * because a tenant may change a Service constantly.
 */
function noteEdit({ controller: { clock }, inventory }: TriggerDeps, state: ServiceState): void {
  const { observation } = state.session;
  const isReread = observation?.balancer !== undefined;
  const at = clock.monotonic();
  if (at - (isReread ? observation.readAt : inventory.beganAt) < sameReadingFor) return;
  if (isReread) state.noteEdit(at);
  else inventory.refresh();
}

function onNodeChanges({ controller, queue, records, desiredServices, nodeSyncLatency }: TriggerDeps): void {
  if (!desiredServices.targets.refresh()) return;
  const now = controller.clock.monotonic();
  const uids = records.active.flatMap((state) => (isBackingOff(state, now) ? [] : state.uid));
  nodeSyncLatency.begin(uids);
  for (const uid of uids) queue.add(uid);
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

  begin(uids: Iterable<string>): void {
    if (this.#remaining.size === 0) this.#beganAt = this.#clock.monotonic();
    for (const uid of uids) this.#remaining.add(uid);
  }

  /** Called when the load balancer is complete, has failed, or is gone. */
  end(uid: string): void {
    if (!this.#remaining.delete(uid) || this.#remaining.size > 0) return;
    this.#observer.onNodeSync(this.#clock.monotonic() - this.#beganAt);
  }
}
