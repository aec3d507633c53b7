// Has the provider plan a group: gathers what its plan may look at, and what it was made from, so that a difference that
// nobody wished can be told from one that somebody did. What the plan finds wrong is shown.

import type { ServiceUID } from "../../../core/brand.ts";
import type { InputDeclaration } from "../../../provider/inputs.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Plan, Step } from "../../../provider/plan.ts";
import { type Outcome, settled } from "../../../runtime/workers.ts";
import { type Fingerprint, fingerprintOf } from "../desired/fingerprint.ts";
import { type Desired, isWrong, type Member } from "../desired/member.ts";
import { createSharedSurvey } from "../observed/shared-survey.ts";
import { concernsUs } from "../predicates.ts";
import { createShowProblems } from "../status/show-problems.ts";
import type { Round, RoundParts } from "./context.ts";

export interface PlanInput {
  readonly members: readonly Member[];
  readonly observed: ObservedLoadBalancer | undefined;
  /** Owners that are gone. */
  readonly gone: readonly ServiceUID[];
}

export interface Planned extends PlanInput {
  readonly kind: "planned";
  readonly steps: readonly Step[];
  /** Nothing is left to do, but the cloud is not done. */
  readonly wait?: Plan<Step>["wait"];
  readonly now: Fingerprint;
}

export function createAskProvider(
  parts: Pick<RoundParts, "ports" | "desiredServices" | "inputs" | "reporter" | "conditions">,
) {
  const { ports, desiredServices, inputs } = parts;
  const { services, balancers } = ports;
  const survey = createSharedSurvey(ports);
  const show = createShowProblems(parts);

  /** Of everybody who can be understood: one that cannot must not keep the others waiting. */
  const everybody = (): readonly Desired[] =>
    services
      .list()
      .flatMap((service) => (concernsUs(service) ? (desiredServices.tryOf(service)?.desired ?? []) : []));

  const declared = (members: readonly Member[]): readonly InputDeclaration[] => [
    ...(balancers.inputs ?? []),
    ...members.flatMap(({ desired }) => {
      const { namespace } = desired.owner;
      return (balancers.inputsOf?.(desired) ?? []).map((each) => ({ ...each, namespace }));
    }),
  ];

  const plan = async (
    { group, call }: Round,
    { members, observed, gone }: PlanInput,
  ): Promise<{ readonly plan: Plan<Step>; readonly now: Fingerprint }> => {
    const staying = members.filter(({ desired }) => desired.ending === undefined);
    const given = await inputs.of(group, declared(staying), call.signal);
    const now = fingerprintOf(
      members.map(({ desired }) => desired),
      given.version,
    );
    if (given.problems.length > 0) return { plan: { steps: [], problems: given.problems }, now };
    const plain = members.map(({ service }) => desiredServices.of(service).desired);
    const surveyed = await survey.current(plain, everybody, call);
    const released = observed === undefined ? [] : desiredServices.endings.released(gone);
    const givenBack = new Set(released.map(({ owner }) => owner.uid));
    const asked = [...members.map((member) => desiredFor(member, observed)), ...released];
    const orphans = gone.filter((uid) => !givenBack.has(uid));
    const made = balancers.plan(asked, observed, { survey: surveyed, inputs: given.inputs, orphans });
    return { plan: { ...made, problems: [...(made.problems ?? []), ...given.warnings] }, now };
  };

  return async (round: Round, input: PlanInput): Promise<Planned | Outcome> => {
    const {
      plan: { steps, wait, problems = [] },
      now,
    } = await plan(round, input);
    for (const member of input.members) {
      await show("plan", member.service, problems, round.call.signal, member.problems);
    }
    if (isWrong({ problems })) return settled;
    const members = input.members.map((member) => ({
      ...member,
      problems: [...member.problems, ...problems],
    }));
    return { kind: "planned", ...input, members, steps, now, ...(wait !== undefined && { wait }) };
  };
}

/** What cannot be changed has to be made again: it goes first, and the next round makes it. */
function desiredFor({ desired, recreate }: Member, observed: ObservedLoadBalancer | undefined): Desired {
  return recreate.length > 0 && observed !== undefined ? { ...desired, ending: "delete" } : desired;
}
