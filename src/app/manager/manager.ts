// Composes the manager of a process: access to the cluster, sessions with the cloud, and the controllers. Everything that waits or sends
// requests is injected, so tests run a whole manager in virtual time.

import type { Inventory } from "../../cloud/inventory/instances.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import type { Announcement } from "../../core/announcements.ts";
import type { Problem } from "../../core/problem.ts";
import { Redaction } from "../../core/redaction.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { Node, Service } from "../../kube/objects.ts";
import type { RequestObservation } from "../../kube/requests/request.ts";
import { programOf } from "../../provider/program.ts";
import type { Budget } from "../../runtime/budget.ts";
import { endOf } from "../../runtime/draining.ts";
import type { JournalEntry } from "../../runtime/journal.ts";
import { runTogether } from "../../runtime/run-together.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import { shownCloud } from "../connect-cloud.ts";
import type { LeaderMigration } from "../leadership/leader-migration.ts";
import { replicaIdentity } from "../leadership/replica-identity.ts";
import { observationOf, observationTask } from "../logging/observe-reporter.ts";
import type { ManagerMetrics } from "../metrics/manager-metrics.ts";
import { secretReader } from "../read-secret.ts";
import {
  type ManagerReport,
  type ReportedManager,
  reportOf,
  unlistedSources,
} from "../report/manager-report.ts";
import type { MissingPermissions } from "../report/missing-permissions.ts";
import { openCloudSession } from "./cloud-session.ts";
import { CloudSessions } from "./cloud-sessions.ts";
import { accessCluster } from "./cluster-access.ts";
import { isSelectedBy } from "./compose-nodes.ts";
import { composeTasks, type SessionsByLease } from "./compose-tasks.ts";
import { type VolumeCaches, volumeCaches } from "./compose-volumes.ts";
import { openInstruments } from "./instruments.ts";
import type { ManagerOptions } from "./manager-options.ts";
import { prepareReload, type Reload } from "./reload.ts";

export interface Manager extends ReportedManager {
  readonly metrics: ManagerMetrics;
  /** Undefined without leader migration. */
  readonly migration: LeaderMigration | undefined;
  /** An API client for reviews. It uses the reserved lane and has no write gate. */
  readonly reserved: KubeApi;
  readonly onKubeRequest: (request: RequestObservation) => void;
  /** The API server, the cloud and its accounts, for the log. */
  readonly connections: Readonly<Record<string, string>>;
  /** The names of the tasks that run while this replica leads. */
  readonly controllers: readonly string[];
  readonly nodes: LatestObjects<Node>;
  readonly services: LatestObjects<Service>;
  /** Undefined unless the volume controller runs here. */
  readonly volumes: VolumeCaches | undefined;
  report(): ManagerReport;
  /** The changes that observe mode has planned, each once. */
  planned(): readonly JournalEntry[];
  readonly permissions: Pick<MissingPermissions, "problem" | "notice">;
  /** Explains why the cloud counts as unavailable; undefined on replicas that do not lead, because they send no requests. */
  cloudProblem(): Problem | undefined;
  /** Upstream's `leaderElection` health check; undefined when healthy. */
  leadershipHealth(): string | undefined;
  isIdle(): boolean;
  /** Reads the current target health of a Service. Undefined if there is nothing to read, such as on a standby replica. */
  askHealth(service: string): Promise<void> | undefined;
  /** Runs until the signal that it was created with is aborted. */
  run(): Promise<void>;
  /**
   * Prepares a changed configuration and returns a function that applies it. Throws a ConfigurationError if the
   * configuration cannot be used, and then changes nothing.
   */
  prepareReload(reload: Reload): () => Promise<void>;
}

/** Explains why no instance can be known; undefined once any source was listed, even if later listings fail. */
function noneListed({ sources }: Inventory): Problem | undefined {
  return sources.some(({ latest }) => latest !== undefined) ? undefined : unlistedSources(sources)[0];
}

