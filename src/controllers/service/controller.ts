// Brings balancers to where their Services want them, group by group: observe, plan (pure), apply, publish. A long
// operation of the cloud gives the worker back; a change of one Service never waits for another group.

import { isFenced, restAfter } from "../../cloud/disposition.ts";
import { milliseconds, minutes, type ServiceUID, serviceUID } from "../../core/brand.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { Service } from "../../kube/objects.ts";
import { keyOf } from "../../kube/resource-path.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { backoff } from "../../runtime/backoff.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { again, type Outcome, runWorkers, settled, waiting } from "../../runtime/workers.ts";
import { createTickets } from "../tickets.ts";
import { readsAnnotation } from "./annotations.ts";
import { createPlanning } from "./ask-provider.ts";
import { createBalancerInputs } from "./balancer-inputs.ts";
import { createCarryOut, type Work } from "./carry-out.ts";
import { createConditions } from "./conditions.ts";
import { createEndpointNodes } from "./endpoint-nodes.ts";
import { deletedUnasked, failureOf } from "./event-texts.ts";
import { isFactAnnotation, isFactLabel } from "./facts.ts";
import { createFinish } from "./finish.ts";
import { Groups } from "./groups.ts";
import { changeOf } from "./kind-of-change.ts";
import { createNodeSyncLatency } from "./node-sync-latency.ts";
import { createObservation } from "./observation.ts";
import { createPlacement } from "./placement.ts";
import type { ServicePorts } from "./ports.ts";
import { isPaused } from "./predicates.ts";
import { Progress } from "./progress.ts";
import { isRelevantChange } from "./relevant-change.ts";
import { createServiceTeller } from "./service-teller.ts";
import type { ServiceSettings } from "./settings.ts";
import { createTicketTrouble } from "./ticket-trouble.ts";
import { Turns } from "./turns.ts";
import { createWakeUps } from "./wake-ups.ts";
import { createWishes, isEnding, isOurs, isRefused } from "./wishes.ts";
import { createWriteEchoes } from "./write-echoes.ts";

export interface ServiceControllerOptions extends ServicePorts {
  readonly settings: ServiceSettings;
}

const lostRace = { first: milliseconds(100), cap: minutes(1) };

