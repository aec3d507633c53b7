// Composes the manager of a process: the Kubernetes client, the cloud, and the controllers. Everything that waits or sends
// requests is injected, so tests run a whole manager in virtual time.

import type { AccountContext } from "../../cloud/account.ts";
import { Inventory } from "../../cloud/inventory.ts";
import { RemovalMemory } from "../../controllers/absence/removal-memory.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import { defined } from "../../core/defined.ts";
import { messageOf } from "../../core/error-message.ts";
import { Redaction } from "../../core/redaction.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { Node, Service } from "../../kube/objects.ts";
import type { RequestObservation } from "../../kube/requests/request.ts";
import { nodes as nodeResource, services as serviceResource } from "../../kube/resources.ts";
import { GarbageMeter, reconcileGarbage } from "../../platform/memory.ts";
import { programOf } from "../../provider/program.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { endOf } from "../../runtime/draining.ts";
import { Journal, type JournalEntry } from "../../runtime/journal.ts";
import { runTogether } from "../../runtime/run-together.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import type { Log } from "../../telemetry/log.ts";
import { version } from "../build-info.ts";
import { ClusterIdentity } from "../cluster-identity.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import type { ConfigurationReloads } from "../configuration/configuration-reloads.ts";
import { shownCloud } from "../connect-cloud.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import { howToGrant } from "../grant-command.ts";
import { connectKube } from "../kube-client.ts";
import { CurrentCaches } from "../leadership/current-caches.ts";
import { type LeaderMigration, readMigrationOf } from "../leadership/leader-migration.ts";
import { Leadership } from "../leadership/leadership.ts";
import { replicaIdentity } from "../leadership/replica-identity.ts";
import { ApiServerProblems, CloudProblems } from "../logging/connection-problems.ts";
import { observationOf, observationTask, PlanReporter } from "../logging/observe-reporter.ts";
import { requestReporter } from "../logging/request-reporter.ts";
import { ManagerMetrics } from "../metrics/manager-metrics.ts";
import { accessNeeds, leaseOf, permissionsOf } from "../permissions.ts";
import { CloudContact, type CloudProblem } from "../report/cloud-contact.ts";
import {
  type ManagerReport,
  type ReportedManager,
  reportOf,
  unlistedSources,
} from "../report/manager-report.ts";
import { MissingPermissions } from "../report/missing-permissions.ts";
import { reportSkew } from "../report/server-times.ts";
import { accountOf, ServiceAccountToken } from "../service-account-token.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { openTracing } from "../tracing/tracing.ts";
import { replaceAfterAbandonedCalls } from "./abandoned-calls.ts";
import { composeChanges } from "./compose-changes.ts";
import { composeControllers, composeRefresh, composeSettingsCheck } from "./compose-controllers.ts";
import { isSelectedBy } from "./compose-nodes.ts";
import { type VolumeObjects, volumeObjects, watchVolumes } from "./compose-volumes.ts";
import { type ControllerContext, LiveSettings } from "./controller-context.ts";
import { CurrentClouds } from "./current-clouds.ts";
import { ManagerEvents } from "./manager-events.ts";
import { openClouds } from "./open-clouds.ts";
import { prepareReload, type Reload } from "./reload.ts";
import { type AnyWatch, WatchedResource } from "./watched-resource.ts";

export interface ManagerOptions {
  readonly provider: AnyProvider;
  readonly settings: ReadFlags;
  readonly platform: ManagerPlatform;
  readonly log: Log;
  /** The holder identity in the Lease. If unset, a new one. */
  readonly identity?: string;
  /** A short status for systemd. */
  readonly onStatus?: (text: string) => void;
  /** The results of reloading the configuration. If unset, the configuration is never reloaded. */
  readonly reloads?: Pick<ConfigurationReloads, "pendingRestart" | "isRefused">;
}

