// Applies a plan: adds the finalizer, executes the steps one by one, and writes the facts that each step returns to the
// Service; or waits for the cloud.

import { isFenced } from "../../../cloud/error-policies.ts";
import { type Milliseconds, milliseconds } from "../../../core/brand.ts";
import { messageOf } from "../../../core/error-message.ts";
import { shortList } from "../../../core/text.ts";
import type { Service } from "../../../kube/objects.ts";
import { finalizerPatch } from "../../../kube/patches/finalizer-patch.ts";
import type { Call } from "../../../provider/call.ts";
import type { Step, StepOutcome } from "../../../provider/plan.ts";
import { priorities } from "../../../runtime/work-queue.ts";
import { type Outcome, requeue, settled, waiting } from "../../../runtime/workers.ts";
import { isRefusal } from "../../classify-error.ts";
import { slowerCheck } from "../../operations.ts";
import type { Desired, ServiceControllerDeps, StepEntry } from "../deps.ts";
import { describeDesired, describeReason, hashStep } from "../desired/difference.ts";
import { factsPatch } from "../desired/facts.ts";
import type { Member } from "../desired/member.ts";
import { defaultLoadBalancerName } from "../desired/to-desired.ts";
import { isBeingDeleted } from "../predicates.ts";
import { finalizerFor } from "../served-classes.ts";
import { type ChangeKind, createsBalancer } from "../state/record-parts.ts";
import type { ServiceState } from "../state/service-record.ts";
import { addressesOf, ingressOf } from "../status/status.ts";
import { changeStarted, waitingFor } from "../texts.ts";
import { endRelease, whatOf } from "./allow.ts";
import { noteRefused } from "./choose-steps.ts";
import type { PlannedChange, ReconcileContext, ReconcileDeps } from "./context.ts";

/** Undefined if there is nothing to change and nothing to wait for. */
export async function applyPlan(
  context: ReconcileContext,
  plan: PlannedChange,
): Promise<Outcome | undefined> {
  const { controller, reporter, state } = context;
  const { member, steps, wait } = plan;
  if (steps.length > 0) {
    const change = changeOfPlan(state, plan);
    const why = describeReason(plan, change, state);
    return controller.isObserving
      ? reportSteps(context, plan, why)
      : changeBalancer(context, plan, change, why);
  }
  if (wait === undefined) return undefined;
  const now = controller.clock.monotonic();
  const waited = milliseconds(now - (state.waitingSince ?? now));
  if (member !== undefined) reporter.report(member.service, "waiting", [waitingFor(wait.waitingFor, waited)]);
  state.outdate(now);
  return requeue(checkDelay(context, wait.checkAfter), wait.waitingFor);
}

/** As in upstream, a change that affects only targets is an update; any other change ensures the load balancer. */
function changeOfPlan(
  { session: { lastCompleted: before } }: ServiceState,
  { member, fingerprint: now, areOnlyTargets }: PlannedChange,
): ChangeKind {
  if (areOnlyTargets) return "update";
  if (member === undefined || member.desired.ending !== undefined) return "delete";
  return before?.spec === now?.spec && before?.targets !== now?.targets ? "update" : "ensure";
}

/** Observe mode: records the planned steps in the journal, once per plan. */
function reportSteps(
  { controller, state }: ReconcileContext,
  { member, steps }: PlannedChange,
  why: string,
): Outcome {
  const text = JSON.stringify(steps);
  if (state.reportedSteps !== text) {
    const balancer = defaultLoadBalancerName(state.uid);
    const detail = describeDesired(member);
    for (const step of steps) controller.journal({ step, balancer, why, outcome: "observed", detail });
  }
  state.noteReportedSteps(text);
  return settled;
}