export async function createManager(options: ManagerOptions, signal: AbortSignal): Promise<Manager> {
  const { provider, platform, log, reloads } = options;
  /** A reload replaces the settings, except those that need a restart. */
  let { settings } = options;
  const { flags } = settings;
  const { clock, redaction = new Redaction() } = platform;
  const name = programOf(provider);
  const identity = options.identity ?? replicaIdentity(platform, name, flags.mode);
  const isObserving = flags.mode === "observe";
  /** Aborted when everything has ended. After a drain, that is later than the request to stop. */
  const life = endOf(signal);
  const instruments = openInstruments(options, {
    name,
    identity,
    redaction,
    life: life.signal,
    onCloudRecovery: () => {
      for (const queue of Object.values(composed.queues)) queue.retryNow();
    },
  });
  const { metrics, journal, plans, tracing, contact } = instruments;
  const access = await accessCluster(
    options,
    {
      name,
      identity,
      redaction,
      instruments,
      marksNameCluster: () => {
        const { loadBalancers } = sessions.main.current.connected.cloud;
        return loadBalancers !== undefined && loadBalancers.marksNameCluster === undefined;
      },
    },
    signal,
  );
  const { leadership, caches, removals, reserved, migration } = access;
  const sessionsUnder = (mayWrite: WriteGate): CloudSessions => {
    const common = {
      provider,
      platform: { ...platform, redaction },
      log,
      report: instruments.onCloudCall,
      announce: (found: Announcement) => instruments.deprecations.note("cloud", found),
      mayWrite,
      budgets: new Map<string, Budget>(),
      clusterUID: () => access.identity.uid,
      readSecret: secretReader(() => access.api),
      inProgress: () => composed.inProgress(),
      life: life.signal,
    };
    return new CloudSessions({
      open: (next) => openCloudSession(common, next),
      first: settings,
      onReplaced: () => removals.account.restart(clock.monotonic()),
    });
  };
  const sessions: SessionsByLease = {
    main: sessionsUnder(access.gateOf("main")),
    migrated: migration && sessionsUnder(access.gateOf("migrated")),
  };
  const allSessions = Object.values(sessions).filter((all) => all !== undefined);
  const { composed, running, tasks, watches, nodes, services, changes } = composeTasks({
    options,
    instruments,
    access,
    sessions,
    life: life.signal,
  });
  const leads = (): boolean => leadership.anyGate() === true;
  const reported: ReportedManager = {
    get flags() {
      return settings.flags;
    },
    program: name,
    identity,
    clock,
    journal,
    removals,
    get inventory() {
      return sessions.main.current.inventory;
    },
    contact,
    deprecations: instruments.deprecations,
    get queues() {
      return composed.queues;
    },
    startedAt: clock.monotonic(),
    get accounts() {
      return sessions.main.current.connected.accounts;
    },
    get balancers() {
      return composed.service.current?.listing;
    },
    get changes() {
      return changes();
    },
    nodes,
    services,
    isSelected: isSelectedBy(flags),
    leads,
    leases: () => leadership.leases(),
    caches: () => Object.fromEntries(watches.described.map(({ resource, cache }) => [resource, cache])),
    awaitedCaches: () => caches.awaited,
    stalled: () =>
      leadership.health() ??
      leadership.stalled() ??
      watches.all.map(({ stalled }) => stalled).find((reason) => reason !== undefined),
    pendingRestart: () => reloads?.pendingRestart ?? [],
    pendingEvents: () => access.events.events.pending,
    controllerReports: () => ({
      node: composed.node.current.report(),
      lifecycle: composed.lifecycle.current.report(),
      service: composed.service.current?.report(),
      route: composed.route.current?.report(),
      volume: composed.volume.current?.report(),
    }),
  };
  const isIdle = (): boolean =>
    watches.described.every(({ isSynced }) => isSynced) &&
    Object.values(composed.queues).every(({ depth, active }) => depth === 0 && active === 0) &&
    access.events.events.pending === 0;
  const cloudProblem = (): Problem | undefined =>
    leads() ? (contact.problem ?? noneListed(sessions.main.current.inventory)) : undefined;
  const report = (): ManagerReport => reportOf(reported);
  metrics.readFrom(report);

  /** Runs the controllers while this replica leads and the caches are current. */
  const lead = async (stop: AbortSignal): Promise<void> => {
    try {
      await leadership.run(
        {
          reserved,
          caches,
          tasks,
          onBegin: (place) => sessions[place]?.begin(),
          beforeRelease: () => access.events.flush(),
          announcements: isObserving ? undefined : access.events.announcements,
          events: isObserving ? undefined : access.events.events,
        },
        stop,
      );
    } finally {
      access.events.close();
      await Promise.all(allSessions.map((all) => all.end()));
      life.abort();
    }
  };
  const summary = observationTask(
    () =>
      isIdle() && leads() && cloudProblem() === undefined
        ? observationOf(reported, plans.planned.length)
        : undefined,
    { log, clock },
  );
  const run = (): Promise<void> =>
    runTogether(
      [
        ...leadership.watches(access.api),
        // Standby replicas watch, so that a new leader starts with warm caches.
        ...watches.all.map((watch) => leadership.afterFirstAnswer(watch)),
        ...access.events.tasks,
        ...(tracing === undefined ? [] : [tracing.task]),
        { name: "controllers", run: lead },
        ...(isObserving ? [summary] : []),
      ],
      signal,
    );
  const reloadDeps = { sessions: allSessions, clock, log };
  return Object.assign(reported, {
    metrics,
    migration,
    reserved,
    permissions: instruments.permissions,
    isIdle,
    cloudProblem,
    report,
    askHealth: (service: string) =>
      leads() ? composed.service.current?.askHealth?.(service, life.signal) : undefined,
    run,
    nodes,
    services,
    volumes: volumeCaches(provider, watches.volumes),
    planned: () => plans.planned,
    onKubeRequest: instruments.requests.kube,
    connections: { apiServer: reserved.origin, ...shownCloud(sessions.main.current.connected) },
    controllers: running,
    leadershipHealth: () => leadership.health(),
    prepareReload: (change: Reload) => {
      const apply = prepareReload(reloadDeps, change);
      return async () => {
        await apply();
        settings = change.settings;
      };
    },
  });
}