export interface Manager extends ReportedManager {
  readonly metrics: ManagerMetrics;
  /** Undefined without leader migration. */
  readonly migration: LeaderMigration | undefined;
  /** For reviews: in the reserved lane and without a write gate. */
  readonly reserved: KubeApi;
  readonly onKubeRequest: (request: RequestObservation) => void;
  /** The API server, the cloud and its accounts, for the log. */
  readonly connections: Readonly<Record<string, string>>;
  /** Names of the tasks that run while this replica leads. */
  readonly controllers: readonly string[];
  readonly nodes: LatestObjects<Node>;
  readonly services: LatestObjects<Service>;
  /** Undefined unless the volume controller runs here. */
  readonly volumes: VolumeObjects | undefined;
  report(): ManagerReport;
  /** The changes that observe mode has planned, each once. */
  planned(): readonly JournalEntry[];
  readonly permissions: Pick<MissingPermissions, "problem" | "notice">;
  /** Why the cloud counts as unavailable; undefined on replicas that do not lead, because they send no requests. */
  cloudProblem(): CloudProblem | undefined;
  /** Upstream's `leaderElection` health check; undefined when healthy. */
  leadershipHealth(): string | undefined;
  isIdle(): boolean;
  /** Runs until the signal that it was created with is aborted. */
  run(): Promise<void>;
  /**
   * Prepares a changed configuration and returns how to apply it. Throws a ConfigurationError if it cannot be used; nothing
   * has changed then.
   */
  prepareReload(reload: Reload): () => Promise<void>;
}

/** Why no instance of the cloud can be known; undefined once any source was listed, even if later listings fail. */
function noneListed({ sources }: Inventory): CloudProblem | undefined {
  return sources.some(({ latest }) => latest !== undefined) ? undefined : unlistedSources(sources)[0];
}

