// Has the provider plan a group: gathers what its plan may look at, and what it was made from, so that a difference that
// nobody wished can be told from one that somebody did. What the plan finds wrong is shown.

import type { ServiceUID } from "../../../core/brand.ts";
import type { InputDeclaration } from "../../../provider/inputs.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import type { Plan, Step } from "../../../provider/plan.ts";
import { type Outcome, settled } from "../../../runtime/workers.ts";
import { type Fingerprint, fingerprintOf } from "../desired/fingerprint.ts";
import { isWrong, type Member, type Wish } from "../desired/member.ts";
import { concernsUs } from "../predicates.ts";
import type { Round, RoundParts } from "./reconcile-deps.ts";
import { createSharedSurvey } from "../observed/shared-survey.ts";
import { createShowProblems } from "../status/show-problems.ts";

export interface Question {
  readonly members: readonly Member[];
  readonly observed: ObservedLoadBalancer | undefined;
  /** Owners that are gone. */
  readonly gone: readonly ServiceUID[];
}

export interface Planned extends Question {
  readonly kind: "planned";
  readonly steps: readonly Step[];
  /** Nothing is left to do, but the cloud is not done. */
  readonly wait?: Plan<Step>["wait"];
  readonly now: Fingerprint;
}

export const createAskProvider = (
  parts: Pick<RoundParts, "ports" | "wishes" | "inputs" | "teller" | "conditions">,
) => {
  const { ports, wishes, inputs } = parts;
  const { services, balancers } = ports;
  const survey = createSharedSurvey(ports);
  const show = createShowProblems(parts);

  /** Of everybody who can be understood: one that cannot must not keep the others waiting. */
  const everybody = (): readonly Wish[] =>
    services.list().flatMap((service) => (concernsUs(service) ? (wishes.tryOf(service)?.wish ?? []) : []));

  const declared = (members: readonly Member[]): readonly InputDeclaration[] => [
    ...(balancers.inputs ?? []),
    ...members.flatMap(({ wish }) => {
      const { namespace } = wish.owner;
      return (balancers.inputsOf?.(wish) ?? []).map((each) => ({ ...each, namespace }));
    }),
  ];

  const plan = async (
    { group, call }: Round,
    { members, observed, gone }: Question,
  ): Promise<{ readonly plan: Plan<Step>; readonly now: Fingerprint }> => {
    const staying = members.filter(({ wish }) => wish.ending === undefined);
    const given = await inputs.of(group, declared(staying), call.signal);
    const now = fingerprintOf(
      members.map(({ wish }) => wish),
      given.version,
    );
    if (given.problems.length > 0) return { plan: { steps: [], problems: given.problems }, now };
    const plain = members.map(({ service }) => wishes.of(service).wish);
    const surveyed = await survey.current(plain, everybody, call);
    const released = observed === undefined ? [] : wishes.endings.released(gone);
    const givenBack = new Set(released.map(({ owner }) => owner.uid));
    const asked = [...members.map((member) => wishFor(member, observed)), ...released];
    const orphans = gone.filter((uid) => !givenBack.has(uid));
    const made = balancers.plan(asked, observed, { survey: surveyed, inputs: given.inputs, orphans });
    return { plan: { ...made, problems: [...(made.problems ?? []), ...given.warnings] }, now };
  };

  return async (round: Round, question: Question): Promise<Planned | Outcome> => {
    const {
      plan: { steps, wait, problems = [] },
      now,
    } = await plan(round, question);
    for (const member of question.members) {
      await show("plan", member.service, problems, round.call.signal, member.problems);
    }
    if (isWrong({ problems })) return settled;
    const members = question.members.map((member) => ({
      ...member,
      problems: [...member.problems, ...problems],
    }));
    return { kind: "planned", ...question, members, steps, now, ...(wait !== undefined && { wait }) };
  };
};

/** What cannot be changed has to be made again: it goes first, and the next round makes it. */
const wishFor = ({ wish, recreate }: Member, observed: ObservedLoadBalancer | undefined): Wish =>
  recreate.length > 0 && observed !== undefined ? { ...wish, ending: "delete" } : wish;
