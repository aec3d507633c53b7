// Composes the service controller of each leadership session: the shared listing of load balancers, its writes and events, a
// regular listing that finds drift, and a warning about orphans. Composes the history that its sessions share.

import { withOwners } from "../../cloud/inventory/balancer-owners.ts";
import { SharedListing } from "../../cloud/inventory/shared-listing.ts";
import type { ForeignNodes } from "../../controllers/foreign-nodes.ts";
import { journalledCloudSend } from "../../controllers/kernel/journalled-send.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import { identityOf } from "../../controllers/node-facts.ts";
import { ServiceController } from "../../controllers/service/controller.ts";
import type { AnyBalancers, OpenSlices, ServiceControllerDeps } from "../../controllers/service/deps.ts";
import { FirewallHistory } from "../../controllers/service/firewall-history.ts";
import { ServiceHistory } from "../../controllers/service/history.ts";
import { NodeFirewallController } from "../../controllers/service/node-firewall.ts";
import { possibleOwners } from "../../controllers/service/observe/ownership.ts";
import { createServiceWrites } from "../../controllers/service/status/service-writes.ts";
import { drains } from "../../controllers/service/targets/service-targets.ts";
import { milliseconds, minutes } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { messageOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node, Service } from "../../kube/objects.ts";
import { endpointSlices } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { programOf } from "../../provider/program.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { runTogether, type Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";
import { annotationsOf } from "../configuration/cloud-settings.ts";
import { classesOf } from "../flags/controller-settings.ts";
import { logProblem } from "../leadership/hold-release.ts";
import { isSelectedBy } from "./compose-nodes.ts";
import type { Composer, ControllerContext, HistoryContext } from "./controller-context.ts";

const checkInterval = minutes(20);

/** Requests a listing regularly, to find changes made in the cloud. */
async function checkForDrift(
  listing: Pick<SharedListing<unknown>, "request">,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    listing.request(clock.monotonic(), "refresh");
    // Jitter prevents replicas that started together from listing together.
    const pause = milliseconds(checkInterval * (1 + random.fraction() / 2));
    await sleep(clock, pause, signal).catch(() => undefined);
  }
}

/** Logs each set of orphans once, after the listing that shows it. Returns how to unsubscribe. */
function reportOrphans(
  listing: Pick<SharedListing<unknown>, "subscribe">,
  orphans: () => readonly { readonly name: string }[],
  log: Log,
): () => void {
  let reported = "";
  return listing.subscribe(() => {
    const names = orphans()
      .map(({ name }) => name)
      .toSorted();
    const text = names.join(", ");
    if (text !== reported && text !== "") {
      log.warn("Orphaned load balancers: they have this cluster's mark, and no Service needs them", {
        count: names.length,
        names: text,
      });
    }
    reported = text;
  });
}

export interface ComposedServices
  extends Task,
    Pick<ServiceController, "queue" | "report" | "nameOf" | "requestForHints"> {
  /** Undefined if the cloud provides no more health data than its listings. */
  readonly askHealth: ServiceController["askHealth"] | undefined;
  readonly listing: SharedListing<ObservedLoadBalancer>;
  /** Undefined if the cloud has no firewall for Nodes, or no setting names one. */
  readonly firewall: NodeFirewallController | undefined;
}

/** State that the sessions of a process share. */
interface ServiceHistories {
  readonly controller: ServiceHistory;
  /** Undefined if the cloud has no firewall for Nodes, or no setting names one. */
  readonly firewall: FirewallHistory | undefined;
  readonly foreignNodes: ForeignNodes | undefined;
}

export interface ServicesComposer {
  /** Composes nothing if the cloud has no load balancers. */
  readonly compose: Composer<ComposedServices | undefined>;
  /** Runs as long as a Lease is held, so the watch of EndpointSlices survives a change of session. */
  readonly endpoints: Task;
}

export function servicesComposer(
  kept: HistoryContext,
  provider: AnyProvider,
  services: LatestObjects<Service>,
  foreignNodes: ForeignNodes | undefined,
): ServicesComposer {
  const { clock, nodes, isSelected, formerLeaders } = kept;
  const { loadBalancers, nodeFirewall } = kept.session.connected.cloud;
  const [annotations, facts] = [annotationsOf(provider), provider.facts ?? {}];
  const classes = classesOf(kept.session.settings.flags);
  const controller = new ServiceHistory({
    services,
    nodes,
    isSelected,
    classes,
    annotations,
    facts,
    clock,
    balancers: { marksNameCluster: loadBalancers?.marksNameCluster },
    formerLeaders,
    removalLimit: () => kept.session.settings.services.removalLimit,
    openSlices: openSlicesOf(kept),
  });
  const firewall =
    nodeFirewall &&
    new FirewallHistory({ firewall: nodeFirewall, clock, services, classes, annotations, facts });
  const histories = { controller, firewall, foreignNodes };
  return {
    compose: (context) => composeServices(context, provider, services, histories),
    endpoints: { name: "endpoints", run: (stop) => controller.endpoints.run(stop) },
  };
}

