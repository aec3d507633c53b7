// Composes all controllers of a manager in slots, with their queues, and the tasks that serve all controllers. Flags and
// Leases determine which of them run.

import { runRefreshLoop } from "../../cloud/inventory/refresh-loop.ts";
import type { RemovalKind } from "../../controllers/kernel/removal-kinds.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import type { NodeController } from "../../controllers/node/controller.ts";
import type { LifecycleController } from "../../controllers/node-lifecycle/controller.ts";
import type { RouteController } from "../../controllers/route/controller.ts";
import { minutes } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { messageOf } from "../../core/error-message.ts";
import { messageIn } from "../../core/problem.ts";
import { shortList } from "../../core/text.ts";
import type { CertificateSigningRequest, Service } from "../../kube/objects.ts";
import { sleep } from "../../platform/clock.ts";
import { CloudError } from "../../provider/errors.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { VolumeController } from "../../volumes/controller/controller.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import { certificatesComposer } from "./compose-certificates.ts";
import { foreignNodesOf, lifecycleComposer, nodesComposer, routesComposer } from "./compose-nodes.ts";
import { type ComposedServices, servicesComposer } from "./compose-services.ts";
import { taggingComposer } from "./compose-tagging.ts";
import { type VolumeWatches, volumesComposer } from "./compose-volumes.ts";
import type { Composer, ControllerContext, HistoryContext, SessionContext } from "./controller-context.ts";
import { ControllerSlot, type ControllerTask } from "./controller-slot.ts";
import type { WatchDeps } from "./watched-resource.ts";

export interface ControllersDeps {
  readonly provider: AnyProvider;
  /** The context of the histories, which outlive sessions. */
  readonly kept: (name: ControllerName) => HistoryContext;
  /** The current context, with the settings and the cloud of the current session. */
  readonly contextOf: (name: ControllerName) => ControllerContext;
  /** The task runs once for each session with the cloud. */
  readonly perSession: (task: ControllerTask) => ControllerTask;
  readonly services: LatestObjects<Service>;
  /** Undefined unless the controller of serving certificates runs here. */
  readonly requests: LatestObjects<CertificateSigningRequest> | undefined;
  /** Undefined without the volume controller. */
  readonly volumeWatches: VolumeWatches | undefined;
  readonly watchDeps: WatchDeps;
  /** Called when a controller was composed again, with new queues. */
  readonly onComposed: () => void;
}

export interface Controllers {
  readonly node: Slot<NodeController>;
  readonly lifecycle: Slot<LifecycleController>;
  /** `current` is undefined if the cloud has no load balancers. */
  readonly service: Slot<ComposedServices | undefined>;
  /** `current` is undefined if the cloud has no routes, or the flags disable them. */
  readonly route: Slot<RouteController | undefined>;
  /** `current` is undefined unless the controller is enabled. */
  readonly volume: Slot<VolumeController | undefined>;
  /** The queues by upstream's names. */
  readonly queues: Readonly<Record<string, WorkQueue>>;
  readonly tasks: readonly ControllerTask[];
  /** The workers' unfinished items, such as `service default/shop`. */
  inProgress(): string;
}

type Slot<C extends Pick<Task, "run"> | undefined> = Pick<ControllerSlot<C>, "current" | "isRunning">;