async function changeBalancer(
  context: ReconcileContext,
  plan: PlannedChange,
  change: ChangeKind,
  why: string,
): Promise<Outcome> {
  const { clock, observer } = context.controller;
  const { state } = context;
  const isNew = state.session.change === undefined;
  state.beginChange(change, plan);
  const beganAt = clock.monotonic();
  let isFailed = true;
  try {
    const outcome = await executeSteps(context, plan, { change, isNew, why });
    isFailed = false;
    return outcome;
  } finally {
    state.noteChangeSent(plan, clock.monotonic(), isFailed ? change : undefined);
    if (change === "update") observer.onHostUpdate(clock.monotonic() - beganAt, isFailed);
  }
}

/** The delay before the cloud is checked again, which is at least the delay that the provider requests. */
export function checkDelay({ controller, state }: ReconcileContext, checkAfter: Milliseconds): Milliseconds {
  const now = controller.clock.monotonic();
  state.beginWait(now);
  const delay = slowerCheck(milliseconds(now - (state.waitingSince ?? now)), checkAfter);
  return milliseconds(Math.max(delay, state.progress.changeDelay));
}

/**
 * Applies the steps of the plan. If one is still in progress, waits for its operation, whose end enqueues the Service, or for a
 * fixed time.
 */
export async function executeSteps(
  context: ReconcileContext,
  plan: PlannedChange,
  { change, isNew, why }: { readonly change: ChangeKind; readonly isNew: boolean; readonly why: string },
): Promise<Outcome> {
  const { reporter, operations, state, call } = context;
  const { member } = plan;
  const ending = member && endingOf(member.desired, plan.steps);
  if (member !== undefined && isNew) {
    const started = changeStarted(ending ?? change);
    if (started !== undefined) reporter.publish(member.service, started);
  }
  if (member !== undefined && (ending === "release" || ending === "leave")) {
    const isLeft = ending === "leave";
    const name = isLeft ? (plan.observed?.name ?? "") : releasedName(context, member.desired, plan);
    if (name !== "") state.noteReleasing(name, { isFirst: isNew, isLeft });
  }
  const service = member && (await addFinalizer(context, member, call.signal));
  const outcome = await executeAll(context, plan, { service, why });
  if (outcome === undefined)
    return requeue(state.progress.changeDelay, "the cloud to show the changes", priorities.answered);
  if (service !== undefined) reporter.report(service, "waiting", [waitingFor(outcome.waitingFor)]);
  // The step has neither succeeded nor failed yet.
  const isTracked =
    outcome.operation !== undefined && operations.track(state.uid, outcome.operation, outcome.checkAfter);
  return isTracked ? waiting : requeue(checkDelay(context, outcome.checkAfter), outcome.waitingFor);
}

/** Returns the outcome of the step in progress; undefined if all steps are done. */
async function executeAll(
  context: ReconcileContext,
  plan: PlannedChange,
  options: { readonly service: Service | undefined; readonly why: string },
): Promise<Extract<StepOutcome, { readonly done: false }> | undefined> {
  const { controller, state, call } = context;
  const { clock } = controller;
  const balancer = defaultLoadBalancerName(state.uid);
  const { spec: variant = "" } = plan.fingerprint ?? {};
  let { service } = options;
  let applied = 0;
  let isGone = false;
  const isCreation = createsBalancer(plan);
  try {
    for (const step of plan.steps) {
      const hash = hashStep(step);
      const creation = isCreation
        ? { id: hash, what: whatOf(step), variant, at: clock.monotonic() }
        : undefined;
      const outcome = await executeStep(controller, { step, balancer, why: options.why }, call).catch(
        (error: unknown) => {
          if (!isRefusal(error)) state.noteStepFailed(creation);
          if (step.changesPrefetched === true) context.prefetch.forget();
          throw error;
        },
      );
      if (step.changesPrefetched === true) context.prefetch.forget();
      const removes = step.removes === true;
      const isProgress = outcome.done && !removes;
      const isFirst = applied === 0;
      state.noteStepAccepted({ hash, isFirst, isProgress, creation });
      applied += 1;
      isGone ||= outcome.done && outcome.isGone === true;
      noteRefused(context, outcome.refused);
      service = await rememberFacts(controller, service, outcome, call.signal);
      if (outcome.done) continue;
      const isLast = applied === plan.steps.length;
      const { operation } = outcome;
      state.noteStepInProgress(plan, { hash, at: clock.monotonic(), operation, isLast, removes });
      if (isLast && operation === undefined && plan.observed === undefined) endRelease(context);
      return outcome;
    }
  } catch (error) {
    if (applied > 0 || !isRefusal(error)) state.noteStepsFailed(plan, clock.monotonic(), applied);
    throw error;
  }
  state.noteStepsDone(plan, clock.monotonic(), isGone);
  if (plan.observed === undefined) endRelease(context);
  return undefined;
}

