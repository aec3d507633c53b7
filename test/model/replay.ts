// Replays a sequence of the absence model with the controllers' ledgers, doubt, censuses and plans, and returns their results after
// each step.

import { milliseconds } from "../../src/core/brand.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { BalancerManager } from "./balancer-manager.ts";
import { NodeManager } from "./node-manager.ts";
import { ids, type Manager, type Memory, type Model, type Step, stepTime } from "./vocabulary.ts";

export class Replay {
  readonly #clock = new VirtualClock();
  readonly #manager: Manager;
  readonly #exists = new Set(ids);
  #before: ReadonlySet<number> = new Set(ids);
  #hidden: ReadonlySet<number> = new Set();
  #unfound: ReadonlySet<number> = new Set();

  constructor(model: Model) {
    const hasLookup = model.endsWith("WithLookups");
    this.#manager = model.startsWith("nodes")
      ? new NodeManager(this.#clock, hasLookup)
      : new BalancerManager(this.#clock, hasLookup);
  }

  /** Returns the outcome of a reconcile, and the memory after the step. */
  async apply({ name, ids: [id = 0], ids: all, arg }: Step): Promise<readonly [string, Memory]> {
    const manager = this.#manager;
    let outcome = "";
    if (name === "pass") {
      this.#before = new Set(this.#exists);
      await this.#clock.advance(milliseconds(id * stepTime));
    } else if (name === "hide") {
      this.#hidden = new Set(all);
      this.#unfound = arg === "both" ? this.#hidden : new Set();
    } else if (name === "lose") this.#exists.delete(id);
    else if (name === "list")
      manager.list((arg === "lags" ? this.#before : this.#exists).difference(this.#hidden));
    else if (name === "reconcile") {
      outcome = await manager.reconcile(id, this.#isFound(id));
      if (outcome === "acted" && manager instanceof BalancerManager) this.#exists.add(id);
    } else if (name === "ask") manager.ask(id, this.#isFound(id));
    else if (name === "leave") manager.leave(id);
    else if (name === "report") manager.report(id);
    else if (name === "vouch") manager.vouch(arg);
    else if (name === "release") manager.release();
    else if (name === "restart") manager.restart(arg === "reconnects");
    else if (name === "hand over") manager.handOver();
    return [outcome, manager.memory];
  }

  #isFound(id: number): boolean {
    return this.#exists.has(id) && !this.#unfound.has(id);
  }
}
