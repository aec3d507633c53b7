// Composes all controllers of a manager, with their queues and the tasks that run them, and the task that lists all instances
// periodically. Flags and Leases decide which run.

import type { Inventory } from "../../cloud/inventory.ts";
import { runRefreshLoop } from "../../cloud/refresh-loop.ts";
import { isLostRace } from "../../controllers/classify-error.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import type { NodeController } from "../../controllers/node/controller.ts";
import { NodeHistory } from "../../controllers/node/history.ts";
import type { LifecycleController } from "../../controllers/node-lifecycle/controller.ts";
import type { ObjectEvent } from "../../controllers/reporter.ts";
import type { RouteController } from "../../controllers/route/controller.ts";
import {
  ServingCertificateController,
  type ServingCertificateDeps,
} from "../../controllers/serving-certificates/controller.ts";
import { type RequestContent, servingSigner } from "../../controllers/serving-certificates/decide-request.ts";
import { ServingCertificateHistory } from "../../controllers/serving-certificates/history.ts";
import { TaggingController } from "../../controllers/tagging/controller.ts";
import { TaggingHistory } from "../../controllers/tagging/history.ts";
import { journalledCloudSend, journalledSend } from "../../controllers/writes/journalled-send.ts";
import { minutes } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { Service } from "../../kube/objects.ts";
import { certificateSigningRequests } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import { InvalidDer } from "../../pki/der-reader.ts";
import { parseSigningRequest } from "../../pki/signing-request.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Instances } from "../../provider/instances.ts";
import type { MachineTags } from "../../provider/machine-tags.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { PausableWork } from "../../runtime/pausable-work.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { VolumeController } from "../../volumes/controller/controller.ts";
import type { ControllerName } from "../flags/controller-names.ts";
import type { Flags } from "../flags/flag-table.ts";
import {
  composeLifecycle,
  composeLifecycleHistory,
  composeNodes,
  composeRoutes,
  isSelectedBy,
  nodeDeps,
  sharedByRoutes,
} from "./compose-nodes.ts";
import { type ComposedServices, serviceSlot } from "./compose-services.ts";
import { composeVolumes, sharedByVolumes, type VolumeWatches } from "./compose-volumes.ts";
import type { ControllerContext, SettingsSection } from "./controller-context.ts";
import { ControllerSlot, type ControllerTask } from "./controller-slot.ts";
import type { WatchDeps } from "./watched-resource.ts";

export interface ControllersDeps {
  readonly provider: AnyProvider;
  readonly instances: Instances;
  readonly contextOf: (name: ControllerName) => ControllerContext;
  readonly services: LatestObjects<Service>;
  /** Undefined without the volume controller. */
  readonly volumeWatches: VolumeWatches | undefined;
  readonly watchDeps: WatchDeps;
  /** A controller was composed again, with new queues. */
  readonly onComposed: () => void;
}

export interface Controllers {
  readonly node: NodeController;
  readonly lifecycle: LifecycleController;
  /** Undefined if the cloud has no load balancers. */
  readonly service: ComposedServices | undefined;
  /** Undefined if the cloud has no routes, or the flags disable them. */
  readonly route: RouteController | undefined;
  /** Undefined unless it is enabled. */
  readonly volume: VolumeController | undefined;
  /** By upstream's names. */
  readonly queues: Readonly<Record<string, WorkQueue>>;
  readonly tasks: readonly ControllerTask[];
  /** Reconciles again what depends on the changed settings. */
  reconsider(changed: readonly SettingsSection[]): void;
}

export function composeControllers(deps: ControllersDeps): Controllers {
  const { provider, instances, contextOf, services, volumeWatches, watchDeps, onComposed } = deps;
  const nodeHistory = new NodeHistory(contextOf("cloud-node"));
  const node = new ControllerSlot(
    "cloud-node",
    () => composeNodes(contextOf("cloud-node"), instances, nodeHistory),
    onComposed,
  );
  const lifecycleHistory = composeLifecycleHistory(contextOf("cloud-node-lifecycle"));
  const lifecycle = new ControllerSlot(
    "cloud-node-lifecycle",
    () => composeLifecycle(contextOf("cloud-node-lifecycle"), lifecycleHistory),
    onComposed,
  );
  const service = serviceSlot({ provider, services, context: () => contextOf("service"), onComposed });
  const routes = sharedByRoutes(contextOf("node-route"));
  const route =
    routes &&
    new ControllerSlot("node-route", () => composeRoutes(contextOf("node-route"), routes), onComposed);
  const certificates = certificateSlot(() => contextOf("kubelet-serving-csr"), onComposed);
  const volumes = volumeWatches && sharedByVolumes(contextOf("volume"), provider, volumeWatches, watchDeps);
  const volume =
    volumes && new ControllerSlot("volume", () => composeVolumes(contextOf("volume"), volumes), onComposed);
  const tagging = taggingSlot(() => contextOf("tagging"), onComposed);
  const slots = [node, lifecycle, service, route, certificates, volume, tagging];
  return {
    get node() {
      return node.current;
    },
    get lifecycle() {
      return lifecycle.current;
    },
    get service() {
      return service?.current;
    },
    get route() {
      return route?.current;
    },
    get volume() {
      return volume?.current;
    },
    get queues() {
      return defined({
        Nodes: node.current.queue,
        "node-lifecycle": lifecycle.current.queue,
        service: service?.current.queue,
        "node-firewall": service?.current.firewall?.queue,
        Routes: route?.current.queue,
        "kubelet-serving-csr": certificates?.current.queue,
        volume: volume?.current.queue,
        tagging: tagging?.current.queue,
      }) as Readonly<Record<string, WorkQueue>>;
    },
    tasks: slots.filter((slot) => slot !== undefined),
    reconsider(changed) {
      const bySection = {
        nodes: this.node,
        lifecycle: this.lifecycle,
        routes: this.route,
        services: this.service,
      };
      for (const section of new Set(changed)) {
        const controller = bySection[section];
        // A standby replica reconciles everything when it becomes the leader.
        if (controller?.queue.work.isRunning === true) controller.reconsider();
      }
      for (const slot of [certificates, volume, tagging])
        if (slot?.current.queue.work.isRunning === true) slot.current.reconsider();
    },
  };
}

