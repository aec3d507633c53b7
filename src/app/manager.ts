// The manager, put together by hand: what talks to the API server, what talks to the cloud, and the controllers between
// them. Everything that waits or asks comes in through the seams, so a whole manager runs in a test's virtual time.

import { Inventory } from "../cloud/inventory.ts";
import { runRefreshLoop } from "../cloud/refresh-loop.ts";
import type { WriteGate } from "../kube/request.ts";
import { nodes as nodeResource, services as serviceResource } from "../kube/resources.ts";
import { endOf } from "../runtime/draining.ts";
import { Journal } from "../runtime/journal.ts";
import { runTogether, type Task } from "../runtime/scope.ts";
import { createGarbageMeter, reconcileGarbage } from "../seams/memory.ts";
import type { Random } from "../seams/random.ts";
import type { Transport } from "../seams/transport.ts";
import type { Log } from "../telemetry/log.ts";
import { CloudContact } from "./cloud-contact.ts";
import { composeNodes, isSelectedBy } from "./compose-nodes.ts";
import { composeRoutes } from "./compose-routes.ts";
import { composeServices } from "./compose-services.ts";
import { ConfigurationError, noInstances } from "./configuration/configuration-error.ts";
import { type AnyProvider, connectCloud, shownCloud } from "./connect-cloud.ts";
import type { ControllerName } from "./flags/controller-names.ts";
import type { ReadFlags } from "./flags/read-flags.ts";
import { connectKube, type KubeSeams } from "./kube-client.ts";
import { readMigrationOf } from "./leadership/leader-migration-file.ts";
import { createLeadership } from "./leadership/leadership.ts";
import { isStill } from "./leadership/lease-watch.ts";
import { createManagerEvents } from "./manager-events.ts";
import { createManagerMetrics } from "./metrics/manager-metrics.ts";
import { type Surroundings, watched } from "./surroundings.ts";
import { createCloudTroubles } from "./telling/cloud-troubles.ts";
import { planTeller } from "./telling/plan-teller.ts";
import { requestTeller } from "./telling/request-teller.ts";
import { createServerTroubles } from "./telling/server-troubles.ts";
import { cacheOf, told } from "./told-task.ts";
import { version } from "./version.ts";

export interface ManagerSeams extends KubeSeams {
  readonly random: Random;
  readonly cloudTransport: Transport;
}

export interface ManagerOptions {
  readonly provider: AnyProvider;
  readonly settings: ReadFlags;
  readonly seams: ManagerSeams;
  readonly log: Log;
  /** By which the Lease knows this process; without it, a new one. */
  readonly identity?: string;
  /** In a few words, for a service manager. */
  readonly onStatus?: (text: string) => void;
}

/** One for each process, however many managers it makes. */
export const identityOf = (
  { environment, random }: Pick<ManagerSeams, "environment" | "random">,
  name: string,
) => `${environment["HOSTNAME"] ?? name}_${random.uuid()}`;

