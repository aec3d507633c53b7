// The manager, put together by hand: what talks to the API server, what talks to the cloud, and the controllers between
// them. Everything that waits or asks comes in through the seams, so a whole manager runs in a test's virtual time.

import { Inventory } from "../../cloud/inventory.ts";
import { runRefreshLoop } from "../../cloud/refresh-loop.ts";
import { nodes as nodeResource, services as serviceResource } from "../../kube/resources.ts";
import { createGarbageMeter, reconcileGarbage } from "../../platform/memory.ts";
import { endOf } from "../../runtime/draining.ts";
import { Journal } from "../../runtime/journal.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import type { AnyProvider } from "../connect-cloud.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import { connectKube } from "../kube-client.ts";
import { readMigrationOf } from "../leadership/leader-migration-file.ts";
import { createLeadership } from "../leadership/leadership.ts";
import { createManagerMetrics } from "../metrics/manager-metrics.ts";
import { createApiServerProblems } from "../reporting/api-server-problems.ts";
import { createCloudProblems } from "../reporting/cloud-problems.ts";
import { observationOf, observationTask } from "../reporting/observe-summary.ts";
import { createPlanReporter } from "../reporting/plan-reporter.ts";
import { requestReporter } from "../reporting/request-reporter.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { version } from "../version.ts";
import { CloudContact } from "./cloud-contact.ts";
import { composeControllers } from "./compose-controllers.ts";
import { isSelectedBy } from "./compose-nodes.ts";
import type { ControllerContext } from "./controller-context.ts";
import { createManagerEvents } from "./manager-events.ts";
import { viewOf } from "./manager-view.ts";
import { openClouds } from "./open-clouds.ts";
import { reported } from "./reported-task.ts";
import { watched } from "./watch-resource.ts";

export interface ManagerOptions {
  readonly provider: AnyProvider;
  readonly settings: ReadFlags;
  readonly platform: ManagerPlatform;
  readonly log: Log;
  /** By which the Lease knows this process; without it, a new one. */
  readonly identity?: string;
  /** In a few words, for systemd. */
  readonly onStatus?: (text: string) => void;
}

/** One for each process, however many managers it makes. */
export function replicaIdentity(
  { environment, random }: Pick<ManagerPlatform, "environment" | "random">,
  name: string,
) {
  return `${environment["HOSTNAME"] ?? name}_${random.uuid()}`;
}