export function composeControllers(deps: ControllersDeps): Controllers {
  const { provider, kept, contextOf, perSession, services, volumeWatches, watchDeps, onComposed } = deps;
  const slotFor = <C extends Pick<Task, "run"> | undefined>(
    name: ControllerName,
    compose: Composer<C>,
  ): ControllerSlot<C> =>
    new ControllerSlot({
      name,
      session: () => kept(name).session,
      compose: () => compose(contextOf(name)),
      onComposed,
    });
  // Both controllers share one instance, whose history of Nodes protects the targets of both.
  const foreignNodes = foreignNodesOf(kept("service"));
  const balancers = servicesComposer(kept("service"), provider, services, foreignNodes);
  const node = slotFor("cloud-node", nodesComposer(kept("cloud-node"), foreignNodes));
  const lifecycle = slotFor("cloud-node-lifecycle", lifecycleComposer(kept("cloud-node-lifecycle")));
  const service = slotFor("service", balancers.compose);
  const route = slotFor("node-route", routesComposer(kept("node-route")));
  const certificates = slotFor(
    "kubelet-serving-csr",
    certificatesComposer(kept("kubelet-serving-csr"), deps.requests),
  );
  const volume = slotFor("volume", volumesComposer(kept("volume"), provider, volumeWatches, watchDeps));
  const tagging = slotFor("tagging", taggingComposer(kept("tagging")));
  /** The next session inherits the held objects, so that a release during a reload applies to them. */
  const remover = (kind: RemovalKind, task: ControllerTask): ControllerTask => ({
    name: task.name,
    run: (signal) => task.run(signal).finally(() => kept(task.name).removals.endHolds(kind)),
  });
  /** EndpointSlices are watched for as long as a Lease is held. */
  const besideEndpoints: ControllerTask = {
    name: service.name,
    run: (signal) => runTogether([perSession(service), balancers.endpoints], signal),
  };
  const all = [
    [node, perSession(node)],
    [lifecycle, remover("nodes", perSession(lifecycle))],
    [route, remover("routes", perSession(route))],
    [certificates, perSession(certificates)],
    [volume, remover("volumes", perSession(volume))],
    [tagging, perSession(tagging)],
    [service, remover("load-balancers", besideEndpoints)],
  ] as const;
  return {
    node,
    lifecycle,
    service,
    route,
    volume,
    get queues() {
      return defined({
        Nodes: node.current.queue,
        "node-lifecycle": lifecycle.current.queue,
        service: service.current?.queue,
        "node-firewall": service.current?.firewall?.queue,
        Routes: route.current?.queue,
        "kubelet-serving-csr": certificates.current?.queue,
        volume: volume.current?.queue,
        tagging: tagging.current?.queue,
      }) as Readonly<Record<string, WorkQueue>>;
    },
    tasks: all.flatMap(([{ current }, task]) => (current === undefined ? [] : task)),
    inProgress() {
      const named = (name: string, key: string): string =>
        name === "service" ? (service.current?.nameOf(key) ?? key) : key;
      return shortList(
        Object.entries(this.queues).flatMap(([name, queue]) =>
          queue.activeKeys.map((key) => `${name} ${named(name, key)}`),
        ),
      );
    },
  };
}

const checkPause = minutes(1);

/** Checks the cloud objects that settings name, until the cloud has answered once. */
export function composeSettingsCheck(session: () => SessionContext): Task {
  const run = async (signal: AbortSignal): Promise<void> => {
    const { connected, clock, log, reportOnLease } = session();
    while (!signal.aborted) {
      try {
        const problems = await connected.cloud.checkSettings?.({ signal, urgency: "refresh" });
        for (const problem of problems ?? []) {
          const { reason, severity } = problem;
          log[severity === "error" ? "error" : "warn"](messageIn(problem), { reason });
          reportOnLease("service", problem);
        }
        return;
      } catch (error) {
        if (!CloudError.is(error)) throw error;
        // The listings report an outage and are retried. All other errors need a person, so they are logged here.
        if (error.kind !== "unavailable" && error.kind !== "rate-limited") {
          log.warn(`The cloud settings could not be checked: ${messageOf(error)}`, {
            operation: error.detail.operation,
          });
          return;
        }
        await sleep(clock, checkPause, signal).catch(() => undefined);
      }
    }
  };
  return { name: "check of the cloud settings", run };
}

/** Lists all instances periodically, if a controller needs them. Each answer may confirm the account. */
export function composeRefresh(session: () => SessionContext): Task {
  const run = async (stop: AbortSignal): Promise<void> => {
    const { inventory, clock, settings, removals, log } = session();
    if (!inventory.isNeeded)
      log.info("Instances are not listed: only load balancers are managed, and their targets need none");
    const policy = defined({ fixed: settings.flags["node-status-update-frequency"] });
    const unsubscribe = inventory.subscribe(() => removals.account.note());
    await runRefreshLoop({ inventory, clock, policy }, stop).finally(unsubscribe);
  };
  return { name: "inventory", run };
}
