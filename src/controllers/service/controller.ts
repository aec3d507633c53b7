// The service controller of a leadership session: the queue of Services, its triggers, the workers that reconcile them, and the
// reports. To follow one reconcile, start at `reconcile/reconcile.ts`.

import type { Hinted } from "../../cloud/change-stream.ts";
import { BalancerInventory } from "../../cloud/inventory/balancers.ts";
import { SharedPrefetch } from "../../cloud/inventory/shared-prefetch.ts";
import { milliseconds, type ServiceUID, seconds, serviceUID } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Service } from "../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import type { Outcome } from "../../runtime/workers.ts";
import type { ControllerReport } from "../kernel/board.ts";
import { Doubt, type Held } from "../kernel/doubt.ts";
import type { RemovalKind } from "../kernel/removal-kinds.ts";
import { type Reconciler, runController, type Subscriptions } from "../kernel/run-controller.ts";
import { Operations } from "../operations.ts";
import { otherControllerOf } from "./annotations/annotations.ts";
import type { ServiceControllerDeps } from "./deps.ts";
import { DesiredServices } from "./desired/desired-services.ts";
import { sharersOf } from "./desired/sharers.ts";
import { defaultLoadBalancerName } from "./desired/to-desired.ts";
import type { ServiceHistory } from "./history.ts";
import { BalancerCensus, removalKind } from "./observe/balancer-census.ts";
import { EvidenceUpdates } from "./observe/evidence-updates.ts";
import { mayOwnBalancer } from "./predicates.ts";
import { targetRemovalHeld } from "./reconcile/allow.ts";
import type { ReconcileDeps } from "./reconcile/context.ts";
import { handleError } from "./reconcile/failure.ts";
import { askHealth } from "./reconcile/health.ts";
import { reconcileService } from "./reconcile/reconcile.ts";
import type { ChangeKind, ObservedHealth } from "./state/record-parts.ts";
import type { ServiceState } from "./state/service-record.ts";
import { createServiceReporter } from "./status/service-reporter.ts";
import { OwnServiceWrites } from "./status/service-writes.ts";
import { describeMassHold, massHoldEnded } from "./texts.ts";
import { ServiceTracking } from "./triggers/service-tracking.ts";
import { NodeSyncLatency, startTriggers } from "./triggers/triggers.ts";

export interface ServiceReport extends ControllerReport {
  /** Why the load balancer of a Service is currently neither created nor removed, by Service key. */
  readonly holds: readonly (readonly [service: string, hold: Problem])[];
  /** Load balancers with Fairlead's mark that no Service needs. */
  readonly orphans: readonly ObservedLoadBalancer[];
  /**
   * Load balancers whose mark names no cluster and a Service that this process never saw: orphans, or load balancers of another
   * cluster.
   */
  readonly possibleOrphans: readonly ObservedLoadBalancer[];
  /** The names of load balancers that several Services share. */
  readonly shared: readonly string[];
  /** Target counts across all load balancers, by health check result; undefined if the cloud does not report it. */
  readonly targetHealth: Readonly<Record<"healthy" | "unhealthy", number>> | undefined;
  /** The listed load balancers of a Service that is gone from the API, by its key. */
  leftOf(key: string): readonly ObservedLoadBalancer[];
  /** The key of a Service in the queue. */
  nameOf(uid: string): string;
  /** Undefined for a Service that is not managed, or was not seen yet. */
  knowledgeOf(service: Service): ServiceKnowledge | undefined;
  /** Why another controller serves the Service, according to its annotations; undefined if none does. */
  otherControllerOf(service: Service): string | undefined;
}

/** For change hints. A Service that has waited for less than this is checked about once per second. */
const shortWait = seconds(15);
const soon = seconds(2);

export class ServiceController implements Reconciler {
  /** The uids of the Services to reconcile. */
  readonly queue: WorkQueue;
  readonly #parts: ReconcileDeps;

