// A controller that is composed again for each run, so nothing that it learned from the cloud outlives a leadership session.
// State that survives sessions is in its history, which its composer provides.

import type { Task } from "../../runtime/run-together.ts";
import type { ControllerName } from "../flags/controller-names.ts";

export interface ControllerTask extends Task {
  readonly name: ControllerName;
}

export interface SlotOptions<C> {
  readonly name: ControllerName;
  /** The cloud session for which the controller is composed. */
  readonly session: () => object;
  /** Composes without starting a subscription, a timer or a request. Returns undefined if the controller has nothing to do. */
  readonly compose: () => C;
  /** Called each time that the controller is composed again. */
  readonly onComposed: () => void;
}

export class ControllerSlot<C extends Pick<Task, "run"> | undefined> implements ControllerTask {
  readonly name: ControllerName;
  readonly #options: SlotOptions<C>;
  #current: C;
  /** The session for which the controller was composed; undefined after its only run. */
  #composedFor: object | undefined;
  #isRunning = false;

  constructor(options: SlotOptions<C>) {
    this.name = options.name;
    this.#options = options;
    this.#composedFor = options.session();
    this.#current = options.compose();
  }

  /** The controller of the current session; between sessions, the last or the next controller. */
  get current(): C {
    return this.#current;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { session, compose, onComposed } = this.#options;
    if (this.#composedFor !== session()) {
      this.#current = compose();
      onComposed();
    }
    this.#composedFor = undefined;
    this.#isRunning = true;
    try {
      await this.#current?.run(signal);
    } finally {
      this.#isRunning = false;
    }
  }
}
