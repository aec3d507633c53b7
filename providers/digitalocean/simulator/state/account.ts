// Everything that an account has, and what is completed later.

import type { Milliseconds } from "#ccm";
import { type Clock, DueWork } from "#ccm/testing";
import { type Balancer, Balancers } from "./balancers.ts";
import { Droplets } from "./droplets.ts";
import { Ids } from "./ids.ts";

export interface AccountTimes {
  /** How long a load balancer is `new`. */
  activation: Milliseconds;
  /** How long a load balancer refuses further changes after one. */
  change: Milliseconds;
  /** How long a droplet is `new`. */
  boot: Milliseconds;
}

export class Account {
  readonly later: DueWork;
  readonly times: AccountTimes;
  readonly droplets: Droplets;
  readonly balancers: Balancers;
  /** Load balancers that process a change. */
  readonly #busy = new Map<string, number>();

  constructor(clock: Clock, times: AccountTimes) {
    const ids = new Ids(clock);
    this.times = times;
    this.later = new DueWork(clock);
    this.droplets = new Droplets(ids);
    this.balancers = new Balancers(ids);
  }

  isBusy({ id, status }: Balancer): boolean {
    return status === "new" || (this.#busy.get(id) ?? 0) > 0;
  }

  /** Lets a load balancer refuse changes for a while. */
  occupy(id: string): void {
    const count = (by: number) => this.#busy.set(id, (this.#busy.get(id) ?? 0) + by);
    count(1);
    this.later.add(this.times.change, () => count(-1));
  }

  activate(id: string): void {
    this.later.add(this.times.activation, () => {
      const balancer = this.balancers.find(id);
      if (balancer?.status !== "new") return;
      this.balancers.put({ ...balancer, ...this.balancers.addresses(balancer), status: "active" });
    });
  }
}
