// What plans need besides Services and load balancers: the Secrets, ConfigMaps and files that groups refer to, which are read again
// about every minute, and the value that the provider prefetches for all plans.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../../core/brand.ts";
import { messageOf } from "../../../core/errors.ts";
import type { Problem } from "../../../core/problem.ts";
import { type Clock, sleep } from "../../../platform/clock.ts";
import type { Call } from "../../../provider/call.ts";
import type { InputDeclaration, Inputs } from "../../../provider/inputs.ts";
import { abortable } from "../../../runtime/abortable.ts";
import type { Input, InputReader, InputValue } from "../../read-input.ts";
import type { AnyBalancers, Desired, ServiceControllerDeps } from "../deps.ts";
import type { GroupState } from "../state/group-record.ts";
import type { GroupStates } from "../state/group-states.ts";
import { fingerprintOf } from "./difference.ts";

export interface GroupInputs {
  readonly inputs: Inputs;
  /** Changes whenever one of the inputs changes. */
  readonly version: string;
  /** Inputs that cannot be read: nothing is planned without them. */
  readonly problems: readonly Problem[];
  /** Inputs that can no longer be read: the last value is used. */
  readonly warnings: readonly Problem[];
}

interface SharedInput {
  readonly declaration: InputDeclaration;
  last?: Input;
  failures: number;
  /** Why it can no longer be read. */
  stale?: unknown;
}

/** The API server may be unavailable for a moment. */
const failuresBeforeWarning = 2;

/** All inputs are reread in this time, but at most one per second. */
const rereadEvery: Milliseconds = minutes(1);
const minPause: Milliseconds = seconds(1);

function nameOf(input: InputDeclaration): string {
  return input.kind === "File" ? input.path : `${input.namespace}/${input.name}`;
}
const keyOf = (input: InputDeclaration): string => `${input.kind} ${nameOf(input)}`;

export class BalancerInputs {
  readonly #read: InputReader;
  readonly #clock: Clock;
  readonly #groups: GroupStates;
  /** Shared by the groups that refer to them; dropped when no group does. */
  readonly #inputs = new Map<string, SharedInput>();
  #onNamed: () => void = () => undefined;

  constructor({ readInput, clock }: Pick<ServiceControllerDeps, "readInput" | "clock">, groups: GroupStates) {
    this.#read = readInput;
    this.#clock = clock;
    this.#groups = groups;
  }

  /** The inputs that the plan of this group needs. */
  async of(
    state: GroupState,
    declarations: readonly InputDeclaration[],
    signal: AbortSignal,
  ): Promise<GroupInputs> {
    const mine = this.#share(state, declarations);
    const problems: Problem[] = [];
    const warnings: Problem[] = [];
    for (const input of mine.values()) {
      const { declaration } = input;
      if (input.stale !== undefined) warnings.push(staleInput(declaration, input.stale));
      try {
        input.last ??= await this.#read(declaration, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        problems.push(unreadableInput(declaration, error));
      }
    }
    return {
      inputs: inputsOf(mine),
      version: [...mine].map(([key, input]) => `${key} ${input.last?.version}`).join(),
      problems,
      warnings,
    };
  }

