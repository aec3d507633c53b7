// The service controller, put together: what is remembered, what brings groups into the queue, and the round that a worker
// makes of each. It decides nothing itself; the story is told in `round/round.ts`.

import type { Service } from "../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { runWorkers } from "../../runtime/workers.ts";
import { createTickets } from "../operations.ts";
import { readsAnnotation } from "./annotations/annotations.ts";
import { createBalancerInputs } from "./desired/balancer-inputs.ts";
import { createClaims } from "./observed/ownership.ts";
import { createConditions } from "./status/conditions.ts";
import { isFactAnnotation, isFactLabel } from "./desired/facts.ts";
import { createFreshListing } from "./observed/fresh-listing.ts";
import { Groups } from "./queue/groups.ts";
import { createNodeSyncLatency } from "./queue/node-sync-latency.ts";
import { createPlacement } from "./desired/placement.ts";
import type { ServiceControllerOptions, ServicePorts } from "./deps.ts";
import { Progress } from "./reconcile/progress.ts";
import { isRelevantChange } from "./queue/relevant-change.ts";
import { createFailure } from "./reconcile/failure.ts";
import { createInTurn } from "./reconcile/with-owner-lock.ts";
import { createRound } from "./reconcile/reconcile.ts";
import type { RoundParts } from "./reconcile/reconcile-deps.ts";
import { createServiceTeller } from "./status/service-reporter.ts";
import { createEndpointNodes } from "./targets/endpoint-nodes.ts";
import { Turns } from "./queue/owner-lock.ts";
import { createWakeUps } from "./queue/triggers.ts";
import { createWishes } from "./desired/desired-services.ts";
import { createWriteEchoes } from "./queue/own-service-writes.ts";

export const createServiceController = (options: ServiceControllerOptions) => {
  const { clock, listing } = options;
  const queue = new WorkQueue(clock);
  const wake = (group: string): void => queue.add(group);
  const look = (key: string): void => wakeUps.look(key);

  const isRelevant = relevanceTo(options);
  const echoes = createWriteEchoes(options.writes, isRelevant, look);
  const ports: ServiceControllerOptions = { ...options, writes: echoes.writes };

  const groups = new Groups();
  const progress = new Progress(clock);
  const nodeSyncLatency = createNodeSyncLatency(clock, ports.observer);
  const teller = createServiceTeller(ports.tell);
  const tickets = createTickets(ports, wake);
  const endpoints = createEndpointNodes(ports.openSlices, clock, (keys) => keys.forEach(look));
  const inputs = createBalancerInputs(ports.readInput, clock, (changed) => changed.forEach(wake));
  const wishes = createWishes({ ...ports, endpoints });
  const freshListing = createFreshListing(ports, wishes);
  const placement = createPlacement(ports, groups, wishes, teller, wake);
  const parts: RoundParts = {
    ports,
    groups,
    wishes,
    freshListing,
    claims: createClaims(ports, groups, wishes, placement, wake),
    turns: new Turns(),
    tickets,
    inputs,
    progress,
    teller,
    conditions: createConditions(ports),
  };

  const wakeUps = createWakeUps(ports, {
    ...parts,
    queue,
    placement,
    nodeSyncLatency,
    isNews: echoes.isNews,
  });
  const failure = createFailure(parts);
  const reconcile = createInTurn({
    ...parts,
    nodeSyncLatency,
    failure,
    round: createRound(parts),
    forgetGone: wakeUps.forgetGone,
    wake,
  });

  const run = async (signal: AbortSignal): Promise<void> => {
    freshListing.begin();
    progress.begin();
    tickets.begin(signal);
    const stop = wakeUps.begin();
    try {
      const { onError } = failure;
      const work = { queue, count: ports.concurrency, reconcile, onError, clock };
      const beside = [placement, endpoints, inputs].map((each) => each.run(signal));
      await Promise.all([runWorkers(work, signal), ...beside]);
    } finally {
      stop();
      tickets.end();
    }
  };

  /** Balancers with our mark that no Service asks for and none that we have seen did. */
  const orphans = (): readonly ObservedLoadBalancer[] => {
    const known = groups.all;
    return (listing.latest?.items ?? []).filter(
      ({ group, ownership }) => ownership === "ours" && !known.has(group),
    );
  };

  return { queue, groups, orphans, troubles: () => teller.troubles, run };
};

export type ServiceController = ReturnType<typeof createServiceController>;

/** Facts stand where the provider says: what is written there is read by us too. */
const relevanceTo = ({ annotations, facts }: Pick<ServicePorts, "annotations" | "facts">) => {
  const isOurAnnotation = readsAnnotation(annotations, (key) => isFactAnnotation(facts, key));
  const isOurLabel = (key: string): boolean => isFactLabel(facts, key);
  return (before: Service | undefined, after: Service | undefined): boolean =>
    isRelevantChange(before, after, isOurAnnotation, { isOurLabel });
};
