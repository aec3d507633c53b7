// What keeps a service in its state: containers that cannot be removed or started, and host ports that are in use.

import { parsePort } from "./endpoints.ts";
import type { Service } from "./service.ts";

export class Obstacles {
  readonly #stuck = new Set<string>();
  readonly #occupied = new Map<number, string>();
  readonly #failing = new Map<string, string>();

  /** It stays in state `removing` until it is released. */
  stick(name: string): void {
    this.#stuck.add(name);
  }

  release(name: string): void {
    this.#stuck.delete(name);
  }

  /** Its activation ends with this error until it is repaired. */
  fail(name: string, message: string): void {
    this.#failing.set(name, message);
  }

  repair(name: string): void {
    this.#failing.delete(name);
  }

  /** Another container uses the port on all hosts, so that no load balancer with it can start. */
  occupy(port: number, message = `Allocation failed: host has port ${port} in use`): void {
    this.#occupied.set(port, message);
  }

  free(port: number): void {
    this.#occupied.delete(port);
  }

  /** Undefined if the service can leave its state. */
  of({ state, name, launchConfig }: Service) {
    if (state === "removing" && this.#stuck.has(name))
      return { isError: false, message: "Waiting for containers to be removed" };
    if (state !== "activating") return undefined;
    const ports = (launchConfig?.ports ?? []).map((port) => parsePort(port).number);
    const message = this.#failing.get(name) ?? ports.flatMap((port) => this.#occupied.get(port) ?? [])[0];
    return message === undefined ? undefined : { isError: true, message };
  }
}