export const createServiceController = (given: ServiceControllerOptions) => {
  const isFact = (key: string): boolean => isFactAnnotation(given.facts, key);
  const isOurAnnotation = readsAnnotation(given.annotations, isFact);
  const isOurLabel = (key: string): boolean => isFactLabel(given.facts, key);
  const isRelevant = (before: Service | undefined, after: Service | undefined): boolean =>
    isRelevantChange(before, after, isOurAnnotation, { isOurLabel });
  const echoes = createWriteEchoes(given.writes, isRelevant, (key) => wakeUps.look(key));
  const options: ServiceControllerOptions = { ...given, writes: echoes.writes };
  const { services, listing, settings, clock, random } = options;
  const queue = new WorkQueue(clock);
  const groups = new Groups();
  const endpoints = createEndpointNodes(options.openSlices, clock, (keys) => {
    for (const key of keys) wakeUps.look(key);
  });
  const wishes = createWishes({ ...options, endpoints });
  const teller = createServiceTeller(options.tell);
  const progress = new Progress(clock);
  const nodeSyncLatency = createNodeSyncLatency(clock, options.observer);
  const turns = new Turns();
  const tickets = createTickets(options, (group) => queue.add(group));
  const inputs = createBalancerInputs(options.readInput, clock, (changed) => {
    for (const group of changed) queue.add(group);
  });
  const planning = createPlanning(options, wishes, inputs);
  const conditions = createConditions(options);
  const trouble = createTicketTrouble(options, teller, conditions, planning.problemsOf);
  const { endings } = wishes;
  const carryOut = createCarryOut({ ...options, endings }, teller, tickets, progress);
  const placement = createPlacement(options, groups, wishes, teller, (group) => queue.add(group));
  const finish = createFinish(
    {
      ...options,
      conditions,
      endings,
      isLeftElsewhere: placement.isLeftElsewhere,
      patience: (group, checkAfter) => progress.patience(group, checkAfter),
    },
    teller,
  );
  const observation = createObservation(options, wishes, () => services.list().filter(isOurs));

  const reconcile = async (group: string, signal: AbortSignal): Promise<Outcome> => {
    const present = groups.membersOf(group).flatMap((key) => services.get(key) ?? []);
    const owners = present.map(({ metadata }) => metadata.uid);
    if (!turns.enter(group, [...owners, ...groups.goneFrom(group)])) return waiting;
    try {
      const outcome = await inTurn(group, present, signal);
      if (outcome.kind !== "waiting") conditions.worked(group);
      if (outcome.kind === "settled") nodeSyncLatency.end(group);
      return outcome;
    } catch (error) {
      nodeSyncLatency.end(group);
      if (!signal.aborted && !isFenced(error))
        await conditions.failed(group, error, planning.concernedBy(error, groups.membersOf(group)), signal);
      throw error;
    } finally {
      wakeUps.forgetGone(present);
      for (const next of turns.leave(group)) queue.add(next);
    }
  };

  const inTurn = async (
    group: string,
    present: readonly Service[],
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const [paused] = present.filter(isPaused);
    if (paused !== undefined) {
      for (const service of present.filter((each) => !isPaused(each))) {
        teller.waits(service, `${keyOf(paused.metadata)}, which shares its load balancer and is paused`);
      }
      return settled;
    }
    const ticket = tickets.take(group);
    if (ticket === "pending") {
      await trouble.show(group, present, tickets.trouble, signal);
      return waiting;
    }
    if (ticket !== undefined) observation.changed(group);
    if (CloudError.is(ticket)) throw ticket;
    if (ticket !== undefined && ticket !== "lost") await carryOut.remember(present, ticket, signal);
    const listed = observation.listed(group, present);
    if (listed === "not yet") return observation.ask(group);
    for (const service of present) {
      teller.problems(service, listed.problems, "adoption");
      await conditions.show(service, listed.problems, signal);
    }
    if (listed.problems.length > 0) return settled;
    const call: Call = { signal, urgency: "user-change" };
    const plain = present.map((service) => wishes.of(service));
    const observed = await observation.inDepth(plain, listed.balancer, call);
    if (!turns.enter(group, observed?.owners ?? [])) return waiting;
    const all = present.map((service) => wishes.of(service, observed));
    if (all.some(({ isAwaited }) => isAwaited)) return waiting;
    for (const { service, problems } of all) {
      teller.problems(service, problems);
      await conditions.show(service, problems, signal);
    }
    const members = all.filter((member) => !member.isHeld && !isRefused(member, observed));
    const owed = groups.goneFrom(group);
    const gone = owed.filter((uid) => !endings.isHeld(uid));
    if (all.length > 0 && members.length === 0 && gone.length === 0) return settled;
    if (members.length === 0 && placement.isStillUsed(observed, gone)) return settled;
    // Nobody can be asked any more what was to become of this: it is an orphan, which is told.
    if (all.length === 0 && gone.length < owed.length) return forget(group, owed);
    // Nothing there may change while nobody knows what is meant; what it has is shown all the same.
    const blocked = members.filter(({ isBlocked }) => isBlocked);
    if (blocked.length > 0) {
      return finish(
        group,
        members.filter(({ wish }) => wish.ending === undefined),
        observed,
        undefined,
        signal,
      );
    }

    const { plan, now } = await planning.plan({ group, members, observed, gone }, call);
    const told = members.map((member) => ({
      ...member,
      problems: [...member.problems, ...(plan.problems ?? [])],
    }));
    for (const { service, problems } of told) {
      teller.problems(service, plan.problems ?? [], "plan");
      await conditions.show(service, problems, signal);
    }
    if (plan.problems?.some(({ severity }) => severity === "error")) return settled;
    if (plan.steps.length > 0) {
      const isDrift = members.length > 0 && progress.isUnchanged(group, now);
      if (isDrift) for (const { service } of members) teller.drift(service, plan.steps, settings.drift);
      if (isDrift && settings.drift === "report") return settled;
      return change({ group, members, steps: plan.steps, now }, signal);
    }
    if (plan.wait !== undefined) {
      for (const { service } of members) teller.waits(service, plan.wait.waitingFor);
      observation.changed(group);
      return again(progress.patience(group, plan.wait.checkAfter), plan.wait.waitingFor);
    }
    const outcome = await finish(group, told, observed, progress.underWay(group), signal);
    if (outcome.kind !== "settled") return outcome;
    if (observed === undefined || members.length > 0) settleDebts(group, gone);
    if (members.length > 0) progress.settle(group, now);
    else {
      if (progress.underWay(group) !== undefined) options.note(deletedUnasked, { balancer: group });
      progress.forget(group);
    }
    // As our own writes left them: their echoes wake nobody.
    for (const key of groups.membersOf(group)) {
      const service = services.get(key);
      if (service === undefined || isOurs(service)) continue;
      groups.dismiss(key);
      endings.forget([serviceUID(service.metadata.uid)]);
    }
    if (groups.membersOf(group).length === 0) forget(group, []);
    const changesAt = Math.min(...members.map(({ changeAt }) => changeAt ?? Number.POSITIVE_INFINITY));
    if (!Number.isFinite(changesAt)) return settled;
    return again(milliseconds(Math.max(0, changesAt - clock.now())), "targets to drain");
  };

  const settleDebts = (group: string, paid: readonly ServiceUID[]): void => {
    groups.settle(group, paid);
    endings.forget(paid);
  };

  const forget = (group: string, owed: readonly ServiceUID[]): Outcome => {
    settleDebts(group, owed);
    for (const part of [progress, observation, inputs, carryOut, trouble]) part.forget(group);
    return settled;
  };

  const change = async (
    work: Pick<Work, "group" | "members" | "steps" | "now">,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const { group, members, now } = work;
    const before = progress.settledWish(group);
    const isNew = progress.underWay(group) === undefined;
    const ends = members.every(({ wish }) => wish.ending !== undefined) ? "delete" : undefined;
    if (options.isObserving) return carryOut.show(work);
    const kind = changeOf(before, now, ends);
    progress.change(group, kind);
    const beganAt = clock.monotonic();
    let isFailed = true;
    try {
      const outcome = await carryOut.run({ ...work, before, isNew }, signal);
      isFailed = false;
      return outcome;
    } finally {
      observation.changed(group);
      if (kind === "update") options.observer.onHostUpdate(clock.monotonic() - beganAt, isFailed);
    }
  };

  const onError = (group: string, error: unknown, failures: number): Outcome => {
    const isOfListing = error === listing.failure?.error;
    observation.stopAsking(group);
    if (isKubeError(error, "precondition", "conflict", "not-found")) {
      return again(backoff(failures, lostRace, random), "LostRace");
    }
    for (const key of isFenced(error) ? [] : groups.membersOf(group)) {
      const service = services.get(key);
      if (service !== undefined) teller.failure(service, failureOf(isEnding(service), error));
    }
    const rest = restAfter(error, failures, clock, random);
    // A listing that works is news for everybody; what this group was refused is not mended by it.
    if (!isOfListing) progress.rest(group, rest);
    return again(rest, "an error");
  };

  const wakeUps = createWakeUps(options, {
    queue,
    groups,
    wishes,
    placement,
    observation,
    progress,
    nodeSyncLatency,
    teller,
    isNews: (key, before, after) => !echoes.isEcho(key, before, after) && isRelevant(before, after),
  });

  const run = async (signal: AbortSignal): Promise<void> => {
    observation.begin();
    progress.begin();
    tickets.begin(signal);
    const stop = wakeUps.begin();
    try {
      const work = { queue, count: options.concurrency, reconcile, onError, clock };
      const beside = [placement, endpoints, inputs].map(({ run }) => run(signal));
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
