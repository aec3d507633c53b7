// The service controller: its state, the queue of groups, what enqueues them, the workers that reconcile them, and what it reports. To
// follow one reconcile, start at `reconcile/reconcile.ts`.

import type { Hinted } from "../../cloud/change-stream.ts";
import { seconds, serviceUID } from "../../core/brand.ts";
import type { Service } from "../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { priorities, WorkQueue } from "../../runtime/work-queue.ts";
import { runWorkers } from "../../runtime/workers.ts";
import type { RemovalKind } from "../absence/removal-history.ts";
import { Operations } from "../operations.ts";
import { allFindings, type ControllerReport, type Finding } from "../reporter.ts";
import { otherControllerOf, readsAnnotation } from "./annotations/annotations.ts";
import type { ServiceControllerDeps } from "./deps.ts";
import { DesiredServices } from "./desired/desired-services.ts";
import { isFactAnnotation, isFactLabel } from "./desired/facts.ts";
import { SharedPrefetch } from "./desired/shared-prefetch.ts";
import { BalancerMassLimit, removalKind } from "./observed/balancer-mass-count.ts";
import { EvidenceUpdates } from "./observed/evidence-updates.ts";
import { FreshListing } from "./observed/fresh-listing.ts";
import { GroupAssignment } from "./queue/group-assignment.ts";
import { followDeletions, isRelevantChange, StandbyChanges } from "./queue/relevant-change.ts";
import { NodeSyncLatency, startTriggers } from "./queue/triggers.ts";
import { OwnerLock, type ReconcileDeps } from "./reconcile/context.ts";
import { handleError } from "./reconcile/failure.ts";
import { targetRemovalHeld } from "./reconcile/limit-changes.ts";
import { reconcileGroup } from "./reconcile/reconcile.ts";
import type { Change } from "./state/group-parts.ts";
import { isBackingOff } from "./state/group-state.ts";
import { GroupStates } from "./state/group-states.ts";
import { type ServiceState, ServiceStates } from "./state/service-states.ts";
import { describeMassHold, type MassHold, massHoldEnded } from "./status/events.ts";
import { createServiceReporter } from "./status/service-reporter.ts";
import { OwnServiceWrites } from "./status/service-writes.ts";
import { EndpointNodes } from "./targets/endpoint-nodes.ts";

export interface BalancerHold {
  readonly group: string;
  readonly services: readonly string[];
  readonly reason: string;
  readonly message: string;
}

export interface ServiceReport extends ControllerReport {
  /** Groups whose load balancer is neither created nor removed for now. */
  readonly holds: readonly BalancerHold[];
  /** Load balancers with Fairlead's mark that no Service needs. */
  readonly orphans: readonly ObservedLoadBalancer[];
  /** Their marks name no cluster, and a Service that this process never saw: orphans, or load balancers of another cluster. */
  readonly possibleOrphans: readonly ObservedLoadBalancer[];
  /** Keys of the Services in a group. */
  membersOf(group: string): readonly string[];
  /** What the cloud lists for a Service that is gone from the API, by its key. */
  leftOf(key: string): readonly ObservedLoadBalancer[];
  /** Undefined for a Service that is not managed, or was not seen yet. */
  knowledgeOf(service: Service): ServiceKnowledge | undefined;
  /** Why another controller serves the Service, as its annotations say; undefined if none does. */
  otherControllerOf(service: Service): string | undefined;
}

/** For hints: a group that has not waited for longer is checked about once per second. */
const shortWait = seconds(15);
const soon = seconds(2);

export class ServiceController {
  /** The groups to reconcile. */
  readonly queue: WorkQueue;
  readonly #endpoints: EndpointNodes;
  readonly #parts: ReconcileDeps;

