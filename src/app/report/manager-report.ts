// The report of a running manager: what its controllers, queues, listings and accounts know at one moment, as plain data.
// `/debug/state` prints the report; `/status` and the metrics read it. A new fact is added here and where it is shown.

import type { GovernedAccount } from "../../cloud/account.ts";
import type { ChangeStream } from "../../cloud/change-stream.ts";
import type { Inventory } from "../../cloud/inventory/instances.ts";
import type { SharedListing } from "../../cloud/inventory/shared-listing.ts";
import { problemOfError } from "../../controllers/classify-error.ts";
import type { ControllerReport } from "../../controllers/kernel/board.ts";
import { removalKinds } from "../../controllers/kernel/removal-kinds.ts";
import type { RemovalMemory } from "../../controllers/kernel/removal-memory.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import type { NodeReport } from "../../controllers/node/controller.ts";
import { identityOf, isUninitialized, outOfServiceOf } from "../../controllers/node-facts.ts";
import type { LifecycleReport } from "../../controllers/node-lifecycle/controller.ts";
import type { RouteReport } from "../../controllers/route/controller.ts";
import type { ServiceReport } from "../../controllers/service/controller.ts";
import { isLoadBalancer } from "../../controllers/service/predicates.ts";
import { addressesOf } from "../../controllers/service/status/status.ts";
import { serviceUID } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { messageOf, textOf } from "../../core/error-message.ts";
import { messageIn, type Problem } from "../../core/problem.ts";
import { keyOf, type Node, type Service } from "../../kube/objects.ts";
import type { Clock } from "../../platform/clock.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { BudgetLevel } from "../../runtime/budget.ts";
import type { Journal } from "../../runtime/journal.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { VolumeReport } from "../../volumes/controller/controller.ts";
import type { ReportedKind } from "../../volumes/controller/deps.ts";
import { version } from "../build-info.ts";
import type { Flags } from "../flags/flag-table.ts";
import { judgeLease, type LeaseFact } from "../leadership/judge-leases.ts";
import { type CloudContact, reasonOfFailure } from "./cloud-contact.ts";
import type { Deprecations } from "./deprecations.ts";

/** The reports of the controllers. A controller is missing if the cloud does not support it or the flags disable it. */
export interface ControllerReports {
  readonly node: NodeReport;
  readonly lifecycle: LifecycleReport;
  readonly service: ServiceReport | undefined;
  readonly route: RouteReport | undefined;
  readonly volume: VolumeReport | undefined;
}

/** The state of a watch cache. */
export interface CacheState {
  readonly isSynced: boolean;
  readonly objects: number;
  readonly heardSecondsAgo: number;
  readonly problem: string | undefined;
}

/** The parts of the manager that are reported. */
export interface ReportedManager {
  readonly flags: Flags;
  /** The executable's name. */
  readonly program: string;
  readonly identity: string;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** Monotonic time of the start. */
  readonly startedAt: number;
  readonly journal: Journal;
  readonly removals: RemovalMemory;
  readonly inventory: Inventory;
  readonly contact: Pick<CloudContact, "requests" | "stateOf">;
  readonly deprecations: Pick<Deprecations, "all">;
  readonly accounts: readonly GovernedAccount<unknown>[];
  readonly queues: Readonly<Record<string, WorkQueue>>;
  /** Undefined if the cloud has no load balancers. */
  readonly balancers: SharedListing<ObservedLoadBalancer> | undefined;
  /** Undefined if the cloud does not report changes. */
  readonly changes: Pick<ChangeStream, "state"> | undefined;
  readonly nodes: Pick<LatestObjects<Node>, "list">;
  readonly services: Pick<LatestObjects<Service>, "list">;
  /** Whether --node-selector matches the Node. */
  isSelected(node: Node): boolean;
  leads(): boolean;
  /** The Leases that were read; empty without leader election. */
  leases(): readonly LeaseFact[];
  caches(): Readonly<Record<string, CacheState>>;
  /** The resources whose lists the controllers wait for. */
  awaitedCaches(): readonly string[];
  stalled(): string | undefined;
  /** Changed settings that take effect after a restart. */
  pendingRestart(): readonly string[];
  pendingEvents(): number;
  /** Computed on each call. */
  controllerReports(): ControllerReports;
}

/** Why the controllers are idle although nothing fails and nothing is held; undefined while they run. */
export const awaitedListsText = (resources: readonly string[]): string | undefined =>
  resources.length === 0
    ? undefined
    : `The controllers wait for a complete list of ${resources.join(" and ")} from the API server. Nothing is changed before it succeeds. The log shows why lists fail.`;

/**
 * Why no manager leads, or that another program leads; undefined while this program leads. A replica takes an expired Lease
 * immediately.
 */
export function leaderProblems({ flags, program, leads, leases }: LeaderSource) {
  const judged = leases().map((lease) => judgeLease(lease, { flags, program }));
  const isLed = leads() || judged.some(({ kind }) => kind === "leads");
  const none = judged.find(
    ({ kind, found }) => kind === "none" && (!leads() || found?.reason === "ObserverHoldsLease"),
  );
  const other = isLed ? undefined : judged.find(({ kind }) => kind === "other");
  return { noLeader: none?.found, otherLeader: other?.found };
}

