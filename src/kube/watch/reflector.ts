// Runs one watch into one store, and reports how fresh the store is.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import type { KubeError } from "../errors/kube-error.ts";
import type { KubeObject } from "../objects.ts";
import { type ReadonlyStore, Store } from "./store.ts";
import { watch } from "./watch.ts";
import type { WatchOptions, WatchStep } from "./watch-step.ts";

export interface ReflectorOptions<T extends KubeObject> extends WatchOptions<T> {
  readonly onProblem?: (problem: KubeError, retryIn: Milliseconds) => void;
  /** Called at the first message of the server after a problem. */
  readonly onRecovered?: () => void;
}

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #store = new Store<T>();
  #problem: KubeError | undefined;
  #lastMessageAt: number | undefined;
  #lastStepAt: number | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
  }

  get store(): ReadonlyStore<T> {
    return this.#store;
  }

  /** The current problem; undefined while the watch works. */
  get problem(): KubeError | undefined {
    return this.#problem;
  }

  /** Time since the server last sent anything about these objects; undefined before the first message. */
  age(): Milliseconds | undefined {
    return this.#since(this.#lastMessageAt);
  }

  /** Time since the last step, failures included: a live watch yields a step every few minutes. */
  idle(): Milliseconds | undefined {
    return this.#since(this.#lastStepAt);
  }

  /** Resolves when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    for await (const step of watch(this.#options, signal)) {
      this.#observe(step);
      this.#store.apply(step);
    }
  }

  #observe(step: WatchStep<T>): void {
    const { clock, onProblem, onRecovered } = this.#options;
    this.#lastStepAt = clock.monotonic();
    if (step.type === "failed") {
      this.#problem = step.error;
      onProblem?.(step.error, step.retryIn);
    } else if (step.type !== "begin") {
      this.#lastMessageAt = clock.monotonic();
      if (this.#problem !== undefined) onRecovered?.();
      this.#problem = undefined;
    }
  }

  #since(moment: number | undefined): Milliseconds | undefined {
    return moment === undefined ? undefined : milliseconds(this.#options.clock.monotonic() - moment);
  }
}
