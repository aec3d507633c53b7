// Scripted load balancers in memory: adopted by name, prefetched, and created immediately or by
// operations. Their provider implements everything in the contract that the fake provider lacks.

import type { Milliseconds } from "../../src/core/brand.ts";
import { ipAddress } from "../../src/core/ip.ts";
import {
  CloudError,
  type Done,
  defineProvider,
  type OperationState,
  type StepOutcome,
  seconds,
} from "../../src/index.ts";
import { type Clock, sleep } from "../../src/platform/clock.ts";
import {
  annotations,
  type Desired,
  type Observed,
  planOf,
  type ScriptedStep,
  type Thing,
  toObserved,
} from "./scripted-plan.ts";
import { machine } from "./scripted-source.ts";

const addresses = { IPv4: ipAddress("192.0.2.7"), IPv6: ipAddress("2001:db8::7") } as const;

export class ScriptedBalancers {
  readonly things = new Map<string, Thing>();
  /** Steps in the order in which they began: "make" and the uid of the Service. */
  readonly applied: string[] = [];
  /** The number of plans: one for every reconcile with a recent listing. */
  plans = 0;
  /** Steps that changed one owner at the same time. This must stay empty. */
  readonly overlaps: string[] = [];
  /** The keys that were prefetched. */
  readonly prefetches: string[] = [];
  takes: Milliseconds | undefined;
  refusal: CloudError | undefined;
  /** Whether source ranges are stored, and whether the cloud can report them. */
  ranges: "none" | "kept" | "readable" = "none";
  /** Publishes an address per requested family instead of a hostname. */
  hasAddresses = false;
  /** Whether load balancers can be released. */
  releases = false;
  /** Reported as a problem by every plan while it is set. */
  conflict: string | undefined;
  /** Whether applied steps never take effect. */
  neverSettles = false;
  /** If set, every step becomes an operation, and this number is checked per request. */
  operationLimit: number | undefined;
  /** A step that starts an operation stores its id as a fact, and the plan waits for the operation in the facts. */
  remembersOperations = false;
  /** The result of an operation when it is checked; without an entry it is still running. */
  readonly outcomes = new Map<string, "done" | "failed" | "lost" | "unreadable">();
  operationResult: Pick<Done, "refused"> = {};
  readonly checks: (readonly string[])[] = [];
  /** Thrown by every check of operations. */
  checkRefusal: CloudError | undefined;
  /** The machines of all Nodes. */
  readonly #machines = new Set(["node-0"]);
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
      contract: 3,
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
              keyOf: (id: string) => {
                const key = /^scripted:\/\/(.+)$/.exec(id)?.[1];
                if (key !== undefined) this.#machines.add(key);
                return key;
              },
              list: async function* (this: ScriptedBalancers) {
                yield [...this.#machines].map((key) => machine(key));
              }.bind(this),
            },
          ],
          matchBy: ["name"],
        },
        loadBalancers: {
          prefetch: async (key: string) => {
            this.prefetches.push(key);
            return true;
          },
          supports: this.releases ? ["release" as const] : [],
          adopts: ({ settings }: Desired, { thing }: Observed) => settings.adopt === thing.id,
          settingsOf: () => ({}),
          rangesOf: ({ thing }: Observed) => (this.ranges === "readable" ? thing.ranges : undefined),
          list: async function* (this: ScriptedBalancers) {
            yield [...this.things.values()].map(toObserved);
          }.bind(this),
          plan: (desired: Desired | undefined, observed: Observed | undefined, _prefetched: true) => {
            this.plans += 1;
            const isRunning = this.#open.has(desired?.facts["operation"] ?? "");
            if (this.remembersOperations && isRunning) {
              return { steps: [], wait: { checkAfter: seconds(1), waitingFor: "the remembered operation" } };
            }
            if (this.conflict !== undefined) {
              const text = this.conflict;
              return { steps: [], problems: [{ severity: "error", reason: "PortConflict", text }] };
            }
            const keepsRanges = this.ranges !== "none";
            return planOf(desired, observed, keepsRanges);
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
    const { owner = "" } = step;
    if (this.#busy.has(owner)) this.overlaps.push(`${step.do} ${owner}`);
    this.#busy.add(owner);
    try {
      if (this.takes !== undefined) await sleep(this.#clock, this.takes, new AbortController().signal);
    } finally {
      this.#busy.delete(owner);
    }
    if (this.operationLimit === undefined) {
      this.#applyStep(step);
      return this.#outcomeOf(step);
    }
    const operation = `operation-${this.applied.length}`;
    this.#open.set(operation, step);
    const remember = { operation };
    const facts = this.remembersOperations ? { remember } : {};
    return { done: false, checkAfter: seconds(1), waitingFor: "the work", operation, ...facts };
  }

  #outcomeOf(step: ScriptedStep): Done {
    return step.do === "remove" && !this.things.has(step.id) ? { done: true, isGone: true } : { done: true };
  }

  /** Completes an operation in the cloud, whether or not its state is requested. */
  complete(operation: string): void {
    const step = this.#open.get(operation);
    if (step === undefined) throw new Error(`${operation} is not running`);
    this.#open.delete(operation);
    this.#applyStep(step);
  }

  #applyStep(step: ScriptedStep): void {
    if (this.neverSettles) return;
    if (step.do === "remove") this.things.delete(step.id);
    else this.things.set(step.thing.id, step.thing);
  }

  async #check(operations: readonly string[]): Promise<ReadonlyMap<string, OperationState | CloudError>> {
    this.checks.push(operations);
    if (this.checkRefusal !== undefined) throw this.checkRefusal;
    const answers = new Map<string, OperationState | CloudError>();
    for (const operation of operations) {
      const step = this.#open.get(operation);
      const outcome = this.outcomes.get(operation);
      if (outcome === "unreadable") throw refused("500", "unavailable");
      if (step !== undefined && (outcome === "done" || outcome === "lost")) this.#applyStep(step);
      if (outcome !== undefined) this.#open.delete(operation);
      if (outcome === "done")
        answers.set(operation, {
          ...(step === undefined ? { done: true } : this.#outcomeOf(step)),
          ...this.operationResult,
        });
      else if (outcome === "failed") answers.set(operation, refused("no capacity in this zone"));
      else if (outcome === undefined)
        answers.set(operation, { done: false, checkAfter: seconds(1), waitingFor: "the work" });
    }
    return answers;
  }
}

export const refused = (message: string, kind: "quota" | "invalid" | "unavailable" = "invalid"): CloudError =>
  new CloudError(kind, message, { operation: "work" });