export const createManager = async (
  { provider, settings, seams, log, identity: given, onStatus }: ManagerOptions,
  signal: AbortSignal,
) => {
  const { flags } = settings;
  const { clock, random } = seams;
  const journal = new Journal();
  const metrics = createManagerMetrics(clock);
  journal.subscribe(metrics.mutation);
  journal.subscribe(planTeller(log));
  const garbage = createGarbageMeter();
  const teller = requestTeller(log, metrics, createCloudTroubles(log, clock));
  const serverTroubles = createServerTroubles(log, clock);
  const name = `${provider.name}-cloud-controller-manager`;

  const identity = given ?? identityOf(seams, name);
  const { migration, problems: migrationProblems } = await readMigrationOf(flags, seams.files);
  if (migrationProblems.length > 0) throw new ConfigurationError(migrationProblems);
  const leadership = createLeadership({
    flags,
    identity,
    clock,
    random,
    log,
    ...(migration !== undefined && { migration }),
    onTerm: (lease, isOurs) => {
      metrics.leads(lease, isOurs);
      onStatus?.(`${isOurs ? "leads" : "waits for the Lease"} ${lease}`);
    },
    onProblem: (error) => serverTroubles.failed(error),
    onSlowPath: metrics.slowElection,
  });

  const kube = await connectKube(
    flags,
    seams,
    {
      userAgent: `${name}/${version}`,
      mayWrite: leadership.gateOf("main"),
      onRequest: teller.kube,
      onDecoded: garbage,
    },
    signal,
  );
  metrics.serverIs(kube.api.origin);
  const contact = new CloudContact();

  const isObserving = flags.mode === "observe";
  /** Until everything has ended, which after a drain is later than the wish to stop. */
  const life = endOf(signal);
  const cloudOf = (mayWrite: WriteGate) =>
    connectCloud(
      provider,
      {
        environment: seams.environment,
        ...settings.cloud,
        cluster: flags["cluster-name"],
      },
      {
        transport: seams.cloudTransport,
        clock,
        random,
        signal: life.signal,
        deadline: flags["cloud-call-timeout"],
        report: (call) => {
          teller.cloud(call);
          contact.saw(call);
        },
        mayMutate: () => {
          if (isObserving) return { may: false, why: "--mode=observe changes nothing" };
          const leads = mayWrite();
          return leads === true ? { may: true } : { may: false, why: leads.reason };
        },
      },
    );
  const { connected, problems } = cloudOf(leadership.gateOf("main"));
  if (connected === undefined) throw new ConfigurationError(problems);
  for (const { text } of problems) log.warn(text);
  const { instances } = connected.cloud;
  if (instances === undefined) throw new ConfigurationError([noInstances(provider.name)]);

  const inventory = new Inventory({ instances, clock, signal: life.signal });
  const nodes = watched(nodeResource, { api: kube.api, clock, random }, serverTroubles);
  const managerEvents = createManagerEvents({
    ...{ api: kube.api, clock, random, log, mayWrite: leadership.anyGate },
    onLost: (why, { reason, object }) => {
      metrics.lostEvent(why);
      log.debug(2, "An event was not written", { why, reason, object: object.name });
    },
  });
  const { events } = managerEvents;
  const around: Surroundings = {
    api: kube.api,
    clock,
    random,
    log,
    journal,
    metrics,
    events,
    settings,
    isObserving,
    connected,
    inventory,
    nodes: nodes.objects,
  };
  /** A controller under another Lease has gates of its own, and so a connection to the cloud of its own. */
  const migrated = migration === undefined ? undefined : cloudOf(leadership.gateOf("migrated")).connected;
  const aroundOf = (task: ControllerName): Surroundings =>
    leadership.isMigrated(task)
      ? {
          ...around,
          api: kube.api.as({ mayWrite: leadership.gateOf("migrated") }),
          connected: migrated ?? connected,
        }
      : around;
  const { node, lifecycle } = composeNodes(aroundOf, instances);
  const services = watched(serviceResource, { api: kube.api, clock, random }, serverTroubles);
  const service = composeServices(
    { ...aroundOf("service"), files: seams.files },
    provider,
    services.objects,
    life.signal,
  );
  const route = composeRoutes(aroundOf("node-route"), () => nodes.reflector.store.synced);
  const queues = {
    Nodes: node.queue,
    "node-lifecycle": lifecycle.queue,
    ...(service !== undefined && { service: service.queue }),
    ...(route !== undefined && { Routes: route.queue }),
  };
  metrics.watch(connected.accounts, inventory, queues);
  for (const queue of Object.values(queues)) queue.observe({ done: () => garbage(reconcileGarbage) });

  const all: readonly Task[] = [
    { name: "cloud-node", run: (stop) => node.run(stop) },
    { name: "cloud-node-lifecycle", run: (stop) => lifecycle.run(stop) },
    ...(service === undefined ? [] : [{ name: "service", run: (stop: AbortSignal) => service.run(stop) }]),
    ...(route === undefined ? [] : [{ name: "node-route", run: (stop: AbortSignal) => route.run(stop) }]),
    {
      name: "inventory",
      run: (stop) => {
        const fixed = flags["node-status-update-frequency"];
        return runRefreshLoop({ inventory, clock, policy: fixed === undefined ? {} : { fixed } }, stop);
      },
    },
  ];
  const enabledTasks: ReadonlySet<string> = settings.controllers;
  const controllers = all
    .filter(({ name: task }) => task === "inventory" || (enabledTasks.has(task) && leadership.isHere(task)))
    .map((task) => (task.name === "inventory" ? task : told(task, metrics.runs)));
  const leads = (): boolean => leadership.anyGate() === true;

  const isSelected = isSelectedBy(flags);
  metrics.alerts({ leads, isSelected, nodes: nodes.objects, suspects: lifecycle.suspects, service });

  const runsServices = controllers.some(({ name: task }) => task === "service");

  const run = (): Promise<void> =>
    runTogether(
      [
        ...leadership.watches(kube.api, kube.reserved),
        // Caches stay warm while another replica leads, so that a hand-over costs no listing.
        { name: "node watch", run: (stop) => nodes.reflector.run(stop) },
        ...(runsServices
          ? [{ name: "service watch", run: (stop: AbortSignal) => services.reflector.run(stop) }]
          : []),
        ...managerEvents.tasks,
        {
          name: "controllers",
          run: async (stop) => {
            try {
              await nodes.reflector.store.whenSynced(stop);
              if (runsServices) await services.reflector.store.whenSynced(stop);
              await leadership.run(
                {
                  reserved: kube.reserved,
                  tasks: controllers,
                  beforeRelease: managerEvents.flush,
                  ...(!isObserving && { announcements: managerEvents.announcements }),
                },
                stop,
              );
            } finally {
              managerEvents.close();
              life.abort();
            }
          },
        },
      ],
      signal,
    );

  return {
    run,
    journal,
    inventory,
    metrics,
    nodes: nodes.objects,
    services: services.objects,
    balancers: service?.listing,
    membersOf: (group: string) => service?.membersOf(group) ?? [],
    routes: () => route?.last(),
    orphans: () => service?.orphans() ?? [],
    serviceTroubles: () => service?.troubles() ?? new Map<string, readonly string[]>(),
    accounts: connected.accounts,
    talksTo: { apiServer: kube.api.origin, ...shownCloud(connected) },
    troubles: node.troubles.all,
    suspects: lifecycle.suspects,
    flags,
    identity,
    mode: flags.mode,
    queues,
    leads,
    /** Those that run while this replica leads. */
    controllers: controllers.map(({ name: task }) => task),
    /** For reviews and what the cluster says of access: places of their own, no gate. */
    reserved: kube.reserved,
    onKubeRequest: teller.kube,
    caches: () => ({
      nodes: cacheOf(nodes.reflector),
      ...(runsServices && { services: cacheOf(services.reflector) }),
    }),
    /** A replica that waits asks the cloud nothing, so it knows nothing against it. */
    cloudProblem: (): string | undefined => (leads() ? contact.problem : undefined),
    /** What stands against counting this process as healthy, as upstream's `leaderElection` check. */
    leadershipHealth: leadership.health,
    /** Why this process should be ended from outside: something that never rests has stood still. */
    stalled: () =>
      leadership.health() ??
      leadership.stalled() ??
      (isStill(nodes.reflector.idle()) ? "the watch of nodes stands still" : undefined),
    pendingEvents: () => events.pending,
    isIdle: () =>
      nodes.reflector.store.synced &&
      Object.values(queues).every(({ depth, active }) => depth === 0 && active === 0) &&
      events.pending === 0,
    startedAt: clock.monotonic(),
  };
};

export type Manager = Awaited<ReturnType<typeof createManager>>;
