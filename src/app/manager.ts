// The manager, put together by hand: what talks to the API server, what talks to the cloud, and the controllers between
// them. Everything that waits or asks comes in through the seams, so a whole manager runs in a test's virtual time.

import { Inventory } from "../cloud/inventory.ts";
import { runRefreshLoop } from "../cloud/refresh-loop.ts";
import type { Problem } from "../core/problem.ts";
import { EventRecorder } from "../kube/events.ts";
import { LeaderElection } from "../kube/lease.ts";
import { nodes as nodeResource, services as serviceResource } from "../kube/resources.ts";
import { Journal } from "../runtime/journal.ts";
import { runTogether, type Task } from "../runtime/scope.ts";
import type { Random } from "../seams/random.ts";
import type { Transport } from "../seams/transport.ts";
import type { Log } from "../telemetry/log.ts";
import { composeNodes } from "./compose-nodes.ts";
import { composeRoutes } from "./compose-routes.ts";
import { composeServices } from "./compose-services.ts";
import { type AnyProvider, connectCloud } from "./connect-cloud.ts";
import { connectKube, type KubeSeams } from "./kube-client.ts";
import { leaseWatch } from "./lease-watch.ts";
import { createManagerMetrics } from "./manager-metrics.ts";
import { planTeller } from "./plan-teller.ts";
import type { ReadFlags } from "./read-flags.ts";
import { type Surroundings, watched } from "./surroundings.ts";
import { runTerms, writeMargin } from "./terms.ts";
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
}

/** Something the operator must mend; the process ends with 2 and this text. */
export class ConfigurationError extends Error {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(({ text }) => text).join("\n"));
    this.name = "ConfigurationError";
    this.problems = problems;
  }
}

export const createManager = async (
  { provider, settings, seams, log }: ManagerOptions,
  signal: AbortSignal,
) => {
  const { flags } = settings;
  const { clock, random } = seams;
  const journal = new Journal();
  const metrics = createManagerMetrics(clock);
  journal.subscribe(metrics.mutation);
  journal.subscribe(planTeller(log));
  const name = `${provider.name}-cloud-controller-manager`;

  let election: LeaderElection | undefined;
  const leadership = (): true | { readonly reason: string } => {
    if (!flags["leader-elect"]) return true;
    return election?.mayWrite(writeMargin) ?? { reason: "nobody was elected yet." };
  };

  const kube = await connectKube(
    flags,
    seams,
    { userAgent: `${name}/${version}`, mayWrite: leadership, onRequest: metrics.kubeRequest },
    signal,
  );

  const isObserving = flags.mode === "observe";
  const { connected, problems } = connectCloud(
    provider,
    {
      environment: seams.environment,
      given: flags["config-set"] ?? new Map(),
      cluster: flags["cluster-name"],
    },
    {
      transport: seams.cloudTransport,
      clock,
      random,
      signal,
      deadline: flags["cloud-call-timeout"],
      report: metrics.cloudCall,
      mayMutate: () => {
        if (isObserving) return { may: false, why: "--mode=observe changes nothing" };
        const leads = leadership();
        return leads === true ? { may: true } : { may: false, why: leads.reason };
      },
    },
  );
  if (connected === undefined) throw new ConfigurationError(problems);
  for (const { text } of problems) log.warn(text);
  const { instances } = connected.cloud;
  if (instances === undefined) throw new ConfigurationError([noInstances(provider.name)]);

  const inventory = new Inventory({ instances, clock, signal });
  const nodes = watched(nodeResource, { api: kube.api, clock, random, log });
  const events = new EventRecorder({
    api: kube.api,
    clock,
    random,
    onLost: (why, { reason, object }) => {
      metrics.lostEvent(why);
      log.debug(2, "An event was not written", { why, reason, object: object.name });
    },
  });
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
  const { node, lifecycle } = composeNodes(around, instances);
  const services = watched(serviceResource, { api: kube.api, clock, random, log });
  const service = composeServices(around, provider, services.objects, signal);
  const route = composeRoutes(around, () => nodes.reflector.store.synced);
  const queues = {
    Nodes: node.queue,
    "node-lifecycle": lifecycle.queue,
    ...(service !== undefined && { service: service.queue }),
    ...(route !== undefined && { Routes: route.queue }),
  };
  metrics.watch(connected.accounts, inventory, queues);

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
  const controllers = all.filter(({ name: task }) => task === "inventory" || enabledTasks.has(task));

  const runsServices = controllers.some(({ name: task }) => task === "service");

  const identity = `${seams.environment["HOSTNAME"] ?? name}_${random.uuid()}`;
  const lease = {
    namespace: flags["leader-elect-resource-namespace"],
    name: flags["leader-elect-resource-name"],
  };
  const watchesLease: readonly Task[] = flags["leader-elect"]
    ? [leaseWatch({ api: kube.api, clock, random, log, ...lease, onFree: () => election?.nudge() })]
    : [];

  const run = (): Promise<void> =>
    runTogether(
      [
        ...watchesLease,
        // Caches stay warm while another replica leads, so that a hand-over costs no listing.
        { name: "node watch", run: (stop) => nodes.reflector.run(stop) },
        ...(runsServices
          ? [{ name: "service watch", run: (stop: AbortSignal) => services.reflector.run(stop) }]
          : []),
        { name: "events", run: (stop) => events.run(stop) },
        {
          name: "controllers",
          run: async (stop) => {
            await nodes.reflector.store.whenSynced(stop);
            if (runsServices) await services.reflector.store.whenSynced(stop);
            if (!flags["leader-elect"]) return runTogether(controllers, stop);
            return runTerms({
              stop,
              identity,
              controllers,
              log,
              elect: (callbacks) => {
                election = new LeaderElection({
                  api: kube.reserved,
                  clock,
                  random,
                  ...lease,
                  identity,
                  leaseDuration: flags["leader-elect-lease-duration"],
                  renewDeadline: flags["leader-elect-renew-deadline"],
                  retryPeriod: flags["leader-elect-retry-period"],
                  ...callbacks,
                });
                return election;
              },
            });
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
    orphans: () => service?.orphans() ?? [],
    accounts: connected.accounts,
    troubles: node.troubles.all,
    evidence: lifecycle.evidence,
    pendingEvents: () => events.pending,
    isIdle: () =>
      nodes.reflector.store.synced &&
      Object.values(queues).every(({ depth, active }) => depth === 0 && active === 0) &&
      events.pending === 0,
    startedAt: clock.monotonic(),
  };
};

export type Manager = Awaited<ReturnType<typeof createManager>>;

const noInstances = (provider: string): Problem => ({
  severity: "error",
  reason: "NoInstances",
  text: `The cloud ${provider} has no machines to offer, so there is nothing to do for the node controllers.`,
});
