// The routes in the network of the simulated cloud: each leads from a destination to a machine.

import { Refusal } from "./answer.ts";

export interface SimulatedRoute {
  readonly id: string;
  readonly destination: string;
  /** Id of a machine, which may no longer exist. */
  readonly machine: string;
  readonly labels: Readonly<Record<string, string>>;
}

export class NetworkRoutes {
  readonly #byID = new Map<string, SimulatedRoute>();
  #next = 1;

  list(): readonly SimulatedRoute[] {
    return [...this.#byID.values()];
  }

  create(wanted: Partial<SimulatedRoute>): SimulatedRoute {
    const { destination = "", machine = "", labels = {} } = wanted;
    if (destination === "" || machine === "")
      throw new Refusal(422, "invalid_input", "destination and machine are required");
    if (this.list().some((route) => route.destination === destination)) {
      throw new Refusal(409, "uniqueness_error", `a route to ${destination} already exists`);
    }
    const route = { id: `r${this.#next++}`, destination, machine, labels };
    this.#byID.set(route.id, route);
    return route;
  }

  remove(id: string): void {
    if (!this.#byID.delete(id)) throw new Refusal(404, "not_found", `there is no route ${id}`);
  }
}
