// Has the provider plan a group: gathers what its plan may look at, and what it was made from, so that a difference that
// nobody wished can be told from one that somebody did.

import type { ServiceUID } from "../../core/brand.ts";
import type { Problem } from "../../core/problem.ts";
import type { Service } from "../../kube/objects.ts";
import type { Call } from "../../provider/call.ts";
import type { InputDeclaration } from "../../provider/inputs.ts";
import type { ObservedLoadBalancer } from "../../provider/load-balancers.ts";
import type { Plan, Step } from "../../provider/plan.ts";
import type { createBalancerInputs } from "./balancer-inputs.ts";
import { type Fingerprint, fingerprintOf } from "./fingerprint.ts";
import type { ServicePorts } from "./ports.ts";
import { createSharedSurvey } from "./shared-survey.ts";
import { isEnding, isOurs, type Member, type Wish, type Wishes } from "./wishes.ts";

export interface Round {
  readonly group: string;
  readonly members: readonly Member[];
  readonly observed: ObservedLoadBalancer | undefined;
  /** Owners that are gone. */
  readonly gone: readonly ServiceUID[];
}

export const createPlanning = (
  ports: Pick<ServicePorts, "services" | "balancers" | "clock" | "listing">,
  wishes: Wishes,
  inputs: Pick<ReturnType<typeof createBalancerInputs>, "of">,
) => {
  const { services, balancers } = ports;
  const surveys = createSharedSurvey(ports);

  /** Of everybody who can be understood: one that cannot must not keep the others waiting. */
  const everybody = (): readonly Wish[] =>
    services.list().flatMap((service) => {
      if (!isOurs(service)) return [];
      try {
        return wishes.of(service).wish;
      } catch {
        return [];
      }
    });

  const declared = (members: readonly Member[]): readonly InputDeclaration[] => [
    ...(balancers.inputs ?? []),
    ...members.flatMap(({ wish }) => {
      const { namespace } = wish.owner;
      return (balancers.inputsOf?.(wish) ?? []).map((each) => ({ ...each, namespace }));
    }),
  ];

  /** What is known to be wrong with it, whatever else fails. */
  const problemsOf = (service: Service): readonly Problem[] => {
    try {
      return wishes.of(service).problems;
    } catch {
      return [];
    }
  };

  return {
    plan: async (
      { group, members, observed, gone }: Round,
      call: Call,
    ): Promise<{ readonly plan: Plan<Step>; readonly now: Fingerprint }> => {
      const given = await inputs.of(
        group,
        declared(members.filter(({ wish }) => wish.ending === undefined)),
        call.signal,
      );
      const now = fingerprintOf(
        members.map(({ wish }) => wish),
        given.version,
      );
      if (given.problems.length > 0) return { plan: { steps: [], problems: given.problems }, now };
      const survey = await surveys.current(
        members.map(({ service }) => wishes.of(service).wish),
        everybody,
        call,
      );
      const released = observed === undefined ? [] : wishes.endings.released(gone);
      const givenBack = new Set(released.map(({ owner }) => owner.uid));
      const asked = [...members.map((member) => planned(member, observed)), ...released];
      const orphans = gone.filter((uid) => !givenBack.has(uid));
      const plan = balancers.plan(asked, observed, { survey, inputs: given.inputs, orphans });
      if (given.warnings.length === 0) return { plan, now };
      return { plan: { ...plan, problems: [...(plan.problems ?? []), ...given.warnings] }, now };
    },

    /** Of these Services those whose condition an error is. A listing that failed is nobody's who has what was asked for. */
    concernedBy: (error: unknown, keys: readonly string[]) =>
      keys.flatMap((key) => {
        const service = services.get(key);
        if (service === undefined) return [];
        const isServed = (service.status.loadBalancer?.ingress ?? []).length > 0 && !isEnding(service);
        const isOthers = isServed && error === ports.listing.failure?.error;
        return isOthers ? [] : { service, problems: problemsOf(service) };
      }),

    problemsOf,
  };
};

/** What cannot be changed has to be made again: it goes first, and the next round makes it. */
const planned = ({ wish, recreate }: Member, observed: ObservedLoadBalancer | undefined): Wish =>
  recreate.length > 0 && observed !== undefined ? { ...wish, ending: "delete" } : wish;