  constructor(deps: ServiceControllerDeps) {
    const { clock } = deps;
    const queue = new WorkQueue(clock);
    const serviceStates = new ServiceStates();
    const groupStates = new GroupStates(serviceStates, {
      remembersGroups: deps.balancers.marksNameCluster === false,
    });
    followDeletions(deps, serviceStates);
    const reporter = createServiceReporter(deps.report, serviceStates);
    const nodeSyncLatency = new NodeSyncLatency(clock, deps.observer);
    const endpoints = new EndpointNodes(deps);
    const desiredServices = new DesiredServices(deps, serviceStates, endpoints);
    const freshListing = new FreshListing(deps, desiredServices);
    const evidenceUpdates = new EvidenceUpdates(deps, groupStates, freshListing.index);
    deps.removals.account.follow(evidenceUpdates.witness, deps.listing);
    const massLimit = new BalancerMassLimit(
      { ...deps, onHold: (hold) => onHold(deps, hold) },
      groupStates,
      freshListing.index,
    );
    const assignment = new GroupAssignment({
      controller: deps,
      groupStates,
      serviceStates,
      desiredServices,
      evidenceUpdates,
      reporter,
      queue,
    });
    const ownWrites = new OwnServiceWrites(deps.writes, isRelevantTo(deps), (key) => assignment.enqueue(key));
    const controller: ServiceControllerDeps = { ...deps, writes: ownWrites };

    this.queue = queue;
    this.#endpoints = endpoints;
    this.#parts = {
      controller,
      queue,
      groupStates,
      serviceStates,
      desiredServices,
      freshListing,
      evidenceUpdates,
      massLimit,
      nodeSyncLatency,
      assignment,
      ownWrites,
      standbyChanges: new StandbyChanges(deps),
      prefetch: new SharedPrefetch(controller),
      operations: new Operations(controller, (group) => queue.add(group)),
      ownerLock: new OwnerLock(),
      reporter,
    };
  }

  /** Reconciles during one leadership session, until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const deps = this.#parts;
    const { controller, groupStates, operations, freshListing, evidenceUpdates, standbyChanges } = deps;
    deps.massLimit.begin();
    freshListing.expire();
    evidenceUpdates.begin();
    standbyChanges.isLeading = true;
    for (const state of groupStates.all) state.reset("session");
    operations.begin(signal);
    const stopTriggers = startTriggers(deps);
    const stopReleases = controller.removals.subscribe((kind) => this.#onRelease(kind));
    try {
      await Promise.all([
        runWorkers(
          {
            queue: this.queue,
            count: controller.concurrency,
            reconcile: (group, workerSignal) => reconcileGroup(deps, group, workerSignal),
            onError: (group, error, failures) => handleError(deps, group, error, failures),
            clock: controller.clock,
          },
          signal,
        ),
        deps.assignment.run(signal),
        this.#endpoints.run(signal, (keys) => {
          for (const key of keys) deps.assignment.enqueue(key);
        }),
      ]);
    } finally {
      stopTriggers();
      standbyChanges.isLeading = false;
      stopReleases();
      controller.removals.endHolds(removalKind);
      operations.end();
    }
  }

  /**
   * The cloud says that these load balancers may have changed: lists them, unless none of them is known, or a group that has
   * waited for a short time lists them soon anyway. After a change, the cloud reports each of its effects.
   */
  requestForHints(groups: Hinted, since: number): void {
    const { groupStates, controller } = this.#parts;
    const isKnown = (group: string): boolean => groupStates.get(group) !== undefined;
    if (groups !== "any" && ![...groups].some(isKnown)) return;
    const isListedSoon = [...this.queue.dueTimes].some(([group, due]) => {
      const waitingSince = groupStates.get(group)?.waitingSince ?? Number.NEGATIVE_INFINITY;
      return isKnown(group) && due - since < soon && since - waitingSince < shortWait;
    });
    if (!isListedSoon) controller.listing.request(since, "refresh");
  }

  /** The settings have changed: every group is reconciled again, unless it waits for a backoff. */
  reconsider(): void {
    const { groupStates, serviceStates, controller } = this.#parts;
    const now = controller.clock.monotonic();
    // Another account or network may accept what was refused.
    for (const state of serviceStates.all) state.endRefusals();
    for (const group of groupStates.names) {
      const state = groupStates.get(group);
      if (state !== undefined && isBackingOff(state, now)) continue;
      this.queue.add(group, { priority: priorities.background });
    }
  }

  /** Another account may answer from now on: absence must be proved again. */
  forgetEvidence(): void {
    const { freshListing, evidenceUpdates } = this.#parts;
    freshListing.expire();
    evidenceUpdates.forget();
  }

  /** An operator released what the mass limit holds, or the doubt about the account has changed. */
  #onRelease(kind: RemovalKind): void {
    const { groupStates, massLimit, desiredServices, controller } = this.#parts;
    if (kind !== removalKind) return;
    massLimit.invalidate();
    for (const { group, hold } of groupStates.all) {
      const isReleased = controller.removals.isReleased(removalKind, group);
      if (isReleased && hold?.reason === targetRemovalHeld) desiredServices.targets.vanished.believe();
      if (hold !== undefined) this.queue.add(group);
    }
  }

  report(): ServiceReport {
    const { groupStates, serviceStates } = this.#parts;
    const findings = new Map<string, readonly Finding[]>();
    for (const state of serviceStates.all) {
      const found = findingsOf(groupStates, state);
      // An earlier Service of this name may still be known by its uid.
      if (found.length > 0) findings.set(state.key, [...(findings.get(state.key) ?? []), ...found]);
    }
    return {
      findings,
      holds: groupStates.all.flatMap(({ group, hold, members }) =>
        hold === undefined
          ? []
          : { group, services: [...members], reason: hold.reason, message: hold.message },
      ),
      orphans: this.orphans(),
      possibleOrphans: this.#unowned().filter((one) => this.#mayBeForeign(one)),
      membersOf: (group) => groupStates.membersOf(group),
      leftOf: (key) => this.#leftOf(key),
      knowledgeOf: (service) => knowledgeOf(this.#parts, service),
      otherControllerOf: (service) => otherControllerOf(this.#parts.controller.annotations, service)?.text,
    };
  }

  /** Keys of the Services in a group. */
  membersOf(group: string): readonly string[] {
    return this.#parts.groupStates.membersOf(group);
  }

  /**
   * Load balancers with Fairlead's mark whose group has no Service and none that has left it, or whose Services vanished; and those
   * beyond the first of a group.
   */
  orphans(): readonly ObservedLoadBalancer[] {
    const unowned = this.#unowned().filter((one) => !this.#mayBeForeign(one));
    return [...unowned, ...this.#parts.groupStates.all.flatMap(({ duplicates }) => duplicates)];
  }

  #leftOf(key: string): readonly ObservedLoadBalancer[] {
    const { groupStates, freshListing } = this.#parts;
    return groupStates.all.flatMap(({ group, goneServices }) =>
      [...goneServices.values()].some((gone) => gone.key === key) ? freshListing.index.ofGroup(group) : [],
    );
  }

  #unowned(): readonly ObservedLoadBalancer[] {
    const { groupStates, freshListing } = this.#parts;
    const { names } = groupStates;
    const isOwned = (group: string): boolean => {
      const state = groupStates.get(group);
      return names.has(group) && (state?.hold === undefined || state.members.size > 0);
    };
    return freshListing.index.marked.filter(({ group }) => !isOwned(group));
  }

  /** Without the cluster in the mark, an owner that was never seen may be a Service of another cluster. */
  #mayBeForeign({ group, marksNameCluster }: ObservedLoadBalancer): boolean {
    const { groupStates, controller } = this.#parts;
    const isNamed = marksNameCluster ?? controller.balancers.marksNameCluster ?? true;
    return !isNamed && !groupStates.wasKnown(group);
  }
}