const checkPause = minutes(1);

/** Checks what the settings of the cloud name, until the cloud has answered once. */
export function composeSettingsCheck({ connected, clock, log, reportOnLease }: ControllerContext): Task {
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      try {
        const problems = await connected.cloud.checkSettings?.({ signal, urgency: "refresh" });
        for (const { reason, severity, text } of problems ?? []) {
          log[severity === "error" ? "error" : "warn"](text, { reason });
          reportOnLease("service", { type: "Warning", reason, message: text });
        }
        return;
      } catch (error) {
        if (!CloudError.is(error)) throw error;
        // An outage is reported by the listings, which are retried. Any other error needs a person, so it is logged here.
        if (error.kind !== "unavailable" && error.kind !== "rate-limited") {
          log.warn(`The settings of the cloud could not be checked: ${error.message}`, {
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

export interface ComposedRefresh extends Task {
  readonly work: PausableWork;
}

export function composeRefresh(inventory: Inventory, clock: Clock, flags: Flags): ComposedRefresh {
  const work = new PausableWork();
  // A reload changes the flags in place, and starts the loop again.
  const refresh = (stop: AbortSignal): Promise<void> => {
    const policy = defined({ fixed: flags["node-status-update-frequency"] });
    return runRefreshLoop({ inventory, clock, policy }, stop);
  };
  return { name: "inventory", work, run: (stop) => work.run(refresh, stop) };
}

function readRequest(pem: string): RequestContent {
  try {
    return parseSigningRequest(pem);
  } catch (error) {
    if (error instanceof InvalidDer) return { malformed: error.message };
    throw error;
  }
}

/** Undefined unless it is enabled. */
function certificateSlot(
  context: () => ControllerContext,
  onComposed: () => void,
): ControllerSlot<ServingCertificateController> | undefined {
  const name = "kubelet-serving-csr";
  if (!context().settings.controllers.has(name)) return undefined;
  const history = new ServingCertificateHistory(context());
  return new ControllerSlot(name, () => composeCertificates(context(), history), onComposed);
}

function composeCertificates(
  context: ControllerContext,
  history: ServingCertificateHistory,
): ServingCertificateController {
  const { api, reader, clock, random, journal, log, settings, metrics, followCache } = context;
  const { writes: _, ...deps } = nodeDeps(context, "kubelet-serving-csr-controller");
  const options: ServingCertificateDeps = {
    ...deps,
    api,
    readRequest,
    send: journalledSend({ journal, clock, mode: settings.flags.mode }, "cluster", isLostRace),
    openRequests: () => {
      const requests = new Reflector({
        api: reader,
        clock,
        random,
        resource: certificateSigningRequests,
        fieldSelector: `spec.signerName=${servingSigner}`,
        onProblem: (problem, retryIn) =>
          log.warn(problem.message, { retryInSeconds: Math.ceil(retryIn / 1000) }),
      });
      const run = async (signal: AbortSignal): Promise<void> => {
        const unfollow = followCache(requests, "kubelet-serving-csr");
        await requests.run(signal).finally(unfollow);
      };
      return { store: requests.store, run };
    },
    onDecision: metrics.servingCertificate,
  };
  return new ServingCertificateController(options, history);
}

/** Undefined unless it is enabled and the cloud has tags to give. */
function taggingSlot(
  context: () => ControllerContext,
  onComposed: () => void,
): ControllerSlot<TaggingController> | undefined {
  const { log, connected, settings, nodes, inventory, formerLeaders } = context();
  const { machineTags } = connected.cloud;
  if (!settings.controllers.has("tagging")) return undefined;
  if (machineTags === undefined) {
    log.warn(
      "The controller tagging does not run: the cloud has no tags to give. Set --tags and --resources where the cloud has them, or remove tagging from --controllers.",
    );
    return undefined;
  }
  const isSelected = isSelectedBy(settings.flags);
  const history = new TaggingHistory({ nodes, inventory, isSelected, formerLeaders });
  return new ControllerSlot("tagging", () => composeTagging(context(), machineTags, history), onComposed);
}

function composeTagging(
  context: ControllerContext,
  machineTags: MachineTags,
  history: TaggingHistory,
): TaggingController {
  const { clock, journal, log, settings, reportOnLease } = context;
  const deps = {
    ...nodeDeps(context, "tagging-controller"),
    tags: machineTags,
    send: journalledCloudSend({ journal, clock, mode: settings.flags.mode }),
    reportTags: (event: ObjectEvent) => {
      log.warn(event.message, { reason: event.reason });
      reportOnLease("tagging", event);
    },
  };
  return new TaggingController(deps, history);
}