async function executeStep(
  { balancers, journal }: ServiceControllerDeps,
  entry: Omit<StepEntry, "outcome">,
  call: Call,
): Promise<StepOutcome> {
  try {
    const outcome = await balancers.apply(entry.step, call);
    const refused = outcome.refused?.map(({ node, text }) => `${node}: ${text}`) ?? [];
    const detail = refused.length === 0 ? {} : { detail: `refused targets: ${shortList(refused)}` };
    journal({ ...entry, outcome: "done", ...detail });
    return outcome;
  } catch (error) {
    journal({ ...entry, outcome: isFenced(error) ? "refused" : "failed", detail: messageOf(error) });
    throw error;
  }
}

/** The finalizer is added before the first step, so that no load balancer can be left behind. */
async function addFinalizer(
  { controller: { writes, classes }, state }: ReconcileContext,
  { service, desired }: Member,
  signal: AbortSignal,
): Promise<Service> {
  const patch =
    desired.ending === undefined
      ? finalizerPatch(service, finalizerFor(service, classes), "present", "status")
      : undefined;
  if (patch === undefined) return service;
  const written = await writes.patch(service, patch, "a load balancer will be created", signal);
  state.noteFinalizer(true);
  return written ?? service;
}

/**
 * Writes the facts that a step returned to the Service; facts identify the created objects. Returns the updated Service.
 */
export async function rememberFacts(
  { writes, facts }: ServiceControllerDeps,
  service: Service | undefined,
  { remember }: Pick<StepOutcome, "remember">,
  signal: AbortSignal,
): Promise<Service | undefined> {
  if (service === undefined || remember === undefined) return service;
  const isEnd = isBeingDeleted(service) && Object.values(remember).every((value) => value === undefined);
  const patch = isEnd ? undefined : factsPatch(service, facts, remember);
  if (patch === undefined) return service;
  return (await writes.patch(service, patch, "record what was created", signal)) ?? service;
}

/** The load balancer may stay: other Services have it, or the cloud does not let it be deleted. */
function endingOf({ ending }: Desired, steps: readonly Step[]): Desired["ending"] | "leave" {
  if (ending === undefined || steps.some(({ releases }) => releases === "shared")) return ending && "leave";
  return steps.some(({ releases }) => releases === true) ? "release" : ending;
}

/** The name with which a user can find the load balancer in the cloud. */
function releasedName({ controller }: ReconcileDeps, desired: Desired, plan: PlannedChange): string {
  const { observed, steps } = plan;
  const releasing = steps.filter(({ releases }) => releases !== undefined);
  const changed = namesOf(releasing.length > 0 ? releasing : steps);
  if (observed === undefined || changed === "") return changed;
  const { name: listed } = observed;
  const name = listed.includes(changed) ? listed : `${changed} (${listed})`;
  const publication = controller.balancers.publish(desired, observed);
  const ingress = publication.kind === "addresses" ? ingressOf(publication) : [];
  const addresses = addressesOf({ status: { loadBalancer: { ingress } } });
  return addresses.length === 0 ? name : `${name} with the address ${addresses.join(" and ")}`;
}

/** The cloud's names of the objects that the steps change. */
function namesOf(steps: readonly Step[]): string {
  return [...new Set(steps.flatMap(({ on }) => on ?? []))].join(", ");
}
