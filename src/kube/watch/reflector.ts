// Runs a watch into a store, reports how fresh the store is, and proves on request that it is current.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import { abortable, linkedController } from "../../runtime/abortable.ts";
import type { KubeError } from "../errors/kube-error.ts";
import type { KubeObject } from "../objects.ts";
import { type ReadonlyStore, Store } from "./store.ts";
import { watch } from "./watch.ts";
import type { WatchOptions, WatchStep } from "./watch-step.ts";

export interface ReflectorOptions<T extends KubeObject> extends WatchOptions<T> {
  readonly onProblem?: (problem: KubeError, retryIn: Milliseconds) => void;
  /** Called on the first message from the server after a problem. */
  readonly onRecovered?: () => void;
}

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #store = new Store<T>();
  #problem: KubeError | undefined;
  #heardAt: number | undefined;
  #lastStepAt: number | undefined;
  /** When the current or the last list began. */
  #listBeganAt: number | undefined;
  /** When the last complete list began. */
  #listedFrom = Number.NEGATIVE_INFINITY;
  #isListing = false;
  #nextList = Promise.withResolvers<void>();
  #listAgain: (() => void) | undefined;
  #nextRefusal = Promise.withResolvers<void>();

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
  }

  /** The resource's plural name. */
  get resource(): string {
    return this.#options.resource.plural;
  }

  get store(): ReadonlyStore<T> {
    return this.#store;
  }

  /** The current problem; undefined while the watch works. */
  get problem(): KubeError | undefined {
    return this.#problem;
  }

  /** Whether the last request was refused because a permission is missing. */
  get isRefused(): boolean {
    return this.#problem?.kind === "forbidden";
  }

  /** Resolves when a request is refused because a permission is missing. */
  whenRefused(signal: AbortSignal): Promise<void> {
    return this.isRefused ? Promise.resolve() : abortable(this.#nextRefusal.promise, signal);
  }

  /**
   * Time since the server last completed a list of these objects, or sent a later change or bookmark; undefined before the first
   * list is complete.
   */
  age(): Milliseconds | undefined {
    return this.#since(this.#heardAt);
  }

  /** Time since the last step, including failures: a live watch yields a step every few minutes. */
  idle(): Milliseconds | undefined {
    return this.#since(this.#lastStepAt);
  }

  /** Resolves when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { controller, unlink } = linkedController(signal);
      this.#listAgain = () => controller.abort();
      for await (const step of watch(this.#options, controller.signal)) {
        this.#observe(step);
        this.#store.apply(step);
      }
      unlink();
    }
    this.#listAgain = undefined;
  }

  /**
   * Resolves when the store contains a complete list that began at this moment (monotonic) or later. Lists again if necessary.
   * Lists have no resource version, so the server returns its newest objects.
   */
  async whenListed(since: number, signal: AbortSignal): Promise<void> {
    if (this.#listBeganAt !== undefined && this.#listBeganAt < since) this.#listAgain?.();
    while (this.#listedFrom < since) await abortable(this.#nextList.promise, signal);
  }

  #observe(step: WatchStep<T>): void {
    const { clock, onProblem, onRecovered } = this.#options;
    const now = clock.monotonic();
    this.#lastStepAt = now;
    if (step.type === "failed") {
      this.#problem = step.error;
      if (this.isRefused) {
        this.#nextRefusal.resolve();
        this.#nextRefusal = Promise.withResolvers();
      }
      onProblem?.(step.error, step.retryIn);
      return;
    }
    if (step.type === "begin") {
      this.#listBeganAt = now;
      this.#isListing = true;
      return;
    }
    if (step.type === "complete") {
      this.#listedFrom = this.#listBeganAt ?? now;
      this.#isListing = false;
      // Waiting callers continue when the store contains the list.
      this.#nextList.resolve();
      this.#nextList = Promise.withResolvers();
    }
    // A normal reconnect only proves that the server exists.
    if (!this.#isListing && step.type !== "resumed") this.#heardAt = now;
    if (this.#problem !== undefined) onRecovered?.();
    this.#problem = undefined;
  }

  #since(moment: number | undefined): Milliseconds | undefined {
    return moment === undefined ? undefined : milliseconds(this.#options.clock.monotonic() - moment);
  }
}
