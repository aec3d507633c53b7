// Plans the steps for a group: collects what the provider needs, calls it, and reports the problems that it finds.

import { milliseconds, type ServiceUID } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Problem } from "../../../core/problem.ts";
import type { InputDeclaration } from "../../../provider/inputs.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Plan, Step } from "../../../provider/plan.ts";
import { type Outcome, requeue, settled } from "../../../runtime/workers.ts";
import type { AnyBalancers, Desired } from "../deps.ts";
import { fingerprintOf, textOfDesired } from "../desired/fingerprint.ts";
import { hasErrors, type Member } from "../desired/member.ts";
import { isManaged } from "../predicates.ts";
import type { Fingerprint } from "../state/group-record.ts";
import { showProblems } from "../status/show-problems.ts";
import type { ReconcileContext, ReconcileDeps } from "./context.ts";
import { onDeleteOf } from "./desired.ts";
import { noteRefused } from "./note-refused.ts";
import { withoutRecent } from "./reads-lag.ts";

export interface PlanInput {
  readonly members: readonly Member[];
  readonly observed: ObservedLoadBalancer | undefined;
  /** Owners that are gone. */
  readonly gone: readonly ServiceUID[];
  /** Further load balancers with the mark of the group. */
  readonly duplicates: readonly ObservedLoadBalancer[];
}

export interface PlannedGroup extends PlanInput {
  readonly kind: "planned";
  readonly steps: readonly Step[];
  /** There are no steps, but the cloud is still working. */
  readonly wait?: NonNullable<Plan<Step>["wait"]>;
  readonly fingerprint: Fingerprint;
  /** Owners that have a load balancer when the steps are applied. */
  readonly serving: readonly ServiceUID[];
  /** Owners that have none when the steps are applied. */
  readonly leaving: readonly ServiceUID[];
}

/** A plan with the provider's problems and the framework's. */
type CheckedPlan = Omit<Plan<Step>, "problems"> & { readonly problems: readonly Problem[] };

export async function planSteps(
  deps: ReconcileDeps,
  context: ReconcileContext,
  input: PlanInput,
): Promise<PlannedGroup | Outcome> {
  const { signal } = context.call;
  const { plan, fingerprint, serving, leaving } = await planWithProvider(deps, context, input);
  const { steps, wait, problems } = plan;
  const services = input.members.map(({ service }) => service);
  if (noteRefused(deps, services, plan.refused)) {
    return requeue(milliseconds(0), "a plan without the refused targets");
  }
  for (const { service, problems: earlier } of input.members) {
    await showProblems(deps, "plan", service, problems, signal, earlier);
  }
  if (hasErrors({ problems })) return settled;
  const members = input.members.map((member) => ({
    ...member,
    problems: [...member.problems, ...problems],
  }));
  const planned = { ...input, members, steps, fingerprint, serving, leaving, wait };
  return defined({ kind: "planned" as const, ...planned }) as PlannedGroup;
}

async function planWithProvider(
  deps: ReconcileDeps,
  { state, call }: ReconcileContext,
  { members, observed, gone, duplicates }: PlanInput,
): Promise<{ readonly plan: CheckedPlan } & Pick<PlannedGroup, "fingerprint" | "serving" | "leaving">> {
  const { controller, desiredServices, inputs, prefetch } = deps;
  const { balancers } = controller;
  const given = await inputs.of(state, inputsNeeded(balancers, members), call.signal);
  // Without what is observed: only changes of the Service, its inputs and the Nodes count.
  const groupDesired = members.map(({ service }) => desiredServices.of(service).desired);
  const fingerprint = fingerprintOf(groupDesired, given.version);
  if (given.problems.length > 0) {
    return { plan: { steps: [], problems: given.problems }, fingerprint, serving: [], leaving: [] };
  }
  const prefetched = await prefetch.current(groupDesired, () => allDesired(deps), call);
  const released = observed === undefined ? [] : gone.flatMap((uid) => releasedDesired(deps, uid));
  const isReleased = new Set(released.map(({ owner }) => owner.uid));
  const desired = [...members.map((member) => desiredFor(member, observed)), ...released];
  const orphans = gone.filter((uid) => !isReleased.has(uid));
  const planned = balancers.plan(desired, observed, {
    prefetched,
    inputs: given.inputs,
    orphans,
    duplicates,
    others: observed === undefined ? othersListed(controller) : undefined,
  });
  const plan = withoutRecent(planned, state.recentSteps, {
    readsLag: balancers.readsLag,
    desired: () => textOfDesired(fingerprint),
  });
  const serving = desired.flatMap(({ owner, ending }) => (ending === undefined ? owner.uid : []));
  const ending = desired.flatMap(({ owner, ending }) => (ending === undefined ? [] : owner.uid));
  return {
    plan: { ...plan, problems: [...(plan.problems ?? []), ...given.warnings] },
    fingerprint,
    serving,
    leaving: [...ending, ...orphans],
  };
}

/** What is listed without the mark of this cluster. */
function othersListed({ listing }: ReconcileDeps["controller"]): readonly ObservedLoadBalancer[] {
  return (listing.latest?.items ?? []).filter(({ ownership }) => ownership !== "ours");
}

/** The last desired state of a Service that disappeared with on-delete "release". */
function releasedDesired(deps: ReconcileDeps, uid: ServiceUID): readonly Desired[] {
  const onDelete = onDeleteOf(deps, uid);
  return onDelete === undefined || onDelete === "on hold" ? [] : [onDelete];
}

/** Skips Services that the provider cannot read, because one of them must not block the others. */
function allDesired({ controller: { services }, desiredServices }: ReconcileDeps): readonly Desired[] {
  return services
    .list()
    .flatMap((service) => (isManaged(service) ? (desiredServices.tryOf(service)?.desired ?? []) : []));
}

function inputsNeeded(balancers: AnyBalancers, members: readonly Member[]): readonly InputDeclaration[] {
  const staying = members.filter(({ desired }) => desired.ending === undefined);
  const own = staying.flatMap(({ desired }) => {
    const { namespace } = desired.owner;
    return (balancers.inputsOf?.(desired) ?? []).map((input) => ({ ...input, namespace }));
  });
  return [...(balancers.inputs ?? []), ...own];
}

/** To change an immutable setting, the load balancer is deleted first, and the next reconcile creates it. */
function desiredFor({ desired, recreate }: Member, observed: ObservedLoadBalancer | undefined): Desired {
  return recreate.length > 0 && observed !== undefined ? { ...desired, ending: "delete" } : desired;
}
