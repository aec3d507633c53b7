// Runs one watch into one store and says how fresh the store is. It decides nothing about what changes mean.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { KubeError } from "./kube-error.ts";
import type { KubeObject } from "./objects.ts";
import { type ReadonlyStore, Store } from "./store.ts";
import { type WatchOptions, watch } from "./watch.ts";

export interface Reflector<T> {
  readonly store: ReadonlyStore<T>;
  /** How long ago the server last said anything about these objects; undefined before the first word. */
  age(): Milliseconds | undefined;
  /** What stands in the way now; undefined while all is well. */
  readonly problem: KubeError | undefined;
  /** Resolves when the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

export const createReflector = <T extends KubeObject>(
  options: WatchOptions<T> & { readonly onProblem?: (problem: KubeError, retryIn: Milliseconds) => void },
): Reflector<T> => {
  const { onProblem, ...watched } = options;
  const store = new Store<T>();
  let heardAt: number | undefined;
  let problem: KubeError | undefined;
  return {
    store,
    age: () => (heardAt === undefined ? undefined : milliseconds(options.clock.monotonic() - heardAt)),
    get problem() {
      return problem;
    },
    run: async (signal) => {
      for await (const step of watch(watched, signal)) {
        if (step.type === "failed") {
          problem = step.error;
          onProblem?.(step.error, step.retryIn);
        } else if (step.type !== "begin") {
          heardAt = options.clock.monotonic();
          problem = undefined;
        }
        store.apply(step);
      }
    },
  };
};