export function leaderTexts(source: LeaderSource) {
  const { noLeader, otherLeader } = leaderProblems(source);
  return { noLeader: noLeader && messageIn(noLeader), otherLeader: otherLeader && messageIn(otherLeader) };
}

type LeaderSource = Pick<ReportedManager, "flags" | "program" | "leads" | "leases">;

function neverListed(what: string, error: unknown): Problem {
  const { reason = reasonOfFailure("") } = problemOfError(error) ?? {};
  return { severity: "error", reason, text: `the ${what} were never listed: ${textOf(error)}` };
}

/** The sources for which no listing has ever succeeded. */
export const unlistedSources = (sources: Inventory["sources"]): readonly Problem[] =>
  sources.flatMap(({ latest, failure, source }) =>
    latest !== undefined || failure === undefined
      ? []
      : neverListed(
          `instances of ${sources.length > 1 ? `source ${source.name}` : "the cloud"}`,
          failure.error,
        ),
  );

/** Kinds that were never listed, so that their objects are not evaluated. Without a Service, no load balancer is needed. */
export function unlisted({
  inventory,
  balancers,
  services,
}: Pick<ReportedManager, "inventory" | "balancers" | "services">): readonly string[] {
  const { latest, failure } = balancers ?? {};
  const isNeeded = latest === undefined && services.list().some(isLoadBalancer);
  const ofBalancers = isNeeded && failure ? [neverListed("load balancers", failure.error)] : [];
  return [...unlistedSources(inventory.sources), ...ofBalancers].map(({ text }) => text);
}

function budgetReport({ closedFor, closedOperations, ...level }: BudgetLevel) {
  return {
    ...level,
    closedForSeconds: secondsOf(closedFor),
    closedOperationsForSeconds: Object.fromEntries(
      Object.entries(closedOperations).map(([operation, time]) => [operation, secondsOf(time)]),
    ),
  };
}

interface ListingState {
  readonly latest: { readonly items: readonly unknown[]; readonly beganAt: number } | undefined;
  readonly failure: { readonly error: unknown; readonly since: number; readonly at: number } | undefined;
}

/** The last listing of one kind of cloud object, and since when listings have failed. */
function listingReport({ latest, failure }: ListingState, ageOf: (monotonic: number) => number) {
  return {
    objects: latest?.items.length,
    ageSeconds: latest && ageOf(latest.beganAt),
    failure: failure && {
      text: messageOf(failure.error),
      failingForSeconds: ageOf(failure.since),
      lastSecondsAgo: ageOf(failure.at),
    },
  };
}

function contactReport(state: ReturnType<CloudContact["stateOf"]>, ageOf: (monotonic: number) => number) {
  const wasAsked = state !== undefined;
  if (state === undefined || state === "answers") return { wasAsked };
  const { reason, status, text, since } = state;
  return { wasAsked, failure: { reason, status, text, failingForSeconds: ageOf(since) } };
}

const isoOf = (wall: number): string => new Date(wall).toISOString();
const secondsOf = (duration: number): number => Math.round(duration / 100) / 10;

export type ManagerReport = ReturnType<typeof reportOf>;

