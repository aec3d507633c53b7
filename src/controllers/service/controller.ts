// Brings balancers to where their Services want them, group by group: observe, plan (pure), apply, publish. A long
// operation of the cloud gives the worker back; a change of one Service never waits for another group.

import { restAfter } from "../../cloud/disposition.ts";
import { type Milliseconds, milliseconds, minutes } from "../../core/brand.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { Service } from "../../kube/objects.ts";
import { serviceStatusPatch } from "../../kube/service-patch.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import { backoff } from "../../runtime/backoff.ts";
import { priorities, WorkQueue } from "../../runtime/work-queue.ts";
import { again, type Outcome, runWorkers, settled } from "../../runtime/workers.ts";
import { readsAnnotation } from "./annotations.ts";
import { type Change, failureOf, wishText } from "./announcements.ts";
import { changeOf, createCarryOut } from "./carry-out.ts";
import { isRelevantNodeChange } from "./eligible-nodes.ts";
import { isFactAnnotation, isFactLabel } from "./facts.ts";
import { createFinish } from "./finish.ts";
import { Groups } from "./groups.ts";
import { createObservation } from "./observation.ts";
import type { ServicePorts } from "./ports.ts";
import { isPaused } from "./predicates.ts";
import { conditionsFor } from "./problems-to-conditions.ts";
import { isRelevantChange } from "./relevant-change.ts";
import type { ServiceSettings } from "./settings.ts";
import { createSurveys } from "./surveys.ts";
import { createTalk } from "./talk.ts";
import { createWishes, isOurs, type Member } from "./wishes.ts";

export interface ServiceControllerOptions extends ServicePorts {
  readonly settings: ServiceSettings;
}

/** Between the moment that a node changes and the look at all balancers: nodes come in bursts. */
const nodeDebounce: Milliseconds = milliseconds(200);
const lostRace = { first: milliseconds(100), cap: minutes(1) };

