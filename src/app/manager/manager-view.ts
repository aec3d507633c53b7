// The read-only view of a running manager, for pages, health checks and tests.

import type { GovernedAccount } from "../../cloud/account.ts";
import type { ChangeStream } from "../../cloud/change-stream.ts";
import type { Inventory } from "../../cloud/inventory.ts";
import type { PartListings } from "../../cloud/part-listings.ts";
import type { NodeController } from "../../controllers/node/controller.ts";
import type { LifecycleController } from "../../controllers/node-lifecycle/controller.ts";
import type { RemovalHistory } from "../../controllers/removal-history.ts";
import type { RouteSync } from "../../controllers/route/deps.ts";
import type { BalancerHold } from "../../controllers/service/controller.ts";
import type { ServiceKnowledge } from "../../controllers/service/reconcile/knowledge.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { Service } from "../../kube/objects.ts";
import type { RequestObservation } from "../../kube/requests/request.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { Journal } from "../../runtime/journal.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import { shownCloud } from "../connect-cloud.ts";
import type { Flags } from "../flags/table.ts";
import type { LeaderMigration } from "../leadership/leader-migration.ts";
import type { Leadership } from "../leadership/leadership.ts";
import type { ManagerMetrics } from "../metrics/manager-metrics.ts";
import type { CloudCalls } from "./cloud-calls.ts";
import type { CloudContact } from "./cloud-contact.ts";
import type { Controllers } from "./compose-controllers.ts";
import type { CurrentCloud } from "./current-cloud.ts";
import type { CacheState, WatchedResource } from "./watched-resource.ts";

export interface ViewDeps {
  readonly flags: Flags;
  readonly identity: string;
  /** On the monotonic clock. */
  readonly startedAt: number;
  readonly journal: Journal;
  /** The memory of the mass limits, and what they hold. */
  readonly removals: RemovalHistory;
  readonly metrics: ManagerMetrics;
  readonly inventory: Inventory;
  readonly connected: CurrentCloud;
  readonly contact: CloudContact;
  readonly leadership: Leadership;
  /** Undefined without leader migration. */
  readonly migration: LeaderMigration | undefined;
  readonly composed: Controllers;
  /** Undefined if the cloud does not report changes. */
  readonly changes: Pick<ChangeStream, "state"> | undefined;
  /** Names of the tasks that run while this replica leads. */
  readonly running: readonly string[];
  /** Only running watches: a resource is watched only if a controller needs it. */
  readonly watches: Readonly<Record<string, Pick<WatchedResource, "cache" | "isSynced" | "stalled">>>;
  readonly events: { readonly pending: number };
  /** For reviews: in the reserved lane and without a write gate. */
  readonly reserved: KubeApi;
  readonly onKubeRequest: (request: RequestObservation) => void;
  /** Changed settings that take effect after a restart. */
  readonly pendingRestart: () => readonly string[];
}

type FromDeps =
  | "flags"
  | "identity"
  | "startedAt"
  | "journal"
  | "removals"
  | "metrics"
  | "inventory"
  | "changes"
  | "migration"
  | "reserved"
  | "onKubeRequest"
  | "pendingRestart";

export interface ManagerView extends Pick<ViewDeps, FromDeps> {
  readonly mode: Flags["mode"];
  readonly cloudCalls: CloudCalls;
  /** The API server, the cloud and its accounts, for the log. */
  readonly connections: Readonly<Record<string, string>>;
  readonly queues: Readonly<Record<string, WorkQueue>>;
  readonly accounts: readonly GovernedAccount<unknown>[];
  /** Undefined if the cloud has no load balancers. */
  readonly balancers: PartListings<ObservedLoadBalancer> | undefined;
  /** Nodes with a problem, by name. */
  readonly problems: NodeController["problems"]["all"];
  /** Nodes that are left alone, or have an annotation without effect, by name. */
  readonly nodeNotices: NodeController["problems"]["notices"];
  /** Nodes that may be deleted or tainted, by name. */
  readonly candidates: LifecycleController["candidates"];
  readonly controllers: readonly string[];
  leads(): boolean;
  /** The holder of each Lease; empty without leader election. */
  holders(): Readonly<Record<string, string | undefined>>;
  membersOf(group: string): readonly string[];
  orphans(): readonly ObservedLoadBalancer[];
  balancerHolds(): readonly BalancerHold[];
  serviceProblems(): ReadonlyMap<string, readonly string[]>;
  /** What is known about one Service; undefined if it is not managed, or was not seen yet. */
  serviceKnowledge(service: Service): ServiceKnowledge | undefined;
  /** The problems of routes that concern single Nodes, by name. */
  routeProblems(): ReadonlyMap<string, readonly Problem[]>;
  lastRouteSync(): RouteSync | readonly RouteSync[] | undefined;
  caches(): Readonly<Record<string, CacheState>>;
  /** Why the cloud counts as unavailable; undefined on replicas that do not lead, because they send no requests. */
  cloudProblem(): string | undefined;
  /** Upstream's `leaderElection` health check; undefined when healthy. */
  leadershipHealth(): string | undefined;
  /** Why the process should be restarted; undefined while it makes progress. */
  stalled(): string | undefined;
  pendingEvents(): number;
  isIdle(): boolean;
}

export function viewOf(deps: ViewDeps): ManagerView {
  const { flags, connected, contact, leadership, composed, events, reserved } = deps;
  const { node, lifecycle, service, route, queues } = composed;
  const watches = Object.values(deps.watches);
  const leads = (): boolean => leadership.anyGate() === true;
  return {
    flags,
    identity: deps.identity,
    startedAt: deps.startedAt,
    journal: deps.journal,
    removals: deps.removals,
    metrics: deps.metrics,
    cloudCalls: contact.calls,
    inventory: deps.inventory,
    changes: deps.changes,
    migration: deps.migration,
    reserved,
    onKubeRequest: deps.onKubeRequest,
    pendingRestart: deps.pendingRestart,
    mode: flags.mode,
    connections: { apiServer: reserved.origin, ...shownCloud(connected) },
    queues,
    get accounts() {
      return connected.accounts;
    },
    balancers: service?.listing,
    problems: node.problems.all,
    nodeNotices: node.problems.notices,
    candidates: lifecycle.candidates,
    controllers: deps.running,
    leads,
    holders: () => leadership.holders(),
    membersOf: (group) => service?.membersOf(group) ?? [],
    orphans: () => service?.orphans() ?? [],
    balancerHolds: () => service?.holds() ?? [],
    serviceProblems: () => service?.activeProblems() ?? new Map(),
    serviceKnowledge: (one) => service?.knowledgeOf(one),
    routeProblems: () => route?.nodeProblems() ?? new Map(),
    lastRouteSync: () => route?.lastSync(),
    caches: () =>
      Object.fromEntries(Object.entries(deps.watches).map(([name, watch]) => [name, watch.cache] as const)),
    cloudProblem: () => (leads() ? contact.problem : undefined),
    leadershipHealth: () => leadership.health(),
    stalled: () =>
      leadership.health() ??
      leadership.stalled() ??
      watches.map(({ stalled }) => stalled).find((reason) => reason !== undefined),
    pendingEvents: () => events.pending,
    isIdle: () =>
      watches.every(({ isSynced }) => isSynced) &&
      Object.values(queues).every(({ depth, active }) => depth === 0 && active === 0) &&
      events.pending === 0,
  };
}
