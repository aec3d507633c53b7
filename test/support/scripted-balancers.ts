// Balancers in memory that do what a test says: shared by groups, adopted by name, surveyed, made at once or by ticket. The
// provider around them has everything of the contract that the fake one lacks.

import type { Milliseconds } from "../../src/core/brand.ts";
import { ipAddress } from "../../src/core/ip.ts";
import {
  type Cidr,
  CloudError,
  type DesiredLoadBalancer,
  defineProvider,
  type Inputs,
  type ObservedLoadBalancer,
  oneOf,
  type Plan,
  type ServiceUID,
  type Step,
  type StepOutcome,
  seconds,
  text,
} from "../../src/index.ts";
import type { Clock } from "../../src/platform/clock.ts";
import { sleep } from "../../src/platform/clock.ts";

export interface Thing {
  readonly id: string;
  /** Absent: not ours. */
  readonly group?: string;
  readonly owners: readonly string[];
  readonly targets: number;
  /** What the Secret holds that the first owner names. */
  readonly certificate?: string;
  /** Of the first owner; only where the script keeps them. */
  readonly ranges?: readonly Cidr[];
}

const annotations = {
  group: text("Services of one group share a balancer."),
  adopt: text("The id of the balancer to be taken over."),
  certificate: text("The Secret with the certificate, in the Service's namespace."),
  size: oneOf("How large it is.", ["small", "large"], { fallback: "small" }),
};

const addresses = { IPv4: ipAddress("192.0.2.7"), IPv6: ipAddress("2001:db8::7") } as const;

type Desired = DesiredLoadBalancer<typeof annotations>;

interface Observed extends ObservedLoadBalancer {
  readonly thing: Thing;
}

type ScriptedStep = Step &
  (
    | {
        readonly do: "make" | "change" | "adopt" | "release";
        readonly thing: Thing;
        readonly touches: readonly string[];
      }
    | { readonly do: "remove"; readonly id: string; readonly touches: readonly string[] }
  );

const groupOf = ({ settings, owner }: Desired): string =>
  settings.group === undefined ? owner.uid : `group-${settings.group}`;

export class ScriptedBalancers {
  readonly things = new Map<string, Thing>();
  /** "make group-x": steps as they began. */
  readonly applied: string[] = [];
  /** How often somebody was planned: once in every look at a group whose listing is new enough. */
  plans = 0;
  /** Two steps at once that touch one owner: must stay empty. */
  readonly overlaps: string[] = [];
  surveys: (readonly string[])[] = [];
  takes: Milliseconds | undefined;
  refusal: CloudError | undefined;
  /** Names of Services whose group cannot be told. */
  readonly unplaceable = new Set<string>();
  /** From where they may be reached is part of them: to be read back or not. */
  ranges: "none" | "kept" | "readable" = "none";
  /** Shown are an address of each family that is asked for, in place of a name. */
  hasAddresses = false;
  /** Balancers can be given back. */
  releases = false;
  /** Said of every plan while it is there. */
  conflict: string | undefined;
  /** What is ordered never comes about. */
  neverSettles = false;
  /** Given: steps are told of by ticket only, as many checked in one request as it says. */
  operationLimit: number | undefined;
  /** What becomes of a ticket when it is checked; running without an entry. */
  readonly outcomes = new Map<string, "done" | "failed" | "lost">();
  readonly checks: (readonly string[])[] = [];
  /** Nobody can ask about tickets. */
  checkRefusal: CloudError | undefined;
  readonly #open = new Map<string, ScriptedStep>();
  readonly #busy = new Set<string>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get operations(): readonly string[] {
    return [...this.#open.keys()];
  }

  readonly provider = () =>
    defineProvider({
      contract: 1,
      name: "scripted",
      schemes: ["scripted://"],
      config: {},
      annotations: { prefix: "scripted.example/", fields: annotations },
      connect: () => ({
        ...(this.operationLimit !== undefined && {
          pending: {
            limit: this.operationLimit,
            check: (operations: readonly string[]) => this.#check(operations),
          },
        }),
        instances: {
          sources: [
            {
              name: "machines",
              keyOf: (id: string) => /^scripted:\/\/(.+)$/.exec(id)?.[1],
              list: async function* () {
                yield [];
              },
            },
          ],
          matchBy: ["name"],
        },
        loadBalancers: {
          groupOf: (desired: Desired) => {
            if (this.unplaceable.has(desired.owner.name)) throw new TypeError("no group");
            return groupOf(desired);
          },
          inputsOf: ({ settings }: Desired) =>
            settings.certificate === undefined
              ? []
              : [{ kind: "Secret" as const, name: settings.certificate }],
          survey: async (desiredServices: readonly Desired[]) => {
            this.surveys.push(desiredServices.map(({ owner }) => owner.name));
            return new Set<string>(desiredServices.map(({ owner }) => owner.uid));
          },
          ...(this.releases && { releases: true as const }),
          adopts: ({ settings }: Desired, { thing }: Observed) => settings.adopt === thing.id,
          settingsOf: () => ({}),
          rangesOf: ({ thing }: Observed) => (this.ranges === "readable" ? thing.ranges : undefined),
          list: async function* (this: ScriptedBalancers) {
            yield [...this.things.values()].map(toObserved);
          }.bind(this),
          plan: (
            members: readonly Desired[],
            observed: Observed | undefined,
            { survey, inputs }: { survey: Set<string>; inputs: Inputs },
          ) => {
            this.plans += 1;
            if (this.conflict !== undefined) {
              const text = this.conflict;
              return { steps: [], problems: [{ severity: "error", reason: "PortConflict", text }] };
            }
            return planOf(members, observed, { survey, inputs, keepsRanges: this.ranges !== "none" });
          },
          apply: (step: ScriptedStep) => this.#apply(step),
          publish: ({ families }: Desired, observed: Observed | undefined) =>
            observed === undefined
              ? ({ kind: "wait", waitingFor: "the balancer" } as const)
              : this.hasAddresses
                ? ({
                    kind: "addresses",
                    addresses: families.map((family) => ({ ip: addresses[family] })),
                  } as const)
                : ({ kind: "addresses", addresses: [{ hostname: `${observed.thing.id}.example` }] } as const),
        },
      }),
    });

