// The work of a leader: the controllers that the flags select, their watches, and the tasks that serve all controllers.

import type { ChangeStream } from "../../cloud/change-stream.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import type { Node, Service } from "../../kube/objects.ts";
import { nodes as nodeResource, services as serviceResource } from "../../kube/resources.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import { announcementsTask } from "../logging/announcements-task.ts";
import { objectReporters } from "../logging/object-reporter.ts";
import type { CloudSession } from "./cloud-session.ts";
import type { CloudSessions } from "./cloud-sessions.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { watchRequests } from "./compose-certificates.ts";
import { composeChanges } from "./compose-changes.ts";
import {
  type Controllers,
  composeControllers,
  composeRefresh,
  composeSettingsCheck,
} from "./compose-controllers.ts";
import { isSelectedBy } from "./compose-nodes.ts";
import { type VolumeWatches, watchVolumes } from "./compose-volumes.ts";
import type {
  ControllerContext,
  HistoryContext,
  ProcessContext,
  SessionContext,
} from "./controller-context.ts";
import type { Instruments } from "./instruments.ts";
import type { ManagerOptions } from "./manager-options.ts";
import { type AnyWatch, WatchedResource } from "./watched-resource.ts";

/** `migrated` is set only if controllers migrate to another Lease. */
export interface SessionsByLease {
  readonly main: CloudSessions;
  readonly migrated: CloudSessions | undefined;
}

export interface TasksDeps {
  readonly options: ManagerOptions;
  readonly instruments: Instruments;
  readonly access: ClusterAccess;
  readonly sessions: SessionsByLease;
  /** Aborted when the manager has ended. */
  readonly life: AbortSignal;
}

export interface ComposedTasks {
  readonly composed: Controllers;
  /** The names of the tasks that run while this replica leads. */
  readonly running: readonly string[];
  readonly tasks: Readonly<Record<keyof SessionsByLease, readonly Task[]>>;
  readonly watches: {
    readonly all: readonly AnyWatch[];
    /** The caches of objects that pages and commands describe. */
    readonly described: readonly AnyWatch[];
    /** Undefined unless the volume controller runs here. */
    readonly volumes: VolumeWatches | undefined;
  };
  readonly nodes: LatestObjects<Node>;
  readonly services: LatestObjects<Service>;
  /** Undefined if the cloud does not report changes. */
  readonly changes: () => ChangeStream | undefined;
}

export function composeTasks({ options, instruments, access, sessions, life }: TasksDeps): ComposedTasks {
  const { provider, settings, platform, log } = options;
  const { clock, random, collectGarbage } = platform;
  const { journal, metrics, apiServerProblems } = instruments;
  const { api, leadership, caches, removals, events } = access;
  const watchDeps = { api, clock, random, problems: apiServerProblems, collectGarbage };
  const nodes = new WatchedResource(nodeResource, watchDeps);
  const services = new WatchedResource(serviceResource, watchDeps);
  const isObserving = settings.flags.mode === "observe";
  const shared: ProcessContext = {
    clock,
    random,
    log,
    journal,
    metrics,
    reporterOf: objectReporters({ log, events: events.events, isObserving, clock, life }),
    isObserving,
    nodes: nodes.objects,
    removals,
    reportOnLease: (controller, event) => leadership.report(controller, event),
  };
  const sessionsOf = (task: ControllerName): CloudSessions =>
    sessions[leadership.placeOf(task)] ?? sessions.main;
  const sessionOf = (task: ControllerName): CloudSession => sessionsOf(task).current;
  const contextOf = (task: ControllerName): ControllerContext => ({
    ...sessionOf(task),
    ...shared,
    api: access.clientOf(task),
  });
  const isSelected = isSelectedBy(settings.flags);
  const kept = (task: ControllerName): HistoryContext => ({
    ...shared,
    api,
    collectGarbage,
    followCache: (cache, controller) => caches.follow(cache, controller),
    formerLeaders: () => leadership.formerLeadersOf(task),
    life,
    controllers: settings.controllers,
    isSelected,
    get session() {
      return sessionOf(task);
    },
    get inventory() {
      return sessionOf(task).inventory;
    },
  });
  const isHere = (task: string): boolean =>
    settings.controllers.has(task as ControllerName) && leadership.isHere(task);
  const volumes = isHere("volume")
    ? watchVolumes(provider, sessions.main.current.connected.cloud, watchDeps)
    : undefined;
  const requests = isHere("kubelet-serving-csr") ? watchRequests(watchDeps) : undefined;
  const composed = composeControllers({
    provider,
    kept,
    contextOf,
    perSession: (task) => sessionsOf(task.name).task(task),
    requests: requests?.objects,
    volumeWatches: volumes,
    watchDeps,
    services: services.objects,
    onComposed: () => instruments.queues.watch(composed.queues),
  });
  instruments.queues.watch(composed.queues);
  let changes = composeChanges(contextOf("cloud-node"), composed);
  const followChanges: Task = {
    name: "changes",
    run: async (stop) => {
      changes = composeChanges(contextOf("cloud-node"), composed);
      await changes?.run(stop);
    },
  };
  const announcements = announcementsTask({ ...shared, deprecations: instruments.deprecations });
  const controllers = composed.tasks.filter(({ name }) => isHere(name));
  const tasksUnder = (place: keyof SessionsByLease): readonly Task[] => {
    const own = sessions[place];
    if (own === undefined) return [];
    const session = (): SessionContext => ({ ...own.current, ...shared });
    const others: readonly Task[] = [
      composeRefresh(session),
      ...(place === "main" ? [composeSettingsCheck(session), followChanges, announcements] : []),
    ];
    const ours = controllers.filter(({ name }) => leadership.placeOf(name) === place);
    return [...ours.map(metrics.whileRunning), ...others.map((task) => own.task(task))];
  };
  // Without the service controller, the manager may lack the permission to list Services.
  const watchesServices = controllers.some(({ name }) => name === "service");
  const described = [nodes, ...(watchesServices ? [services] : []), ...Object.values(volumes ?? {})];
  caches.follow(nodes);
  if (watchesServices) caches.follow(services, "service");
  if (requests !== undefined) caches.follow(requests, "kubelet-serving-csr");
  for (const watch of Object.values(volumes ?? {})) caches.follow(watch, "volume");
  return {
    composed,
    running: [...controllers.map(({ name }) => name), "inventory"],
    tasks: { main: tasksUnder("main"), migrated: tasksUnder("migrated") },
    watches: { all: [...described, ...(requests === undefined ? [] : [requests])], described, volumes },
    nodes: nodes.objects,
    services: services.objects,
    changes: () => changes?.stream,
  };
}
