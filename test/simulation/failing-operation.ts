// One operation of the cloud fails for good while users continue. Checks 21: everything that does not need this operation works.

import { isUninitialized } from "../../src/controllers/node-facts.ts";
import type { World } from "./world.ts";

const operations = [
  "POST /balancers",
  "DELETE /balancers/{id}",
  "PATCH /balancers/{id}",
  "GET /balancers",
  "POST /routes",
  "GET /routes",
  "GET /machines",
] as const;

interface Expectation {
  readonly needs: readonly (typeof operations)[number][];
  readonly what: string;
  readonly isMet: () => boolean;
}

export class FailingOperation {
  readonly #world: World;
  readonly #operation: (typeof operations)[number];
  readonly #status: number;

  constructor(world: World, seed: number) {
    this.#world = world;
    this.#operation = operations[seed % operations.length] ?? operations[0];
    this.#status = [500, 429, 403, 503][Math.floor(seed / operations.length) % 4] ?? 500;
  }

  start(): void {
    const { cloud, users, history } = this.#world;
    const fault = { kind: "status", operation: this.#operation, status: this.#status, calls: 1e9 } as const;
    history.log(`cloud: from now on ${JSON.stringify(fault)}`);
    cloud.faults.add(fault);
    for (const { metadata } of users.services().slice(0, 2)) users.delete(metadata.name);
    for (const name of ["late-1", "late-2", "late-3"]) users.create(name, {});
    this.#world.addNode("late");
  }

  check(): void {
    for (const { needs, what, isMet } of this.#expectations()) {
      if (needs.includes(this.#operation) || isMet()) continue;
      this.#world.invariants.violated(21, `${what}, while only ${this.#operation} answered ${this.#status}`);
    }
  }

  #expectations(): readonly Expectation[] {
    const { cloud, users } = this.#world;
    const node = this.#world.node("late");
    const balancersOf = (uid: string) =>
      cloud.balancers.list().filter(({ labels }) => labels["owner-uid"] === uid);
    const isServed = (name: string): boolean => {
      const service = users.find(name);
      return service !== undefined && balancersOf(service.metadata.uid).length === 1;
    };
    return [
      {
        needs: ["GET /machines"],
        what: "the Node late is not initialized",
        isMet: () => node !== undefined && !isUninitialized(node),
      },
      {
        needs: ["GET /machines", "GET /routes", "POST /routes"],
        what: "the Node late has no route",
        isMet: () => cloud.routes.list().some(({ destination }) => destination === node?.spec.podCIDR),
      },
      {
        needs: ["GET /balancers", "POST /balancers"],
        what: "the Services late-1 to late-3 have no load balancers",
        isMet: () => ["late-1", "late-2", "late-3"].every(isServed),
      },
      {
        needs: ["GET /balancers", "DELETE /balancers/{id}"],
        what: "deleted Services are still there",
        isMet: () => users.services().every(({ metadata }) => metadata.deletionTimestamp === undefined),
      },
    ];
  }
}
