// The manager, put together by hand: what talks to the API server, what talks to the cloud, and the controllers between
// them. Everything that waits or asks comes in through the seams, so a whole manager runs in a test's virtual time.

import { Inventory } from "../cloud/inventory.ts";
import { runRefreshLoop } from "../cloud/refresh-loop.ts";
import { latestObjects } from "../controllers/latest-objects.ts";
import { createNodeController } from "../controllers/node/controller.ts";
import { createLifecycleController } from "../controllers/node-lifecycle/controller.ts";
import type { NodeEvent, NodePorts } from "../controllers/node-ports.ts";
import { createNodeWrites } from "../controllers/node-writes.ts";
import { type Milliseconds, seconds } from "../core/brand.ts";
import type { Problem } from "../core/problem.ts";
import { EventRecorder } from "../kube/events.ts";
import { LeaderElection } from "../kube/lease.ts";
import type { Node } from "../kube/objects.ts";
import { createReflector } from "../kube/reflector.ts";
import { nodes as nodeResource } from "../kube/resources.ts";
import { Journal } from "../runtime/journal.ts";
import { runTogether, type Task } from "../runtime/scope.ts";
import type { Random } from "../seams/random.ts";
import type { Transport } from "../seams/transport.ts";
import type { Log } from "../telemetry/log.ts";
import { type AnyProvider, connectCloud } from "./connect-cloud.ts";
import { connectKube, type KubeSeams } from "./kube-client.ts";
import { leaseWatch } from "./lease-watch.ts";
import { createManagerMetrics } from "./manager-metrics.ts";
import type { ReadFlags } from "./read-flags.ts";
import { runTerms } from "./terms.ts";
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

const writeMargin: Milliseconds = seconds(2);

export const createManager = async (
  { provider, settings, seams, log }: ManagerOptions,
  signal: AbortSignal,
) => {
  const { flags } = settings;
  const { clock, random } = seams;
  const journal = new Journal();
  const metrics = createManagerMetrics(clock);
  journal.subscribe(metrics.mutation);
  const name = `${provider.name}-cloud-controller-manager`;

  let election: LeaderElection | undefined;
  const leadership = (): true | { readonly reason: string } => election?.mayWrite(writeMargin) ?? true;

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
  const reflector = createReflector<Node>({
    api: kube.api,
    resource: nodeResource,
    clock,
    random,
    onProblem: (problem, retryIn) => log.warn(problem.message, { retryInSeconds: Math.ceil(retryIn / 1000) }),
  });
  const store = latestObjects({
    get: (key) => reflector.store.get(key),
    list: () => [...reflector.store.list()],
    get size() {
      return reflector.store.size;
    },
    subscribe: (listener) => reflector.store.subscribe(listener),
  });
  const events = new EventRecorder({
    api: kube.api,
    clock,
    random,
    onLost: (why, { reason, object }) => {
      metrics.lostEvent(why);
      log.debug(2, "An event was not written", { why, reason, object: object.name });
    },
  });

  const portsFor = (component: string): NodePorts => ({
    nodes: store,
    inventory,
    clock,
    random,
    concurrency: flags["concurrent-node-syncs"],
    writes: createNodeWrites({
      api: kube.api,
      journal,
      clock,
      mode: flags.mode,
      remember: (node) => store.remember(node),
    }),
    isSelected: (node) =>
      [...(flags["node-selector"] ?? [])].every(([key, value]) => node.metadata.labels?.[key] === value),
    tell: (node, { type, reason, message }: NodeEvent) => {
      const level = type === "Warning" ? "warn" : "info";
      log[level](message, { node: node.metadata.name, reason });
      if (isObserving) return;
      const { uid, name: nodeName } = node.metadata;
      events.record({
        component,
        object: { apiVersion: "v1", kind: "Node", name: nodeName, uid },
        type,
        reason,
        message,
      });
    },
  });

  const nodeController = createNodeController({
    ...portsFor("cloud-node-controller"),
    settings: settings.nodes,
    ownPrefixes: instances.labelPrefixes ?? [],
    onInitialized: (_, ageMs) => metrics.initialized(ageMs),
  });
  const lifecycleController = createLifecycleController({
    ...portsFor("cloud-node-lifecycle-controller"),
    settings: settings.lifecycle,
  });
  metrics.watch(connected.accounts, inventory, {
    Nodes: nodeController.queue,
    "node-lifecycle": lifecycleController.queue,
  });

  const all: readonly Task[] = [
    { name: "cloud-node", run: (stop) => nodeController.run(stop) },
    { name: "cloud-node-lifecycle", run: (stop) => lifecycleController.run(stop) },
    {
      name: "inventory",
      run: (stop) => {
        const fixed = flags["node-status-update-frequency"];
        return runRefreshLoop({ inventory, clock, policy: fixed === undefined ? {} : { fixed } }, stop);
      },
    },
  ];
  const controllers = all.filter(
    ({ name: task }) => task === "inventory" || isEnabled(flags.controllers, task),
  );

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
        { name: "node watch", run: (stop) => reflector.run(stop) },
        { name: "events", run: (stop) => events.run(stop) },
        {
          name: "controllers",
          run: async (stop) => {
            await reflector.store.whenSynced(stop);
            if (!flags["leader-elect"]) return runTogether(controllers, stop);
            return runTerms({
              stop,
              controllers,
              log,
              elect: (callbacks) => {
                election = new LeaderElection({
                  api: kube.reserved,
                  clock,
                  random,
                  ...lease,
                  identity: `${seams.environment["HOSTNAME"] ?? name}_${random.uuid()}`,
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
    nodes: store,
    accounts: connected.accounts,
    troubles: nodeController.troubles.all,
    evidence: lifecycleController.evidence,
    pendingEvents: () => events.pending,
    isIdle: () =>
      reflector.store.synced &&
      nodeController.queue.depth === 0 &&
      nodeController.queue.active === 0 &&
      events.pending === 0,
    startedAt: clock.monotonic(),
  };
};

export type Manager = Awaited<ReturnType<typeof createManager>>;

/** As upstream: `*` for all, a name for one, `-name` against one. */
const isEnabled = (wanted: readonly string[], name: string): boolean => {
  const spellings = [name, `${name}-controller`];
  if (wanted.some((word) => spellings.includes(word.replace(/^-/, "")) && word.startsWith("-"))) return false;
  return wanted.includes("*") || wanted.some((word) => spellings.includes(word));
};

const noInstances = (provider: string): Problem => ({
  severity: "error",
  reason: "NoInstances",
  text: `The cloud ${provider} has no machines to offer, so there is nothing to do for the node controllers.`,
});