export const createServiceController = (options: ServiceControllerOptions) => {
  const { services, nodes, balancers, listing, settings, clock, random } = options;
  const queue = new WorkQueue(clock);
  const groups = new Groups();
  const wishes = createWishes(options);
  const talk = createTalk(options.tell);
  const surveys = createSurveys(options);
  const carryOut = createCarryOut(options, talk);
  const finish = createFinish(options, talk);
  const observation = createObservation(options, wishes);
  /** What was begun and has not settled yet. */
  const underWay = new Map<string, Change>();
  /** What was wished when the group last settled. */
  const settledWish = new Map<string, string>();

  const isFact = (key: string): boolean => isFactAnnotation(options.facts, key);
  const isOurAnnotation = readsAnnotation(options.annotations, isFact);
  const isOurLabel = (key: string): boolean => isFactLabel(options.facts, key);

  /** Only while something is wrong; absent means fine. */
  const conditions = async (members: readonly Member[], signal: AbortSignal): Promise<void> => {
    for (const { service, problems } of members) {
      const plan = conditionsFor(service, problems, clock.now());
      if (!plan.isChanged || !plan.isWorthAWrite) continue;
      const patch = serviceStatusPatch({ service, conditions: plan.conditions });
      if (patch !== undefined) await options.writes.patch(service, patch, "what is wrong is shown", signal);
    }
  };

  const reconcile = async (group: string, signal: AbortSignal): Promise<Outcome> => {
    const present = groups.membersOf(group).flatMap((key) => services.get(key) ?? []);
    if (present.some(isPaused)) return settled;
    const listed = observation.listed(group, present);
    if (listed === "not yet") return observation.ask(group);
    const call: Call = { signal, urgency: "user-change" };
    const plain = present.map((service) => wishes.of(service));
    const observed = await observation.inDepth(plain, listed, call);
    const members = present.map((service) => wishes.of(service, observed));
    for (const { service, problems } of members) talk.problems(service, problems);
    await conditions(members, signal);
    if (members.some(({ isBlocked }) => isBlocked)) return settled;
    if (observed === undefined && members.some(isRefused)) return settled;

    const plan = balancers.plan(
      members.map((member) => planned(member, observed)),
      observed,
      {
        survey: await surveys.current(allWishes, call),
        inputs: options.inputs,
        orphans: groups.goneFrom(group),
      },
    );
    for (const { service } of members) talk.problems(service, plan.problems ?? [], "plan");
    if (plan.problems?.some(({ severity }) => severity === "error")) return settled;
    const text = wishText(members.map(({ wish }) => wish));
    if (plan.steps.length > 0) {
      const isDrift = settledWish.get(group) === text && members.length > 0;
      if (isDrift) for (const { service } of members) talk.drift(service, plan.steps, settings.drift);
      if (isDrift && settings.drift === "report") return settled;
      return change(group, members, plan.steps, settledWish.get(group), signal);
    }
    if (plan.wait !== undefined) {
      for (const { service } of members) talk.waits(service, plan.wait.waitingFor);
      observation.changed(group);
      return again(plan.wait.checkAfter, plan.wait.waitingFor);
    }
    const outcome = await finish(members, observed, underWay.get(group), signal);
    if (outcome.kind !== "settled") return outcome;
    underWay.delete(group);
    if (observed === undefined || members.length > 0) groups.settle(group);
    if (members.length > 0) settledWish.set(group, text);
    else {
      settledWish.delete(group);
      observation.forget(group);
    }
    return settled;
  };

  const change = async (
    group: string,
    members: readonly Member[],
    steps: readonly { readonly do: string; readonly on?: string }[],
    before: string | undefined,
    signal: AbortSignal,
  ): Promise<Outcome> => {
    const isNew = !underWay.has(group);
    const work = {
      group,
      members,
      steps,
      before,
      isNew,
    };
    underWay.set(
      group,
      underWay.get(group) ??
        changeOf(
          work,
          members.every(({ wish }) => wish.ending !== undefined),
        ),
    );
    try {
      return await carryOut(work, signal);
    } finally {
      observation.changed(group);
    }
  };

  const allWishes = () =>
    services
      .list()
      .filter(isOurs)
      .map((service) => wishes.of(service).wish);

  const onError = (group: string, error: unknown, failures: number): Outcome => {
    observation.stopAsking(group);
    if (isKubeError(error, "precondition", "conflict", "not-found")) {
      return again(backoff(failures, lostRace, random), "LostRace");
    }
    const isFenced = CloudError.is(error) && error.detail.cause === "fenced";
    for (const key of isFenced ? [] : groups.membersOf(group)) {
      const service = services.get(key);
      if (service !== undefined) talk.failure(service, failureOf(wishes.of(service).wish, error));
    }
    return again(restAfter(error, failures, clock, random), "an error");
  };

  const place = (key: string, service: Service | undefined): readonly string[] => {
    if (service === undefined) return groups.remove(key);
    if (!isOurs(service)) return groups.knows(key) ? groups.remove(key) : [];
    const { wish } = wishes.of(service);
    return groups.place(key, wish.owner.uid, balancers.groupOf?.(wish) ?? wish.owner.uid);
  };

  const onService = (change: {
    readonly key: string;
    readonly before?: Service;
    readonly after?: Service;
  }): void => {
    const { key, before, after } = change;
    if (
      before !== undefined &&
      after !== undefined &&
      !isRelevantChange(before, after, isOurAnnotation, { isOurLabel })
    )
      return;
    // Made again under the same name within a moment: the first one's balancer is a debt.
    const replaced =
      before !== undefined && after !== undefined && before.metadata.uid !== after.metadata.uid;
    const touched = [...(replaced ? groups.remove(key) : []), ...place(key, after)];
    for (const group of touched) queue.add(group, { priority: priorities.urgent });
    if (after === undefined) talk.forget(key);
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    let cancelNodes: (() => void) | undefined;
    const onNodes = (): void => {
      cancelNodes = undefined;
      if (wishes.refreshTargets()) for (const group of groups.all) queue.add(group);
    };
    const stops = [
      services.subscribe(onService),
      nodes.subscribe(({ before, after }) => {
        if (isRelevantNodeChange(before, after, wishes)) cancelNodes ??= clock.after(nodeDebounce, onNodes);
      }),
      listing.subscribe(() => {
        for (const group of observation.asking()) queue.add(group, { priority: priorities.urgent });
        for (const group of groups.all) queue.add(group, { priority: priorities.background });
      }),
    ];
    wishes.refreshTargets();
    for (const service of services.list()) {
      for (const group of place(keyOfObject(service), service)) queue.add(group);
    }
    try {
      const monotonic = () => clock.monotonic();
      await runWorkers({ queue, count: options.concurrency, reconcile, onError, monotonic }, signal);
    } finally {
      cancelNodes?.();
      for (const stop of stops) stop();
    }
  };

  /** Balancers with our mark that no Service asks for and none that we have seen did. */
  const orphans = (): readonly ObservedLoadBalancer[] => {
    const known = groups.all;
    return (listing.latest?.items ?? []).filter(
      ({ group, ownership }) => ownership === "ours" && !known.has(group),
    );
  };

  return { queue, groups, orphans, run };
};

export type ServiceController = ReturnType<typeof createServiceController>;

const keyOfObject = ({ metadata }: Service): string => `${metadata.namespace ?? ""}/${metadata.name}`;

/** What cannot be changed has to be made again: it goes first, and the next round makes it. */
const planned = ({ wish, recreate }: Member, observed: ObservedLoadBalancer | undefined) =>
  recreate.length > 0 && observed !== undefined ? { ...wish, ending: "delete" as const } : wish;

/** A creation waits until every annotation is right; teardown and what exists go on. */
const isRefused = ({ wish, problems }: Member): boolean =>
  wish.ending === undefined && problems.some(({ severity }) => severity === "error");
