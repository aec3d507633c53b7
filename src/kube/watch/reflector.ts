// Runs one watch into one store and says how fresh the store is. It decides nothing about what changes mean.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import type { KubeError } from "../errors/kube-error.ts";
import type { KubeObject } from "../objects.ts";
import { type ReadonlyStore, Store } from "./store.ts";
import { type WatchOptions, watch } from "./watch.ts";

export interface Reflector<T> {
  readonly store: ReadonlyStore<T>;
  /** How long ago the server last said anything about these objects; undefined before the first word. */
  age(): Milliseconds | undefined;
  /** How long ago anything happened to it, be it a failure: a watch that lives does something every few minutes. */
  idle(): Milliseconds | undefined;
  /** What stands in the way now; undefined while all is well. */
  readonly problem: KubeError | undefined;
  /** Resolves when the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export function createReflector<T extends KubeObject>(
  options: WatchOptions<T> & {
    readonly onProblem?: (problem: KubeError, retryIn: Milliseconds) => void;
    /** The first word of the server after a problem. */
    readonly onRecovered?: () => void;
  },
): Reflector<T> {
  const { onProblem, onRecovered, ...watched } = options;
  const store = new Store<T>();
  let heardAt: number | undefined;
  let problem: KubeError | undefined;
  let steppedAt: number | undefined;
  return {
    store,
    age: () => (heardAt === undefined ? undefined : milliseconds(options.clock.monotonic() - heardAt)),
    idle: () => (steppedAt === undefined ? undefined : milliseconds(options.clock.monotonic() - steppedAt)),
    get problem() {
      return problem;
    },
    run: async (signal) => {
      for await (const step of watch(watched, signal)) {
        steppedAt = options.clock.monotonic();
        if (step.type === "failed") {
          problem = step.error;
          onProblem?.(step.error, step.retryIn);
        } else if (step.type !== "begin") {
          heardAt = options.clock.monotonic();
          if (problem !== undefined) onRecovered?.();
          problem = undefined;
        }
        store.apply(step);
      }
    },
  };
}