  /** `history`: the history of this process. */
  constructor(deps: ServiceControllerDeps, history: ServiceHistory) {
    const { clock } = deps;
    const { records } = history;
    const queue = new WorkQueue(clock);
    const reporter = createServiceReporter(deps.report, records);
    const nodeSyncLatency = new NodeSyncLatency(clock, deps.observer);
    const desiredServices = new DesiredServices(deps, history);
    const inventory = new BalancerInventory({ ...deps, acceptsAge: deps.settings.acceptsAge });
    const evidenceUpdates = new EvidenceUpdates(deps, records, inventory);
    const doubt = new Doubt({
      ...deps,
      kind: removalKind,
      census: new BalancerCensus(deps, records, inventory),
      memory: history.limit,
      onHold: (held) => onHold(deps, held),
    });
    const tracking = new ServiceTracking({ controller: deps, records, evidenceUpdates, queue });
    const ownWrites = new OwnServiceWrites(deps.writes, history, (key) => tracking.enqueue(key));
    const controller: ServiceControllerDeps = { ...deps, writes: ownWrites };

    this.queue = queue;
    this.#parts = {
      controller,
      history,
      queue,
      records,
      desiredServices,
      inventory,
      evidenceUpdates,
      doubt,
      nodeSyncLatency,
      tracking,
      ownWrites,
      prefetch: new SharedPrefetch(deps),
      operations: new Operations(controller, (uid) => queue.add(uid)),
      reporter,
    };
  }

  /** Reconciles during one leadership session, until the signal is aborted. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return runController(this, this.#parts.controller, signal);
  }

  *begin(signal: AbortSignal): Subscriptions {
    const deps = this.#parts;
    const { controller, history, operations, evidenceUpdates, tracking } = deps;
    const { removals, listing } = controller;
    const begun = history.beginSession();
    history.ownWrites.beginSession(controller.services);
    evidenceUpdates.start(begun);
    operations.begin(signal);
    for (const { uid, operation } of history.records.all)
      if (operation?.id !== undefined) operations.track(uid, operation.id, milliseconds(0), operation.since);
    yield () => operations.end();
    yield removals.account.follow(evidenceUpdates.witness);
    yield listing.subscribe(() => removals.account.note());
    yield* startTriggers(deps);
    yield history.standbyChanges.beginSession();
    yield removals.subscribe((kind) => this.#onRelease(kind));
    yield history.endpoints.subscribe((keys) => {
      for (const key of keys) tracking.enqueue(key);
    });
  }

  reconcile(uid: string, signal: AbortSignal): Promise<Outcome> {
    return reconcileService(this.#parts, serviceUID(uid), signal);
  }

  /** Reads the target health because a user asked about the Service; `ServiceKnowledge.health` has the result. */
  askHealth(key: string, signal: AbortSignal): Promise<void> {
    return askHealth(this.#parts, key, signal);
  }

  onError(uid: string, error: unknown, failures: number): Outcome {
    return handleError(this.#parts, serviceUID(uid), error, failures);
  }

  /**
   * The cloud reports that the load balancers with these default names may have changed: lists them, unless none of them is
   * known, or a Service that has waited briefly will list them soon anyway. After a change, the cloud reports each of its
   * effects.
   */
  requestForHints(names: Hinted, since: number): void {
    const { records, controller } = this.#parts;
    const isHinted = ({ uid }: ServiceState): boolean =>
      names === "any" || names.has(defaultLoadBalancerName(uid));
    if (names !== "any" && !records.all.some(isHinted)) return;
    const isListedSoon = [...this.queue.dueTimes].some(([uid, due]) => {
      const { waitingSince } = records.get(serviceUID(uid)) ?? {};
      return waitingSince !== undefined && due - since < soon && since - waitingSince < shortWait;
    });
    if (!isListedSoon) controller.listing.request(since, "refresh");
  }

  /** Called when an operator releases a hold of the mass limit, or the doubt about the account changes. */
  #onRelease(kind: RemovalKind): void {
    const { records, doubt, history, controller } = this.#parts;
    if (kind !== removalKind) return;
    doubt.invalidate();
    for (const { uid, hold } of records.all) {
      const isReleased = controller.removals.isReleased(removalKind, uid);
      if (isReleased && hold?.reason === targetRemovalHeld) history.vanishedNodes.believe();
      if (hold !== undefined) this.queue.add(uid);
    }
  }

  report(): ServiceReport {
    const { records } = this.#parts;
    const problems = new Map<string, readonly Problem[]>();
    for (const state of records.all) {
      const found = problemsOf(state);
      // The uid may belong to an earlier Service with this name.
      if (found.length > 0) problems.set(state.key, [...(problems.get(state.key) ?? []), ...found]);
    }
    return {
      problems,
      holds: records.all.flatMap(({ key, hold }) => (hold === undefined ? [] : [[key, hold] as const])),
      orphans: this.orphans(),
      possibleOrphans: this.#unowned().filter((one) => this.#mayBeForeign(one)),
      shared: this.#parts.inventory.shared,
      targetHealth: this.#targetHealth(),
      leftOf: (key) => this.#leftOf(key),
      nameOf: (uid) => this.nameOf(uid),
      knowledgeOf: (service) => knowledgeOf(this.#parts, service),
      otherControllerOf: (service) => otherControllerOf(this.#parts.controller.annotations, service)?.text,
    };
  }

  #targetHealth(): ServiceReport["targetHealth"] {
    const { records, controller } = this.#parts;
    if (controller.balancers.healthOf === undefined) return undefined;
    const all = records.active.flatMap(({ session }) => session.health?.summary ?? []);
    const sum = (of: "healthy" | "unhealthy") => all.reduce((total, summary) => total + summary[of], 0);
    return { healthy: sum("healthy"), unhealthy: sum("unhealthy") };
  }

  /** The key of a Service in the queue, for messages. */
  nameOf(uid: string): string {
    return this.#parts.records.get(serviceUID(uid))?.key ?? uid;
  }

  /**
   * Load balancers with Fairlead's mark whose Service does not exist or vanished, and further load balancers of one Service.
   */
  orphans(): readonly ObservedLoadBalancer[] {
    const unowned = this.#unowned().filter((one) => !this.#mayBeForeign(one));
    return [...unowned, ...this.#parts.records.all.flatMap(({ session }) => session.duplicates)];
  }

  #leftOf(key: string): readonly ObservedLoadBalancer[] {
    const { records, inventory } = this.#parts;
    return records.all.flatMap((state) =>
      state.key === key && state.goneAt !== undefined ? inventory.of(state.uid) : [],
    );
  }

  #unowned(): readonly ObservedLoadBalancer[] {
    const { records, inventory, controller } = this.#parts;
    const isOwner = (uid: ServiceUID): boolean => {
      const { phase, hold } = records.get(uid) ?? {};
      return phase === "managed" || (phase === "leaving" && hold === undefined);
    };
    const unowned = inventory.marked.filter(({ owners }) => !owners.some(isOwner));
    if (unowned.length === 0) return unowned;
    // A manager of another class that shares the account uses the same mark.
    const others = controller.services.list().filter((one) => !mayOwnBalancer(one, controller.classes));
    const owned = new Set(others.map(({ metadata }) => serviceUID(metadata.uid)));
    return unowned.filter(({ owners }) => !owners.some((uid) => owned.has(uid)));
  }

  /** If the mark does not name the cluster, an owner that was never seen may be a Service of another cluster. */
  #mayBeForeign({ owners, marksNameCluster }: ObservedLoadBalancer): boolean {
    const { records, controller } = this.#parts;
    const isNamed = marksNameCluster ?? controller.balancers.marksNameCluster === undefined;
    return !isNamed && !owners.some((uid) => records.wasKnown(uid));
  }
}

