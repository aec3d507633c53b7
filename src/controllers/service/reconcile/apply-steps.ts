// Executes a plan: adds the finalizer, then executes the steps one by one, and after each step writes the facts that it returned
// to the Services.

import { isFenced } from "../../../cloud/error-policies.ts";
import { type Milliseconds, serviceUID } from "../../../core/brand.ts";
import { messageOf } from "../../../core/errors.ts";
import { shortList } from "../../../core/text.ts";
import type { Service } from "../../../kube/objects.ts";
import { finalizerPatch } from "../../../kube/patches/service-patch.ts";
import type { Call } from "../../../provider/call.ts";
import type { Step, StepOutcome } from "../../../provider/plan.ts";
import { isRefusal } from "../../errors.ts";
import type { ServiceControllerDeps, StepEntry } from "../deps.ts";
import { factsPatch } from "../desired/facts.ts";
import { hashStep, textOfDesired } from "../desired/fingerprint.ts";
import type { Member } from "../desired/member.ts";
import { finalizer } from "../predicates.ts";
import type { Change } from "../state/group-states.ts";
import { changeStarted, waitingFor } from "../status/events.ts";
import { createsBalancer, whatOf } from "./check-unlisted.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";
import { endRelease } from "./limit-changes.ts";
import { noteAccepted, noteApplied, noteFailed } from "./note-change.ts";
import { noteRefused } from "./note-refused.ts";
import type { PlannedGroup } from "./steps.ts";

interface Wait {
  readonly checkAfter: Milliseconds;
  readonly waitingFor: string;
}

/**
 * Returns what to wait for before the next step: a tracked operation, whose end enqueues the group, or a time. Undefined when
 * all steps are done.
 */
export async function executeSteps(
  deps: ReconcileDeps,
  context: ReconcileContext,
  plan: PlannedGroup,
  { change, isNew, why }: { readonly change: Change; readonly isNew: boolean; readonly why: string },
): Promise<Wait | "operation" | undefined> {
  const { publisher, operations } = deps;
  const { group, call } = context;
  for (const member of plan.members) {
    const { service, desired } = member;
    const started = changeStarted(desired.ending ?? change);
    const state = deps.serviceStates.of(service);
    const name = namesOf(plan.steps);
    if (desired.ending === "release" && name !== "") {
      // Duplicates are released one after the other.
      state.releasedName = isNew ? name : addName(state.releasedName, name);
    }
    if (started !== undefined && isNew) publisher.publish(service, started);
  }
  const services = await addFinalizers(deps, plan.members, call.signal);
  const outcome = await executeAll(deps, context, plan, { services, why });
  if (outcome === undefined) return undefined;
  for (const service of services) {
    publisher.publishOnce(service, "waiting", [waitingFor(outcome.waitingFor)]);
  }
  // Neither success nor failure yet.
  const isTracked =
    outcome.operation !== undefined && operations.track(group, outcome.operation, outcome.checkAfter);
  return isTracked ? "operation" : outcome;
}

/** Returns the outcome of the step that is in progress; undefined when all are done. */
async function executeAll(
  deps: ReconcileDeps,
  { group, state, call }: ReconcileContext,
  plan: PlannedGroup,
  options: { readonly services: readonly Service[]; readonly why: string },
): Promise<Extract<StepOutcome, { readonly done: false }> | undefined> {
  const { controller } = deps;
  const { clock } = controller;
  let { services } = options;
  let applied = 0;
  const { creations } = state.evidence;
  const isCreation = createsBalancer(plan);
  if (isCreation) creations.begin();
  try {
    for (const step of plan.steps) {
      const text = hashStep(step);
      const noteCreation = (isAccepted: boolean): void => {
        if (!isCreation) return;
        const creation = { id: text, what: whatOf(step), variant: plan.fingerprint.spec };
        creations.note({ ...creation, at: clock.monotonic(), isAccepted });
      };
      const outcome = await executeStep(controller, { step, group, why: options.why }, call).catch(
        (error: unknown) => {
          if (!isRefusal(error)) noteCreation(false);
          if (step.changesPrefetched === true) deps.prefetch.forget();
          throw error;
        },
      );
      if (step.changesPrefetched === true) deps.prefetch.forget();
      if (applied === 0) state.progress.noteChange();
      applied += 1;
      noteCreation(true);
      noteRecent(controller, state, { step, hash: text, desired: textOfDesired(plan.fingerprint) });
      const removes = step.removes === true;
      if (outcome.done && !removes) state.progress.noteCompleted(text);
      noteRefused(deps, services, outcome.refused);
      services = await rememberFacts(controller, services, outcome, call.signal);
      if (outcome.done) continue;
      const isLast = applied === plan.steps.length;
      const isOperation = outcome.operation !== undefined;
      noteAccepted(state, plan, clock, { step: text, isOperation, isLast, removes });
      if (isLast && !isOperation && plan.observed === undefined) endRelease({ controller }, group);
      return outcome;
    }
  } catch (error) {
    noteFailed(state, plan, clock, { error, applied });
    throw error;
  }
  noteApplied(state, plan, clock, plan.steps.at(-1)?.removes === true);
  if (plan.observed === undefined) endRelease({ controller }, group);
  return undefined;
}

/** Only where reads lag: nothing else forgets these steps. */
function noteRecent(
  { balancers, clock }: ServiceControllerDeps,
  { recentSteps }: ReconcileContext["state"],
  { step, hash, desired }: { readonly step: Step; readonly hash: string; readonly desired: string },
): void {
  if (balancers.readsLag === undefined) return;
  recentSteps.note(hash, { at: clock.monotonic(), step: { do: step.do, on: step.on }, desired });
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
function addFinalizers(
  { controller: { writes }, serviceStates }: ReconcileDeps,
  members: readonly Member[],
  signal: AbortSignal,
): Promise<readonly Service[]> {
  return Promise.all(
    members.map(async ({ service, desired }) => {
      const patch =
        desired.ending === undefined ? finalizerPatch(service, finalizer, "present", "status") : undefined;
      if (patch === undefined) return service;
      const written = await writes.patch(service, patch, "a load balancer will be created", signal);
      serviceStates.of(service).lacksFinalizer = false;
      return written ?? service;
    }),
  );
}

/** Writes the facts that a step returned to the Services, which identify what it created. Returns the updated Services. */
export function rememberFacts(
  { writes, facts }: ServiceControllerDeps,
  services: readonly Service[],
  { remember }: Pick<StepOutcome, "remember">,
  signal: AbortSignal,
): Promise<readonly Service[]> {
  return Promise.all(
    services.map(async (service) => {
      const changes = remember?.get(serviceUID(service.metadata.uid));
      const patch = changes === undefined ? undefined : factsPatch(service, facts, changes);
      if (patch === undefined) return service;
      return (await writes.patch(service, patch, "record what was created", signal)) ?? service;
    }),
  );
}

/** The cloud's names of what the steps change. */
function namesOf(steps: readonly Step[]): string {
  return [...new Set(steps.flatMap(({ on }) => on ?? []))].join(", ");
}

function addName(names: string | undefined, name: string): string {
  if (names === undefined) return name;
  return names.split(", ").includes(name) ? names : `${names}, ${name}`;
}
