// A controller that is composed again each time it runs, so nothing that it learned from the cloud outlives a leadership session. What it
// keeps from one session to the next is its history, which its composer hands in.

import type { Task } from "../../runtime/run-together.ts";
import type { ControllerName } from "../flags/controller-names.ts";

export interface ControllerTask extends Task {
  readonly name: ControllerName;
}

export class ControllerSlot<C extends Pick<Task, "run">> implements ControllerTask {
  readonly name: ControllerName;
  readonly #compose: () => C;
  readonly #onComposed: () => void;
  #current: C;
  #hasRun = false;

  /** `compose` starts nothing: no subscription, no timer, no request. */
  constructor(name: ControllerName, compose: () => C, onComposed: () => void) {
    this.name = name;
    this.#compose = compose;
    this.#onComposed = onComposed;
    this.#current = compose();
  }

  /** The controller of the current session; without one, the controller of the last or the next session. */
  get current(): C {
    return this.#current;
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#hasRun) {
      this.#current = this.#compose();
      this.#onComposed();
    }
    this.#hasRun = true;
    await this.#current.run(signal);
  }
}