export async function createManager(
  { provider, settings, platform, log, identity: given, onStatus }: ManagerOptions,
  signal: AbortSignal,
) {
  const { flags } = settings;
  const { clock, random } = platform;
  const name = `${provider.name}-cloud-controller-manager`;
  const identity = given ?? replicaIdentity(platform, name);
  const isObserving = flags.mode === "observe";
  /** Until everything has ended, which after a drain is later than the wish to stop. */
  const life = endOf(signal);

  const journal = new Journal();
  const metrics = createManagerMetrics(clock);
  journal.subscribe(metrics.mutation);
  const plans = createPlanReporter(log);
  journal.subscribe(plans.report);
  const garbage = createGarbageMeter();
  const reporter = requestReporter(log, metrics, createCloudProblems(log, clock));
  const apiServerProblems = createApiServerProblems(log, clock);

  const { migration, problems } = await readMigrationOf(flags, platform.files);
  if (problems.length > 0) throw new ConfigurationError(problems);
  const leadership = createLeadership({
    ...{ flags, identity, clock, random, log },
    ...(migration !== undefined && { migration }),
    onSession: (lease, isOurs) => {
      metrics.leads(lease, isOurs);
      onStatus?.(`${isOurs ? "leads" : "waits for the Lease"} ${lease}`);
    },
    onProblem: (error) => apiServerProblems.failed(error),
    onSlowPath: metrics.slowElection,
  });
  const leads = (): boolean => leadership.anyGate() === true;
  const gates = {
    main: leadership.gateOf("main"),
    ...(migration !== undefined && { migrated: leadership.gateOf("migrated") }),
  };

  const userAgent = `${name}/${version}`;
  const hooks = { userAgent, mayWrite: gates.main, onRequest: reporter.kube, onDecoded: garbage };
  const { api, reserved } = await connectKube(flags, platform, hooks, signal);
  metrics.serverIs(api.origin);
  const contact = new CloudContact();
  const clouds = openClouds({
    ...{ provider, settings, platform, log, gates, signal: life.signal },
    report: (call) => {
      reporter.cloud(call);
      contact.saw(call);
    },
  });

  const { instances, main: connected } = clouds;
  const inventory = new Inventory({ instances, clock, signal: life.signal });
  const nodes = watched(nodeResource, { api, clock, random }, apiServerProblems);
  const services = watched(serviceResource, { api, clock, random }, apiServerProblems);
  const managerEvents = createManagerEvents({
    ...{ api, clock, random, log, mayWrite: leadership.anyGate },
    onLost: (why, { reason, object }) => {
      metrics.lostEvent(why);
      log.debug(2, "An event was not written", { why, reason, object: object.name });
    },
  });
  const { events } = managerEvents;
  const context: ControllerContext = {
    ...{ api, clock, random, log, journal, metrics, events, settings, isObserving, connected, inventory },
    nodes: nodes.objects,
  };
  /** A controller under another Lease has gates of its own. */
  const contextOf = (task: ControllerName): ControllerContext =>
    gates.migrated !== undefined && leadership.isMigrated(task)
      ? { ...context, api: api.as({ mayWrite: gates.migrated }), connected: clouds.migrated }
      : context;
  const composed = composeControllers({
    ...{ provider, instances, contextOf, nodes, services },
    files: platform.files,
    signal: life.signal,
  });
  const { queues, lifecycle, service } = composed;
  metrics.watch(connected.accounts, inventory, queues);
  for (const queue of Object.values(queues)) queue.observe({ done: () => garbage(reconcileGarbage) });
  const { candidates } = lifecycle;
  metrics.alerts({ leads, isSelected: isSelectedBy(flags), nodes: nodes.objects, candidates, service });

  const refresh: Task = {
    name: "inventory",
    run: (stop) => {
      const fixed = flags["node-status-update-frequency"];
      return runRefreshLoop({ inventory, clock, policy: fixed === undefined ? {} : { fixed } }, stop);
    },
  };
  const enabled = composed.tasks.filter((task) => settings.controllers.has(task.name));
  const controllers = enabled.filter((task) => leadership.isHere(task.name));
  /** Whoever has no Services to look after may lack the right to list them. */
  const runsServices = controllers.some((task) => task.name === "service");
  const watches = { nodes, ...(runsServices && { services }) };

  /** All that takes a Lease: it begins when the caches are filled, and everything ends with it. */
  const work = async (stop: AbortSignal): Promise<void> => {
    try {
      for (const each of Object.values(watches)) await each.whenSynced(stop);
      await leadership.run(
        {
          reserved,
          tasks: [...controllers.map((task) => reported(task, metrics.runs)), refresh],
          beforeRelease: managerEvents.flush,
          ...(!isObserving && { announcements: managerEvents.announcements }),
        },
        stop,
      );
    } finally {
      managerEvents.close();
      life.abort();
    }
  };
  const view = viewOf({
    ...{ flags, identity, journal, metrics, inventory, connected, contact, leadership, leads, composed },
    ...{ watches, events, reserved, onKubeRequest: reporter.kube, startedAt: clock.monotonic() },
    running: [...controllers, refresh].map((task) => task.name),
  });
  const observe = observationTask(
    () => observationOf(view, { nodes: nodes.objects, services: services.objects, desired: plans.desired() }),
    { log, clock },
  );
  return {
    ...view,
    nodes: nodes.objects,
    services: services.objects,
    run: (): Promise<void> =>
      runTogether(
        [
          ...leadership.watches(api, reserved),
          // Caches stay warm while another replica leads, so that a hand-over costs no listing.
          ...Object.values(watches),
          ...managerEvents.tasks,
          { name: "controllers", run: work },
          ...(isObserving ? [observe] : []),
        ],
        signal,
      ),
  };
}

export type Manager = Awaited<ReturnType<typeof createManager>>;