/** A hold begins, or ends. */
function onHold({ warn, note }: ServiceControllerDeps, held: Held | undefined): void {
  if (held === undefined) note(massHoldEnded, {});
  else warn(describeMassHold(held), {});
}

export interface ServiceKnowledge {
  /** The key of the Service in its queue. */
  readonly uid: ServiceUID;
  readonly balancer: ObservedLoadBalancer | undefined;
  /** The start of the listing that shows its cloud state (monotonic); undefined before the first listing. */
  readonly listedAt: number | undefined;
  /** The Nodes that should be targets; undefined if they cannot be chosen. Computed on each read, which takes time. */
  readonly targets: readonly string[] | undefined;
  /** The other Services that share its load balancer. */
  readonly sharers: readonly string[];
  /** Undefined if the cloud does not report it. */
  readonly health: ObservedHealth | undefined;
  readonly change: ChangeKind | undefined;
  /** The current findings, including waits. */
  readonly problems: readonly Problem[];
}

/** Undefined for a Service that the controller has not seen, or does not manage. */
function knowledgeOf(
  { records, desiredServices, inventory }: ReconcileDeps,
  service: Service,
): ServiceKnowledge | undefined {
  const state = records.get(serviceUID(service.metadata.uid));
  if (state?.phase !== "managed") return undefined;
  const { uid } = state;
  const { managed, change, health } = state.session;
  const listed = inventory.of(uid);
  const balancer = listed.find(({ name }) => name === managed?.name) ?? listed[0];
  return {
    uid,
    balancer,
    listedAt: Number.isFinite(inventory.beganAt) ? inventory.beganAt : undefined,
    get targets() {
      return desiredServices.tryOf(service)?.desired.targets.map(({ node }) => node);
    },
    get sharers() {
      return sharersOf(uid, balancer, { inventory, records });
    },
    health,
    change,
    problems: problemsOf(state),
  };
}

/** The hold, and reported findings that still apply. */
const problemsOf = ({ hold, board }: ServiceState): readonly Problem[] => [hold ?? [], board.all].flat();