/** A hold of the mass limit begins, or ends. */
function onHold({ warn, note }: ServiceControllerDeps, hold: MassHold | undefined): void {
  if (hold === undefined) note(massHoldEnded, {});
  else warn(describeMassHold(hold), {});
}

/** Changes of facts are relevant too; the provider declares where they are stored. */
function isRelevantTo({ annotations, facts }: Pick<ServiceControllerDeps, "annotations" | "facts">) {
  const isOurAnnotation = readsAnnotation(annotations, (key) => isFactAnnotation(facts, key));
  const isOurLabel = (key: string): boolean => isFactLabel(facts, key);
  return (before: Service | undefined, after: Service | undefined): boolean =>
    isRelevantChange(before, after, isOurAnnotation, isOurLabel);
}

export interface ServiceKnowledge {
  /** The key of its queue. */
  readonly group: string;
  /** The Services that share its load balancer, without itself. */
  readonly sharedWith: readonly string[];
  readonly balancer: ObservedLoadBalancer | undefined;
  /** When the listing began that shows what the cloud has for it (monotonic); undefined before the first one. */
  readonly listedAt: number | undefined;
  /** The Nodes that should be targets; undefined if they cannot be chosen. Chosen when it is read, which takes time. */
  readonly targets: readonly string[] | undefined;
  /** The change in progress. */
  readonly change: Change | undefined;
  /** What applies now, also about waiting. */
  readonly findings: readonly Finding[];
}

/** Undefined for a Service that the controller has not seen, or does not manage. */
function knowledgeOf(
  { groupStates, serviceStates, desiredServices, freshListing }: ReconcileDeps,
  service: Service,
): ServiceKnowledge | undefined {
  const uid = serviceUID(service.metadata.uid);
  const known = serviceStates.get(uid);
  if (known?.group === undefined) return undefined;
  const { group, key } = known;
  const state = groupStates.get(group);
  const listed = freshListing.index.ofGroup(group);
  return {
    group,
    sharedWith: groupStates.membersOf(group).filter((member) => member !== key),
    balancer: listed.find(({ name }) => name !== undefined && name === state?.managed?.name) ?? listed[0],
    listedAt: state && Number.isFinite(freshListing.beganAt) ? freshListing.beganAt : undefined,
    get targets() {
      return desiredServices.tryOf(service)?.desired.targets.map(({ node }) => node);
    },
    change: state?.change,
    findings: findingsOf(groupStates, known),
  };
}

/** The hold of its group, and the events that were published and still apply. */
function findingsOf(
  groupStates: ReconcileDeps["groupStates"],
  { group, published }: ServiceState,
): readonly Finding[] {
  const hold = group === undefined ? undefined : groupStates.get(group)?.hold;
  const held: readonly Finding[] =
    hold === undefined ? [] : [{ kind: "hold", reason: hold.reason, text: hold.message }];
  return [...held, ...allFindings(published)];
}
