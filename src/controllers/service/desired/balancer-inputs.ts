// What plans need from Kubernetes and from files, as values: read when a group first asks for it, then again about every
// minute. Only what was named is read; a change brings the groups back that asked for it.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../../core/brand.ts";
import { messageOf } from "../../../core/errors.ts";
import type { Problem } from "../../../core/problem.ts";
import { type Clock, sleep } from "../../../platform/clock.ts";
import type { InputDeclaration, Inputs } from "../../../provider/inputs.ts";
import { abortable } from "../../../runtime/abortable.ts";
import type { Input, InputReader, InputValue } from "../../read-input.ts";

export interface GivenInputs {
  readonly inputs: Inputs;
  /** Changes when any of them does. */
  readonly version: string;
  /** What could not be read: nothing is planned without it. */
  readonly problems: readonly Problem[];
  /** What could be read before and cannot now: it goes on with what was read last. */
  readonly warnings: readonly Problem[];
}

interface Held {
  readonly declaration: InputDeclaration;
  readonly groups: Set<string>;
  last?: Input;
  failures: number;
  /** Why it cannot be read any more. */
  stale?: unknown;
}

/** An API server that was away for a moment is no news. */
const failuresBeforeWarning = 2;

/** Everything is looked at again in this time, but never more than one of them in a second. */
const round: Milliseconds = minutes(1);
const shortest: Milliseconds = seconds(1);

function nameOf(one: InputDeclaration): string {
  return one.kind === "File" ? one.path : `${one.namespace}/${one.name}`;
}
const keyOf = (one: InputDeclaration): string => `${one.kind} ${nameOf(one)}`;

export function createBalancerInputs(
  read: InputReader,
  clock: Clock,
  onNews: (groups: ReadonlySet<string>) => void,
) {
  const held = new Map<string, Held>();
  let onAsked: () => void = () => undefined;

  const release = (group: string, kept: ReadonlySet<string>): void => {
    for (const [key, one] of held) {
      if (!kept.has(key) && one.groups.delete(group) && one.groups.size === 0) held.delete(key);
    }
  };

  const hold = (group: string, declaration: InputDeclaration): Held => {
    const key = keyOf(declaration);
    const one = held.get(key) ?? { declaration, groups: new Set<string>(), failures: 0 };
    one.groups.add(group);
    held.set(key, one);
    onAsked();
    return one;
  };

  const requeue = async (one: Held, signal: AbortSignal): Promise<void> => {
    const before = one.last?.version;
    try {
      one.last = await read(one.declaration, signal);
    } catch (error) {
      // What was read last still holds; what never was is told when somebody plans with it.
      if (signal.aborted || one.last === undefined) return;
      one.failures += 1;
      const isNews = one.failures === failuresBeforeWarning;
      if (one.failures >= failuresBeforeWarning) one.stale = error;
      if (isNews) onNews(one.groups);
      return;
    }
    const isReadAgain = one.stale !== undefined;
    one.failures = 0;
    delete one.stale;
    if (one.last.version !== before || isReadAgain) onNews(one.groups);
  };

  return {
    of: async (
      group: string,
      declarations: readonly InputDeclaration[],
      signal: AbortSignal,
    ): Promise<GivenInputs> => {
      release(group, new Set(declarations.map(keyOf)));
      const problems: Problem[] = [];
      const warnings: Problem[] = [];
      const mine = new Map<string, Held>();
      for (const declaration of declarations) {
        const one = hold(group, declaration);
        mine.set(keyOf(declaration), one);
        if (one.stale !== undefined) warnings.push(stale(declaration, one.stale));
        try {
          one.last ??= await read(declaration, signal);
        } catch (error) {
          if (signal.aborted) throw error;
          problems.push(unreadable(declaration, error));
        }
      }
      const lastOf = <K extends InputValue["kind"]>(kind: K, name: string) => {
        const value = mine.get(`${kind} ${name}`)?.last?.value;
        return value?.kind === kind ? (value as Extract<InputValue, { kind: K }>) : undefined;
      };
      return {
        inputs: {
          secret: (namespace, name) => lastOf("Secret", `${namespace}/${name}`)?.data,
          configMap: (namespace, name) => lastOf("ConfigMap", `${namespace}/${name}`)?.data,
          file: (path) => lastOf("File", path)?.content,
        },
        version: [...mine].map(([key, one]) => `${key} ${one.last?.version}`).join(),
        problems,
        warnings,
      };
    },

    forget: (group: string): void => release(group, new Set()),

    run: async (signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        const all = [...held.values()];
        if (all.length === 0) {
          const { promise, resolve } = Promise.withResolvers<void>();
          onAsked = resolve;
          await abortable(promise, signal).catch(() => undefined);
        }
        const pause = milliseconds(Math.max(shortest, round / Math.max(1, all.length)));
        for (const one of all) {
          await sleep(clock, pause, signal).catch(() => undefined);
          if (signal.aborted) return;
          if (one.groups.size > 0) await requeue(one, signal);
        }
      }
    },
  };
}

export type BalancerInputs = ReturnType<typeof createBalancerInputs>;

function stale(declaration: InputDeclaration, error: unknown): Problem {
  return {
    severity: "warning",
    reason: "InputUnreadable",
    text: `${declaration.kind} ${nameOf(declaration)} cannot be read any more, and what was read last is used: ${messageOf(error)} The manager needs to get it; no change of it is seen until then.`,
  };
}

function unreadable(declaration: InputDeclaration, error: unknown): Problem {
  return {
    severity: "error",
    reason: "InputUnreadable",
    text: `${declaration.kind} ${nameOf(declaration)} cannot be read: ${messageOf(error)} The manager needs to get it; nothing is changed until then.`,
  };
}
