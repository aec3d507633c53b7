// The service controller, put together: what is remembered, what brings groups into the queue, and the round that a worker
// makes of each. It decides nothing itself; the story is told in `round/round.ts`.

import type { Service } from "../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { runWorkers } from "../../runtime/workers.ts";
import { Operations } from "../operations.ts";
import { readsAnnotation } from "./annotations/annotations.ts";
import type { ServiceControllerOptions, ServiceDeps } from "./deps.ts";
import { createBalancerInputs } from "./desired/balancer-inputs.ts";
import { createDesiredServices } from "./desired/desired-services.ts";
import { isFactAnnotation, isFactLabel } from "./desired/facts.ts";
import { createFreshListing } from "./observed/fresh-listing.ts";
import { claimMarkedBalancers } from "./queue/claim-marked.ts";
import { createOwnServiceWrites } from "./queue/own-service-writes.ts";
import { createPlacement } from "./queue/placement.ts";
import { isRelevantChange } from "./queue/relevant-change.ts";
import { createTriggers } from "./queue/triggers.ts";
import type { RoundParts } from "./reconcile/context.ts";
import { createFailure } from "./reconcile/failure.ts";
import { createNodeSyncLatency } from "./reconcile/node-sync-latency.ts";
import { Turns } from "./reconcile/owner-lock.ts";
import { createRound } from "./reconcile/reconcile.ts";
import { createInTurn } from "./reconcile/with-owner-lock.ts";
import { Groups } from "./state/groups.ts";
import { Progress } from "./state/progress.ts";
import { createConditions } from "./status/conditions.ts";
import { createServiceReporter } from "./status/service-reporter.ts";
import { createEndpointNodes } from "./targets/endpoint-nodes.ts";

export function createServiceController(options: ServiceControllerOptions) {
  const { clock, listing } = options;
  const queue = new WorkQueue(clock);
  const enqueue = (group: string): void => queue.add(group);
  const check = (key: string): void => triggers.check(key);

  const isRelevant = relevanceTo(options);
  const ownWrites = createOwnServiceWrites(options.writes, isRelevant, check);
  const ports: ServiceControllerOptions = { ...options, writes: ownWrites.writes };

  const groups = new Groups();
  const progress = new Progress(clock);
  const nodeSyncLatency = createNodeSyncLatency(clock, ports.observer);
  const reporter = createServiceReporter(ports.report);
  const operations = new Operations(ports, enqueue);
  const endpoints = createEndpointNodes(ports.openSlices, clock, (keys) => keys.forEach(check));
  const inputs = createBalancerInputs(ports.readInput, clock, (changed) => changed.forEach(enqueue));
  const desiredServices = createDesiredServices({ ...ports, endpoints });
  const freshListing = createFreshListing(ports, desiredServices);
  const placement = createPlacement(ports, groups, desiredServices, reporter, enqueue);
  const parts: RoundParts = {
    ports,
    groups,
    desiredServices,
    freshListing,
    turns: new Turns(),
    operations,
    inputs,
    progress,
    reporter,
    conditions: createConditions(ports),
  };

  const triggers = createTriggers(ports, {
    ...parts,
    claimMarked: () => claimMarkedBalancers({ deps: ports, groups, desiredServices, placement, enqueue }),
    queue,
    placement,
    nodeSyncLatency,
    isNews: ownWrites.isNews,
  });
  const failure = createFailure(parts);
  const reconcile = createInTurn({
    ...parts,
    nodeSyncLatency,
    failure,
    round: createRound(parts),
    forgetGone: triggers.forgetGone,
    enqueue,
  });

  const run = async (signal: AbortSignal): Promise<void> => {
    freshListing.begin();
    progress.begin();
    operations.begin(signal);
    const stop = triggers.begin();
    try {
      const { onError } = failure;
      const work = { queue, count: ports.concurrency, reconcile, onError, clock };
      const beside = [placement, endpoints, inputs].map((each) => each.run(signal));
      await Promise.all([runWorkers(work, signal), ...beside]);
    } finally {
      stop();
      operations.end();
    }
  };

  /** Balancers with our mark that no Service asks for and none that we have seen did. */
  const orphans = (): readonly ObservedLoadBalancer[] => {
    const known = groups.all;
    return (listing.latest?.items ?? []).filter(
      ({ group, ownership }) => ownership === "ours" && !known.has(group),
    );
  };

  return { queue, groups, orphans, activeProblems: () => reporter.activeProblems, run };
}

export type ServiceController = ReturnType<typeof createServiceController>;

/** Facts stand where the provider says: what is written there is read by us too. */
function relevanceTo({ annotations, facts }: Pick<ServiceDeps, "annotations" | "facts">) {
  const isOurAnnotation = readsAnnotation(annotations, (key) => isFactAnnotation(facts, key));
  const isOurLabel = (key: string): boolean => isFactLabel(facts, key);
  return (before: Service | undefined, after: Service | undefined): boolean =>
    isRelevantChange(before, after, isOurAnnotation, { isOurLabel });
}
