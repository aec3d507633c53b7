// Counts the requests of a manager for each change that it makes, and the time until it is complete.

import type { RancherCloud } from "../../../../providers/rancher/simulator/index.ts";

export interface Change {
  /** For example "node added". */
  readonly name: string;
  /** The numbers of requests by operation. */
  readonly requests: Readonly<Record<string, number>>;
  /** The number of requests that change the cloud. */
  readonly writes: number;
  readonly seconds: number;
}

export class Measurement {
  readonly #cloud: RancherCloud;
  readonly #changes: Change[] = [];
  #current: { readonly name: string; readonly from: number; readonly at: number } | undefined;

  constructor(cloud: RancherCloud) {
    this.#cloud = cloud;
  }

  get changes(): readonly Change[] {
    return this.#changes;
  }

  /** Ends the current change, which took this long, and begins the next one. Without a name, later requests are not counted. */
  begin(name = "", took?: number): void {
    const { clock, seen } = this.#cloud;
    const ended = this.#current;
    if (ended !== undefined) {
      const requests: Record<string, number> = {};
      const own = seen.slice(ended.from);
      for (const { operation } of own) requests[operation] = (requests[operation] ?? 0) + 1;
      const writes = own.filter(({ mutates }) => mutates).length;
      const seconds = (took ?? clock.monotonic() - ended.at) / 1000;
      this.#changes.push({ name: ended.name, requests, writes, seconds });
    }
    this.#current = name === "" ? undefined : { name, from: seen.length, at: clock.monotonic() };
  }
}