/** Contains no credentials and no configuration. Values that are expensive with thousands of objects are computed on access. */
export function reportOf(manager: ReportedManager) {
  const now = manager.clock.monotonic();
  const ageOf = (since: number): number => secondsOf(now - since);
  const { node, lifecycle, service, route, volume } = manager.controllerReports();
  return {
    at: isoOf(manager.clock.now()),
    version,
    identity: manager.identity,
    mode: manager.flags.mode,
    leads: manager.leads(),
    leases: manager.leases(),
    ...leaderTexts(manager),
    runsForSeconds: ageOf(manager.startedAt),
    isStalledBecause: manager.stalled(),
    pendingRestart: manager.pendingRestart(),
    caches: manager.caches(),
    awaitedCaches: manager.awaitedCaches(),
    queues: Object.entries(manager.queues).map(([name, queue]) => ({
      name,
      waiting: queue.depth,
      delayed: queue.delayed,
      active: queue.active,
      /** The time of the next attempt for each delayed key. */
      get next() {
        return [...queue.dueTimes]
          .toSorted(([, a], [, b]) => a - b)
          .map(([key, due]) => ({
            key: name === "service" ? (service?.nameOf(key) ?? key) : key,
            inSeconds: secondsOf(Math.max(0, due - now)),
          }));
      },
    })),
    /** Empty if no controller needs instances, because they are never listed then. */
    inventory: (manager.inventory.isNeeded ? manager.inventory.sources : []).map((listing) => ({
      source: listing.source.name,
      ...listingReport(listing, ageOf),
    })),
    /** The connection through which the cloud reports changes. Unset on standby replicas, and for clouds without one. */
    changes: changesOf(manager, ageOf),
    /** The sources that the credentials cannot access. */
    unreadableSources: manager.inventory.withoutAccess,
    accounts: manager.accounts.map(({ name, budget, breakers }) => ({
      name,
      budget: budgetReport(budget.level),
      endpoints: breakers(),
      ...contactReport(manager.contact.stateOf(name), ageOf),
    })),
    /** Cloud requests since the start of the process, by account and operation. */
    requests: manager.contact.requests,
    /** Announcements of the cloud and the API server from the last day. */
    deprecations: manager.deprecations.all,
    get nodesUninitialized() {
      const isOurs = (one: Node): boolean =>
        manager.isSelected(one) && manager.inventory.manages(identityOf(one));
      return manager.nodes.list().filter((one) => isUninitialized(one) && isOurs(one)).length;
    },
    /** k3s and RKE2 Nodes with --foreign-nodes=targets, by result. */
    get foreignNodes() {
      return manager.nodes.list().flatMap((one) => node.foreignMatchOf(one)?.kind ?? []);
    },
    /** The Nodes with an out-of-service taint that Fairlead set. */
    get nodesOutOfService() {
      return manager.nodes.list().filter((one) => outOfServiceOf(one) === "Fairlead's").length;
    },
    /** The controllers' current findings: problems, holds, waits and notices. */
    findings: [
      ...findingsAbout("Node", [node, lifecycle, route], ageOf),
      ...findingsAbout("RouteTable", route && [{ problems: route.tables }], ageOf),
      ...findingsAbout("Service", [service], ageOf),
      ...[...(volume ?? [])].flatMap(([kind, problems]) => findingsAbout(kind, [{ problems }], ageOf)),
    ],
    get evidenceOfAbsence() {
      return [...lifecycle.evidence].map(([name, { since, proofs }]) => ({
        node: name,
        notReadyForSeconds: ageOf(since),
        proofs: proofs.map(({ kind, beganAt }) => ({ kind, ageSeconds: ageOf(beganAt) })),
      }));
    },
    get balancers() {
      return balancersOf(manager);
    },
    /** The load balancer listing, if the cloud has load balancers. */
    balancerListings: [manager.balancers ?? []].flat().map((listing) => listingReport(listing, ageOf)),
    /** Load balancers that are neither created nor removed until an absence is proved. */
    balancersOnHold: (service?.holds ?? []).map(([name, hold]) => ({
      service: name,
      reason: hold.reason,
      message: messageIn(hold),
    })),
    /** The counts of the mass limits, and the names of held objects. */
    massLimits: removalKinds.map((kind) => ({
      kind,
      recent: manager.removals.count(kind),
      held: manager.removals.held(kind),
      // The command without the quotes that it has in a sentence.
      howToRelease: manager.removals.howToRelease(kind).replaceAll("`", ""),
    })),
    /** Target health across all load balancers, as last observed. */
    targetHealth: service?.targetHealth,
    orphans: namesOf(service?.orphans),
    possibleOrphans: namesOf(service?.possibleOrphans),
    sharedBalancers: (service?.shared ?? []).map((name) => ({ name })),
    /** The result of the last sync of each route table. */
    routes: route?.syncs ?? [],
    eventsWaiting: manager.pendingEvents(),
    /** The last writes, newest first. */
    get journal() {
      return manager.journal
        .entries()
        .toReversed()
        .map((entry) => ({ ...entry, at: isoOf(entry.at) }));
    },
  };
}

const namesOf = (balancers: ServiceReport["orphans"] = []) => balancers.map(({ name }) => ({ name }));

function findingsAbout(
  object: "Node" | "Service" | "RouteTable" | ReportedKind,
  reports: readonly (ControllerReport | undefined)[] = [],
  ageOf: (monotonic: number) => number,
) {
  return reports.flatMap((report) =>
    [...(report?.problems ?? [])].flatMap(([name, found]) =>
      found.map(({ since, severity, reason, cause, text, effect, remedy, promise, attempts }) =>
        defined({
          object,
          name,
          severity,
          reason,
          cause,
          text,
          effect,
          remedy,
          promise,
          attempts,
          sinceSeconds: since && ageOf(since),
        }),
      ),
    ),
  );
}

function changesOf({ changes }: ReportedManager, ageOf: (monotonic: number) => number) {
  const state = changes?.state;
  if (state === undefined) return undefined;
  const { openSince, heardAt, failure } = state;
  return { openForSeconds: openSince && ageOf(openSince), heardSecondsAgo: ageOf(heardAt), failure };
}

/** Each load balancer with Fairlead's mark, with its Service and its addresses. */
function balancersOf({ balancers, services }: ReportedManager) {
  const byUID = new Map(services.list().map((one) => [serviceUID(one.metadata.uid), one]));
  return (balancers?.latest?.items ?? [])
    .filter(({ ownership }) => ownership === "ours")
    .map(({ name, state, owners }) => {
      const [owner] = owners.flatMap((uid) => byUID.get(uid) ?? []);
      return defined({
        name,
        state,
        service: owner && keyOf(owner.metadata),
        addresses: owner === undefined ? [] : addressesOf(owner),
      });
    });
}