  async #apply(step: ScriptedStep): Promise<StepOutcome> {
    if (this.refusal !== undefined) throw this.refusal;
    this.applied.push(`${step.do} ${step.on}`);
    for (const owner of step.touches) {
      if (this.#busy.has(owner)) this.overlaps.push(`${step.do} ${owner}`);
      this.#busy.add(owner);
    }
    try {
      if (this.takes !== undefined) await sleep(this.#clock, this.takes, new AbortController().signal);
    } finally {
      for (const owner of step.touches) this.#busy.delete(owner);
    }
    if (this.operationLimit === undefined) {
      this.#applyStep(step);
      return { done: true };
    }
    const operation = `ticket-${this.applied.length}`;
    this.#open.set(operation, step);
    return { done: false, checkAfter: seconds(1), waitingFor: "the work", operation };
  }

  #applyStep(step: ScriptedStep): void {
    if (this.neverSettles) return;
    if (step.do === "remove") this.things.delete(step.id);
    else this.things.set(step.thing.id, step.thing);
  }

  async #check(operations: readonly string[]): Promise<ReadonlyMap<string, StepOutcome | CloudError>> {
    this.checks.push(operations);
    if (this.checkRefusal !== undefined) throw this.checkRefusal;
    const answers = new Map<string, StepOutcome | CloudError>();
    for (const operation of operations) {
      const step = this.#open.get(operation);
      const outcome = this.outcomes.get(operation);
      if (step !== undefined && (outcome === "done" || outcome === "lost")) this.#applyStep(step);
      if (outcome !== undefined) this.#open.delete(operation);
      if (outcome === "done") answers.set(operation, { done: true });
      else if (outcome === "failed") answers.set(operation, refused("no capacity in this zone"));
      else if (outcome === undefined) {
        answers.set(operation, { done: false, checkAfter: seconds(1), waitingFor: "the work" });
      }
    }
    return answers;
  }
}

export const refused = (message: string, kind: "quota" | "invalid" = "invalid"): CloudError =>
  new CloudError(kind, message, { operation: "work" });

const toObserved = (thing: Thing): Observed => ({
  group: thing.group ?? `unmarked-${thing.id}`,
  owners: thing.owners as readonly ServiceUID[],
  ownership: thing.group === undefined ? "unmarked" : "ours",
  state: "ready",
  thing,
});

const planOf = (
  members: readonly Desired[],
  observed: Observed | undefined,
  {
    survey,
    inputs,
    keepsRanges,
  }: { readonly survey: ReadonlySet<string>; readonly inputs: Inputs; readonly keepsRanges: boolean },
): Plan<ScriptedStep> => {
  const staying = members.filter(({ ending }) => ending === undefined);
  const unknown = staying.filter(({ owner }) => !survey.has(owner.uid));
  if (unknown.length > 0) {
    return { steps: [], problems: [{ severity: "error", reason: "NotSurveyed", text: "not surveyed" }] };
  }
  const owners = staying.map(({ owner }) => owner.uid).toSorted();
  const [first] = staying;
  const before = observed?.owners ?? [];
  const touches = [...new Set<string>([...before, ...owners, ...members.map(({ owner }) => owner.uid)])];
  if (first === undefined) {
    if (observed?.ownership !== "ours") return { steps: [] };
    if (members.some(({ ending }) => ending === "release")) {
      const { group: _, ...unmarked } = observed.thing;
      const thing = { ...unmarked, owners: [] };
      return { steps: [{ do: "release", on: thing.id, thing, touches }] };
    }
    return { steps: [{ do: "remove", on: observed.group, id: observed.thing.id, touches }] };
  }
  const group = groupOf(first);
  const targets = first.targets.length;
  const { certificate: named } = first.settings;
  const secret = named === undefined ? undefined : inputs.secret(first.owner.namespace, named)?.["tls.crt"];
  if (named !== undefined && secret === undefined) {
    const text = `there is no Secret ${named}`;
    return { steps: [], problems: [{ severity: "error", reason: "MissingSecret", text }] };
  }
  const certificate = secret === undefined ? {} : { certificate: secret.reveal() };
  const ranges = keepsRanges ? { ranges: first.sourceRanges } : {};
  if (observed === undefined) {
    const thing = { id: `thing-of-${group}`, group, owners, targets, ...ranges, ...certificate };
    return { steps: [{ do: "make", on: group, thing, touches }] };
  }
  const thing = { ...observed.thing, group, owners, targets, ...ranges, ...certificate };
  if (observed.ownership === "unmarked") return { steps: [{ do: "adopt", on: thing.id, thing, touches }] };
  const isSame = JSON.stringify(thing) === JSON.stringify(observed.thing);
  return { steps: isSame ? [] : [{ do: "change", on: group, thing, touches }] };
};
