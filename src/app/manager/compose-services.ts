// The service controller, put together: what it watches, the one listing of balancers, its writes and its words.

import { SharedListing } from "../../cloud/shared-listing.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import { identityOf } from "../../controllers/node-facts.ts";
import { readInput } from "../../controllers/read-input.ts";
import { createServiceController } from "../../controllers/service/controller.ts";
import { createServiceWrites } from "../../controllers/service/status/service-writes.ts";
import { messageOf } from "../../core/errors.ts";
import type { KubeObject, ObjectReference, Service } from "../../kube/objects.ts";
import { endpointSlices } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import type { Files } from "../../platform/files.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { runTogether } from "../../runtime/run-together.ts";
import { type AnyProvider, annotationsOf } from "../connect-cloud.ts";
import { objectReporter } from "../reporting/object-reporter.ts";
import { isSelectedBy } from "./compose-nodes.ts";
import type { ControllerContext } from "./controller-context.ts";
import { checkForDrift, reportOrphans } from "./load-balancer-checks.ts";

function serviceReference({ metadata: { name, namespace = "default", uid } }: KubeObject): ObjectReference {
  return {
    apiVersion: "v1",
    kind: "Service",
    name,
    namespace,
    uid,
  };
}

/** Undefined where the cloud has no load balancers. */
export function composeServices(
  context: ControllerContext & { readonly files: Files },
  provider: AnyProvider,
  services: LatestObjects<Service>,
  signal: AbortSignal,
) {
  const {
    api,
    clock,
    random,
    files,
    log,
    journal,
    metrics,
    nodes,
    inventory,
    settings,
    connected,
    isObserving,
  } = context;
  const balancers = connected.cloud.loadBalancers;
  if (balancers === undefined) return undefined;
  const { flags } = settings;
  if (flags["load-balancer-target-drain"] > 0 && balancers.drains !== true) {
    log.warn(
      "--load-balancer-target-drain has no effect: balancers of this cloud cannot keep a target without new connections, so nodes that leave are left out at once",
    );
  }
  const listing = new SharedListing<ObservedLoadBalancer>({
    clock,
    random,
    signal,
    list: (call) => balancers.list(call),
    onListenerError: (error) =>
      log.error(
        `What follows a listing of balancers went wrong and is left out this time: ${messageOf(error)}`,
      ),
  });
  const report = objectReporter(context, "service-controller", serviceReference);
  const controller = createServiceController({
    services,
    nodes,
    isSelected: isSelectedBy(flags),
    machineOf: (node) => inventory.machineOf(identityOf(node)),
    onMachines: (listener) => inventory.subscribe(listener),
    openSlices: (onProblem) =>
      new Reflector({
        api,
        resource: endpointSlices,
        clock,
        random,
        onProblem: (problem, retryIn) => {
          log.warn(problem.message, { retryInSeconds: Math.ceil(retryIn / 1000) });
          onProblem(problem);
        },
      }),
    balancers,
    listing,
    annotations: annotationsOf(provider),
    facts: provider.facts ?? {},
    pending: connected.cloud.pending,
    readInput: (declaration, read) => readInput({ api, files }, declaration, read),
    report,
    note: (message, fields) => log.info(message, fields),
    journal: (step, group, outcome, detail) =>
      journal.record({
        target: "cloud",
        action: step.do,
        object: `balancer/${step.on ?? group}`,
        why: "a Service wishes it",
        at: clock.now(),
        outcome,
        ...(detail !== undefined && { detail }),
      }),
    observer: metrics.services,
    isObserving,
    clock,
    random,
    concurrency: flags["concurrent-service-syncs"],
    settings: settings.services,
    writes: createServiceWrites({
      api,
      journal,
      clock,
      mode: flags.mode,
      remember: (service) => services.remember(service),
    }),
  });
  const run = async (stop: AbortSignal): Promise<void> => {
    const stopReporting = reportOrphans(listing, controller.orphans, log);
    try {
      await runTogether(
        [
          { name: "service", run: (signalOfTask) => controller.run(signalOfTask) },
          { name: "balancer drift", run: (signalOfTask) => checkForDrift(listing, context, signalOfTask) },
        ],
        stop,
      );
    } finally {
      stopReporting();
    }
  };
  const { queue, orphans, activeProblems, groups } = controller;
  return {
    queue,
    orphans,
    activeProblems,
    membersOf: (group: string) => groups.membersOf(group),
    listing,
    run,
  };
}
