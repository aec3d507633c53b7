// A cloud whose load balancers need five requests per port, and whose requests fail at random: a quarter of them by default.

import {
  CloudError,
  type DesiredLoadBalancer,
  defineProvider,
  done,
  inProgress,
  type ObservedLoadBalancer,
  type OperationState,
  publishIPs,
  type ServiceUID,
  type Step,
} from "../../src/index.ts";
import type { Random } from "../../src/platform/random.ts";
import { machine } from "./scripted-source.ts";

const parts = ["pool", "monitor", "members", "listener", "rules"] as const;
type Desired = DesiredLoadBalancer<Record<never, never>>;

interface Observed extends ObservedLoadBalancer {
  readonly parts: ReadonlySet<string>;
}

export interface StepwiseOptions {
  readonly random: Random;
  /** Makes every step an operation, of which this number is checked per request. */
  readonly operationLimit?: number;
}

export class StepwiseBalancers {
  /** The parts of each load balancer by the uid of the Service: "80 pool". */
  readonly balancers = new Map<string, Set<string>>();
  /** The share of requests that fail. */
  failing = 0.25;
  /** The step that always fails, after which the cloud forgets all parts. */
  breaks: string | undefined;
  /** The names of the applied steps, in order. */
  readonly applied: string[] = [];
  readonly #options: StepwiseOptions;
  readonly #running = new Map<string, () => void>();

  constructor(options: StepwiseOptions) {
    this.#options = options;
  }

  isComplete(ports: number): boolean {
    return [...this.balancers.values()].some(({ size }) => size === ports * parts.length);
  }

  readonly provider = () =>
    defineProvider({
      contract: 3,
      name: "stepwise",
      schemes: ["stepwise://"],
      config: {},
      connect: () => ({
        ...(this.#options.operationLimit !== undefined && {
          pending: {
            limit: this.#options.operationLimit,
            check: async (ids: readonly string[]) => this.#check(ids),
          },
        }),
        instances: {
          sources: [
            {
              name: "machines",
              keyOf: (id: string) => /^stepwise:\/\/(.+)$/.exec(id)?.[1],
              list: async function* () {
                // One of the Nodes is enough to vouch for the account.
                yield [machine("node-0")];
              },
            },
          ],
          matchBy: ["name"],
        },
        loadBalancers: {
          list: async function* (this: StepwiseBalancers) {
            this.#maybeFail("GET /balancers");
            yield [...this.balancers].map(
              ([uid, present]): Observed => ({
                name: uid,
                owners: [uid as ServiceUID],
                ownership: "ours",
                state: "ready",
                parts: new Set(present),
              }),
            );
          }.bind(this),
          plan: (desired: Desired | undefined, observed: Observed | undefined) => {
            if (desired === undefined) return { steps: [] };
            const { uid } = desired.owner;
            const wanted = desired.ports.flatMap(({ port }) => parts.map((part) => `${port} ${part}`));
            const missing = wanted.filter((part) => observed?.parts.has(part) !== true);
            return { steps: missing.map((part): Step => ({ do: `make ${part}`, on: uid })) };
          },
          apply: async (step: Step) => this.#apply(step),
          publish: (_: Desired, observed: Observed | undefined) =>
            observed === undefined
              ? publishIPs([], "the balancer")
              : publishIPs(["192.0.2.7"], "the address"),
        },
      }),
    });

  #apply({ do: what, on = "" }: Step) {
    this.#maybeFail("POST /parts");
    if (what === this.breaks) {
      this.balancers.get(on)?.clear();
      throw failure("POST /parts");
    }
    this.applied.push(what);
    const make = () => {
      const present = this.balancers.get(on) ?? new Set();
      this.balancers.set(on, present.add(what.slice("make ".length)));
    };
    if (this.#options.operationLimit === undefined) {
      make();
      return done();
    }
    const operation = `operation-${this.applied.length}`;
    this.#running.set(operation, make);
    return inProgress("the part", { operation });
  }

  #check(ids: readonly string[]): ReadonlyMap<string, OperationState> {
    this.#maybeFail("GET /operations");
    return new Map(
      ids.flatMap((id) => {
        const make = this.#running.get(id);
        if (make === undefined) return [];
        this.#running.delete(id);
        make();
        return [[id, { done: true }] as const];
      }),
    );
  }

  #maybeFail(operation: string): void {
    if (this.#options.random.fraction() >= this.failing) return;
    throw failure(operation);
  }
}

const failure = (operation: string): CloudError =>
  new CloudError("unavailable", `${operation} failed: 503`, { operation, status: 503 });