function openSlicesOf({ api, clock, random, collectGarbage, log, followCache }: HistoryContext): OpenSlices {
  return (onProblem) => {
    const slices = new Reflector({
      api,
      resource: endpointSlices,
      clock,
      random,
      collectGarbage,
      onProblem: (problem, retryIn) => {
        log.warn(problem.message, { retryInSeconds: Math.ceil(retryIn / 1000) });
        onProblem(problem);
      },
    });
    return {
      store: slices.store,
      run: async (signal) => {
        const unfollow = followCache(slices, "service");
        await slices.run(signal).finally(unfollow);
      },
    };
  };
}

function warnAboutDrain({ settings, log }: ControllerContext, balancers: AnyBalancers): void {
  if (settings.flags["load-balancer-target-drain"] === 0 || drains(balancers)) return;
  log.warn(
    "--load-balancer-target-drain has no effect: load balancers of this cloud do not support draining, so targets are removed immediately",
  );
}

function composeServices(
  context: ControllerContext,
  provider: AnyProvider,
  services: LatestObjects<Service>,
  histories: ServiceHistories,
): ComposedServices | undefined {
  const { api, clock, random, log, journal, metrics, nodes, inventory, settings, connected, removals } =
    context;
  const { loadBalancers: balancers, pending } = connected.cloud;
  if (balancers === undefined) return undefined;
  warnAboutDrain(context, balancers);
  const { isObserving } = context;
  const { flags } = settings;
  const classes = classesOf(flags);
  /** Aborted when the session has ended. After a drain, that is later than the request to stop. */
  const session = new AbortController();
  const listing = new SharedListing<ObservedLoadBalancer>({
    clock,
    random,
    signal: session.signal,
    keyOf: ({ owners, name }) => `${owners[0]} ${name}`,
    list: async function* (call) {
      const { ownKeys } = balancers;
      if (ownKeys === undefined) {
        yield* balancers.list(call);
        return;
      }
      // Which Service owns a load balancer depends on all Services.
      const all: ObservedLoadBalancer[] = [];
      for await (const page of balancers.list(call)) all.push(...page);
      yield withOwners(all, ownKeys, () => possibleOwners(services.list(), provider.facts ?? {}, classes));
    },
    onListenerError: (error) =>
      log.error(
        `Cannot process the listing of load balancers; skipped until the next one: ${messageOf(error)}`,
      ),
  });
  const { foreignNodes } = histories;
  const identify = (node: Node) => foreignNodes?.identityOf(node) ?? identityOf(node);
  const deps: ServiceControllerDeps = {
    services,
    nodes,
    isSelected: isSelectedBy(flags),
    machineOf: (node) => inventory.machineOf(identityOf(node)),
    foreignNodes,
    machines: {
      check: (node) => inventory.check(identify(node)),
      isFailing: (node) => !inventory.isNeeded || inventory.failureFor(identify(node)) !== undefined,
      request: (node, since) => inventory.request(identify(node), { since, urgency: "user-change" }),
    },
    onMachines: (listener) => inventory.subscribe(listener),
    balancers,
    listing,
    clusterName: flags["cluster-name"],
    program: programOf(provider),
    classes,
    annotations: annotationsOf(provider),
    facts: provider.facts ?? {},
    pending,
    report: context.reporterOf("service-controller", "Service"),
    removals,
    warn: (message, fields) => log.warn(message, fields),
    note: (message, fields) => log.info(message, fields),
    journal: ({ step, balancer, why, outcome, detail }) =>
      journal.record(
        defined({
          target: "cloud" as const,
          action: step.do,
          object: `balancer/${step.on ?? balancer}`,
          why,
          at: clock.now(),
          outcome,
          detail,
        }),
      ),
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
  };
  const controller = new ServiceController(deps, histories.controller);
  const firewall = composeFirewall(context, deps, histories);
  const run = async (signal: AbortSignal): Promise<void> => {
    const stopReporting = reportOrphans(listing, () => controller.orphans(), log);
    const tasks: readonly Task[] = [
      { name: "service", run: (stop) => controller.run(stop) },
      { name: "load balancer drift", run: (stop) => checkForDrift(listing, context, stop) },
      ...(firewall === undefined
        ? []
        : [{ name: "node firewall", run: (stop: AbortSignal) => firewall.run(stop) }]),
    ];
    try {
      await runTogether(tasks, signal);
    } finally {
      stopReporting();
      session.abort();
    }
  };
  return {
    name: "service",
    queue: controller.queue,
    firewall,
    listing,
    report: () => controller.report(),
    nameOf: (uid) => controller.nameOf(uid),
    askHealth: balancers.observeHealth && ((key, signal) => controller.askHealth(key, signal)),
    requestForHints: (groups, since) => controller.requestForHints(groups, since),
    run,
  };
}

function composeFirewall(
  { random, journal, clock, log, settings, connected, reportOnLease }: ControllerContext,
  { services, classes, annotations, facts, report }: ServiceControllerDeps,
  { firewall: history }: ServiceHistories,
): NodeFirewallController | undefined {
  const firewall = connected.cloud.nodeFirewall;
  if (firewall === undefined || history === undefined) return undefined;
  const own = {
    firewall,
    services,
    classes,
    annotations,
    facts,
    clock,
    random,
    report,
    settings: settings.services,
    send: journalledCloudSend({ journal, clock, mode: settings.flags.mode }),
    reportFirewall: (problem: Problem) => {
      logProblem(problem, log);
      reportOnLease("service", problem);
    },
  };
  return new NodeFirewallController(own, history);
}