  /** Rereads all inputs, and calls `onChange` with the groups that use a changed one, until the signal is aborted. */
  async run(signal: AbortSignal, onChange: (groups: readonly string[]) => void): Promise<void> {
    while (!signal.aborted) {
      const all = [...this.#inputs.keys()];
      if (all.length === 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#onNamed = resolve;
        await abortable(promise, signal).catch(() => undefined);
      }
      const pause = milliseconds(Math.max(minPause, rereadEvery / Math.max(1, all.length)));
      for (const key of all) {
        await sleep(this.#clock, pause, signal).catch(() => undefined);
        if (signal.aborted) return;
        const input = this.#inputs.get(key);
        if (!this.#isUsed(key)) this.#inputs.delete(key);
        else if (input !== undefined && (await this.#reread(input, signal))) onChange(this.#usersOf(key));
      }
    }
  }

  #share(state: GroupState, declarations: readonly InputDeclaration[]): ReadonlyMap<string, SharedInput> {
    const mine = new Map<string, SharedInput>();
    for (const declaration of declarations) {
      const key = keyOf(declaration);
      // A value that no group uses anymore may be outdated.
      const known = state.inputs.has(key) || this.#isUsed(key) ? this.#inputs.get(key) : undefined;
      mine.set(key, known ?? { declaration, failures: 0 });
    }
    // Nearly all groups have none, and share one empty set.
    if (mine.size > 0 || state.inputs.size > 0)
      this.#groups.commit(state, { kind: "inputsNeeded", names: new Set(mine.keys()) });
    for (const [key, input] of mine) this.#inputs.set(key, input);
    if (mine.size > 0) this.#onNamed();
    return mine;
  }

  #isUsed(key: string): boolean {
    return this.#groups.all.some(({ inputs }) => inputs.has(key));
  }

  #usersOf(key: string): readonly string[] {
    return this.#groups.all.filter(({ inputs }) => inputs.has(key)).map(({ group }) => group);
  }

  /** Returns whether its users must plan again. */
  async #reread(input: SharedInput, signal: AbortSignal): Promise<boolean> {
    const before = input.last?.version;
    try {
      input.last = await this.#read(input.declaration, signal);
    } catch (error) {
      // The last value is still used. If there is none, the next plan reports it.
      if (signal.aborted || input.last === undefined) return false;
      input.failures += 1;
      if (input.failures >= failuresBeforeWarning) input.stale = error;
      return input.failures === failuresBeforeWarning;
    }
    const wasStale = input.stale !== undefined;
    input.failures = 0;
    delete input.stale;
    return input.last.version !== before || wasStale;
  }
}

function inputsOf(inputs: ReadonlyMap<string, SharedInput>): Inputs {
  const lastOf = <K extends InputValue["kind"]>(kind: K, name: string) => {
    const value = inputs.get(`${kind} ${name}`)?.last?.value;
    return value?.kind === kind ? (value as Extract<InputValue, { kind: K }>) : undefined;
  };
  return {
    secret: (namespace, name) => lastOf("Secret", `${namespace}/${name}`)?.data,
    configMap: (namespace, name) => lastOf("ConfigMap", `${namespace}/${name}`)?.data,
    file: (path) => lastOf("File", path)?.content,
  };
}

function staleInput(input: InputDeclaration, error: unknown): Problem {
  return {
    severity: "warning",
    reason: "InputUnreadable",
    text: `${input.kind} ${nameOf(input)} can no longer be read, so its last value is used: ${messageOf(error)} Changes to it have no effect until it can be read again.`,
  };
}

function unreadableInput(input: InputDeclaration, error: unknown): Problem {
  return {
    severity: "error",
    reason: "InputUnreadable",
    text: `${input.kind} ${nameOf(input)} cannot be read: ${messageOf(error)} The load balancer is not changed until it can be read.`,
  };
}

const acceptsAge = minutes(1);

interface Prefetched {
  readonly value: Promise<unknown>;
  readonly at: number;
  /** The desired states that the value covers. */
  readonly covers: ReadonlySet<string>;
}

export class SharedPrefetch {
  readonly #balancers: AnyBalancers;
  readonly #clock: Clock;
  #latest: Prefetched | undefined;

  constructor({ balancers, clock }: Pick<ServiceControllerDeps, "balancers" | "clock">) {
    this.#balancers = balancers;
    this.#clock = clock;
  }

  /** A value fetched without these desired states does not cover what they refer to. */
  current(mine: readonly Desired[], all: () => readonly Desired[], call: Call): Promise<unknown> {
    if (this.#balancers.prefetch === undefined) return Promise.resolve(undefined);
    const now = this.#clock.monotonic();
    const latest = this.#latest;
    const isFresh = latest !== undefined && now - latest.at < acceptsAge;
    if (isFresh && mine.every((desired) => latest.covers.has(textOf(desired)))) return latest.value;
    const desired = all();
    const value = this.#balancers.prefetch(desired, call);
    this.#latest = { value, at: now, covers: new Set(desired.map(textOf)) };
    // A failed prefetch is not shared.
    value.catch(() => {
      if (this.#latest?.value === value) this.#latest = undefined;
    });
    return value;
  }

  /** After a step that changed it. */
  forget(): void {
    this.#latest = undefined;
  }
}

const textOf = (desired: Desired): string => fingerprintOf([desired]).spec;