export async function createManager(options: ManagerOptions, signal: AbortSignal): Promise<Manager> {
  const { provider, platform, log, onStatus, reloads } = options;
  const live = new LiveSettings(options.settings);
  const { flags, controllers: enabled } = live.current;
  const { clock, random, files, collectGarbage, redaction = new Redaction() } = platform;
  const name = programOf(provider);
  const identity = options.identity ?? replicaIdentity(platform, name, flags.mode);
  const isObserving = flags.mode === "observe";
  /** Aborted when everything has ended, which after a drain is later than the request to stop. */
  const life = endOf(signal);

  const removals = new RemovalMemory(clock);
  const journal = new Journal();
  const metrics = new ManagerMetrics(clock, () => reloads?.isRefused === true);
  const plans = new PlanReporter(log);
  journal.subscribe(metrics.mutation);
  journal.subscribe((entry) => plans.report(entry));
  const garbage = new GarbageMeter({ collect: collectGarbage, resident: platform.residentBytes });
  const { apply: redact } = redaction;
  const tracing = openTracing({ flags, platform, log, metrics, name, identity, redact, life: life.signal });
  const cloudProblems = new CloudProblems(log, clock, () => {
    for (const queue of Object.values(composed.queues)) queue.retryNow();
  });
  const requests = requestReporter(log, metrics, cloudProblems, tracing);
  const apiServerProblems = new ApiServerProblems(log, clock);
  const grantHint = (user: string | undefined) => howToGrant(name, live.current.given, user);
  const permissions = new MissingPermissions(
    permissionsOf(accessNeeds(live.current), leaseOf(flags)),
    grantHint,
    log,
  );

  const { migration, problems } = await readMigrationOf(flags, files);
  if (problems.length > 0) throw new ConfigurationError(problems);
  const leadership = new Leadership({
    flags,
    program: name,
    identity,
    clock,
    random,
    log,
    migration,
    onSession: (lease, isLeader) => {
      metrics.leads(lease, isLeader);
      onStatus?.(isLeader ? `Leader of Lease ${lease}` : `Standby: waiting for Lease ${lease}`);
    },
    onProblem: (error) => apiServerProblems.failed(error),
    onSlowPath: metrics.slowElection,
    removals,
    marksNameCluster: () => {
      const { loadBalancers } = connected.cloud;
      return loadBalancers !== undefined && loadBalancers.marksNameCluster !== false;
    },
  });
  const caches = new CurrentCaches({ clock, log, stop: signal });
  const gateOf = (place: "main" | "migrated", task?: ControllerName): WriteGate => {
    const holdsLease = leadership.gateOf(place);
    const isCurrent = caches.gateFor(task);
    return () => {
      const allowed = holdsLease();
      return allowed === true ? isCurrent() : allowed;
    };
  };
  const gates = {
    main: gateOf("main"),
    migrated: migration === undefined ? undefined : gateOf("migrated"),
  };

  const { api, reserved, withToken } = await connectKube(
    flags,
    { ...platform, transport: reportSkew(platform.transport, clock, log) },
    {
      userAgent: `${name}/${version}`,
      mayWrite: gates.main,
      onRequest: (request) => {
        requests.kube(request);
        permissions.observe(request);
      },
      onDecoded: (bytes) => garbage.add(bytes),
      redact,
      howToGrant: grantHint,
    },
    signal,
  );
  metrics.kube.serverIs(api.origin);
  const identified = new ClusterIdentity({
    api,
    clock,
    log,
    onProblem: (error) => apiServerProblems.failed(error),
  });
  caches.follow(identified);
  const contact = new CloudContact(clock);
  const report: AccountContext["report"] = (call) => {
    requests.cloud(call);
    contact.record(call);
  };
  const clouds = new CurrentClouds(
    (settings, generation) =>
      openClouds({
        provider,
        settings,
        platform,
        log,
        gates,
        generation,
        clusterUID: () => identified.uid,
        life: life.signal,
        report,
        redaction,
      }),
    options.settings,
  );
  const { instances, main: connected } = clouds;
  const inventory = new Inventory({
    instances,
    clock,
    signal: life.signal,
    onListenerError: (error) =>
      log.error(`Cannot process an answer about instances; skipped until the next one: ${messageOf(error)}`),
  });
  const watchDeps = { api, clock, random, problems: apiServerProblems, collectGarbage };
  const nodes = new WatchedResource(nodeResource, watchDeps);
  const services = new WatchedResource(serviceResource, watchDeps);
  const managerEvents = new ManagerEvents({
    api,
    clock,
    random,
    log,
    mayWrite: () => leadership.anyGate(),
    onLost: (why, { reason, object }) => {
      metrics.kube.lostEvent(why);
      log.debug(2, "Dropped an event", { why, reason, object: object.name });
    },
  });
  const { events } = managerEvents;

  const context: ControllerContext = {
    api,
    reader: api,
    clock,
    random,
    files,
    collectGarbage,
    log,
    journal,
    metrics,
    events,
    settings: live.current,
    isObserving,
    connected,
    inventory,
    nodes: nodes.objects,
    followCache: (cache, task) => caches.follow(cache, task),
    removals,
    reportOnLease: (controller, event) => leadership.report(controller, event),
    formerLeaders: () => leadership.formerLeaders,
    life: life.signal,
  };
  const accounts = new Map<string, KubeApi>();
  /** In observe mode nothing is written, not even a service account. */
  const clientOf = (task: ControllerName): KubeApi => {
    const account = flags["use-service-account-credentials"] && !isObserving ? accountOf[task] : undefined;
    if (account === undefined) return api;
    const client = accounts.get(account) ?? withToken(new ServiceAccountToken(account, reserved, clock));
    accounts.set(account, client);
    return client;
  };
  /** Controllers under the shared Lease have their own write gates. */
  const contextOf = (task: ControllerName): ControllerContext => {
    const isMigrated = gates.migrated !== undefined && leadership.isMigrated(task);
    const mayWrite = gateOf(isMigrated ? "migrated" : "main", task);
    const client = clientOf(task).as({ mayWrite });
    return { ...context, api: client, ...(isMigrated && { connected: clouds.migrated }) };
  };
  const volumeWatches =
    enabled.has("volume") && leadership.isHere("volume")
      ? watchVolumes(provider, connected.cloud, watchDeps)
      : undefined;
  const composed = composeControllers({
    provider,
    instances,
    contextOf,
    volumeWatches,
    watchDeps,
    services: services.objects,
    onComposed: () => watchQueues(),
  });
  const changes = composeChanges(context, composed);
  clouds.onReplaced(changes.restart);
  replaceAfterAbandonedCalls({ provider: provider.name, clouds, inventory, composed, log });
  const watchedQueues = new Map<string, WorkQueue>();
  const watchQueues = (): void => {
    for (const [queueName, queue] of Object.entries(composed.queues)) {
      if (watchedQueues.get(queueName) === queue) continue;
      watchedQueues.set(queueName, queue);
      metrics.queues.watch(queueName, queue);
      const isOfNodes = queueName === "Nodes" || queueName === "node-lifecycle";
      queue.observe({ done: () => (isOfNodes ? garbage.add(reconcileGarbage) : garbage.collectIfGrown()) });
      tracing?.follow(queueName, queue);
    }
  };
  watchQueues();

  const refresh = composeRefresh(inventory, clock, flags);
  const check = composeSettingsCheck(context);
  const controllers = composed.tasks.filter((task) => enabled.has(task.name) && leadership.isHere(task.name));
  const needsServices = controllers.some((task) => task.name === "service");
  // Without the service controller, the permission to list Services may be missing.
  const watches = defined({ nodes, services: needsServices ? services : undefined, ...volumeWatches });
  const allWatches: readonly AnyWatch[] = Object.values(watches).filter((watch) => watch !== undefined);
  caches.follow(nodes);
  if (needsServices) caches.follow(services, "service");
  for (const watch of Object.values(volumeWatches ?? {})) caches.follow(watch, "volume");

  const leads = (): boolean => leadership.anyGate() === true;
  const reported: ReportedManager = {
    flags,
    program: name,
    identity,
    clock,
    journal,
    removals,
    inventory,
    contact,
    get queues() {
      return composed.queues;
    },
    startedAt: clock.monotonic(),
    get accounts() {
      return connected.accounts;
    },
    get balancers() {
      return composed.service?.listing;
    },
    changes: changes.stream,
    nodes: nodes.objects,
    services: services.objects,
    isSelected: isSelectedBy(flags),
    leads,
    leases: () => leadership.leases(),
    caches: () => Object.fromEntries(Object.entries(watches).map(([plural, { cache }]) => [plural, cache])),
    awaitedCaches: () => caches.awaited,
    stalled: () =>
      leadership.health() ??
      leadership.stalled() ??
      allWatches.map(({ stalled }) => stalled).find((reason) => reason !== undefined),
    pendingRestart: () => reloads?.pendingRestart ?? [],
    pendingEvents: () => events.pending,
    controllerReports: () => ({
      node: composed.node.report(),
      lifecycle: composed.lifecycle.report(),
      service: composed.service?.report(),
      route: composed.route?.report(),
      volume: composed.volume?.report(),
    }),
  };
  const isIdle = (): boolean =>
    allWatches.every(({ isSynced }) => isSynced) &&
    Object.values(composed.queues).every(({ depth, active }) => depth === 0 && active === 0) &&
    events.pending === 0;
  const cloudProblem = (): CloudProblem | undefined =>
    leads() ? (contact.problem ?? noneListed(inventory)) : undefined;
  const reportNow = (): ManagerReport => reportOf(reported);
  metrics.readFrom(reportNow);

  /** Runs the controllers while this replica leads and the caches are current. */
  const lead = async (stop: AbortSignal): Promise<void> => {
    try {
      await leadership.run(
        {
          reserved,
          caches,
          tasks: [...controllers.map(metrics.whileRunning), refresh, check, ...changes.tasks],
          beforeRelease: () => managerEvents.flush(),
          announcements: isObserving ? undefined : managerEvents.announcements,
          events: isObserving ? undefined : events,
        },
        stop,
      );
    } finally {
      managerEvents.close();
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
        ...leadership.watches(api),
        // Standby replicas watch too, so that a new leader starts with warm caches.
        ...allWatches.map((watch) => leadership.afterFirstAnswer(watch)),
        ...managerEvents.tasks,
        ...(tracing === undefined ? [] : [tracing.task]),
        { name: "controllers", run: lead },
        ...(isObserving ? [summary] : []),
      ],
      signal,
    );
  const reloadDeps = { live, clouds, inventory, composed, refresh, clock, log };
  return Object.assign(reported, {
    metrics,
    migration,
    reserved,
    permissions,
    isIdle,
    cloudProblem,
    report: reportNow,
    run,
    nodes: nodes.objects,
    services: services.objects,
    volumes: volumeObjects(provider, volumeWatches),
    planned: () => plans.planned,
    onKubeRequest: requests.kube,
    connections: { apiServer: reserved.origin, ...shownCloud(connected) },
    controllers: [...controllers, refresh].map((task) => task.name),
    leadershipHealth: () => leadership.health(),
    prepareReload: (reload: Reload) => prepareReload(reloadDeps, reload),
  });
}
