// The machines of one zone. Their ids are unique in the zone, their labels need not be.

import { type Answer, Refusal } from "./answer.ts";
import type { LaggingList } from "./lagging-list.ts";

export interface SimulatedMachine {
  readonly id: string;
  readonly label: string;
  readonly power: "up" | "down" | "leaving";
  readonly shape: string;
  readonly address: string;
}

const maxValues = 5;

export class Machines {
  /** The first half of their addresses. */
  readonly #prefix: string;
  readonly listing: LaggingList<SimulatedMachine>;
  /** Addresses that load balancers reject. */
  readonly quarantined = new Set<string>();
  #machines: readonly SimulatedMachine[] = [];
  #next = 1;

  constructor(prefix: string, listing: LaggingList<SimulatedMachine>) {
    this.#prefix = prefix;
    this.listing = listing;
  }

  add(label: string): SimulatedMachine {
    const number = this.#next++;
    const id = `m-${String(number).padStart(4, "0")}`;
    const address = `${this.#prefix}.${number >> 8}.${number & 255}`;
    const machine = { id, label, power: "up", shape: "oak-4", address } as const;
    this.#set([...this.#machines, machine]);
    return machine;
  }

  setPower(label: string, power: SimulatedMachine["power"]): void {
    this.#set(this.#machines.map((machine) => (machine.label === label ? { ...machine, power } : machine)));
  }

  remove(label: string): void {
    this.#set(this.#machines.filter((machine) => machine.label !== label));
  }

  hasAddress(address: string): boolean {
    return this.#machines.some((machine) => machine.address === address);
  }

  /** All machines with these ids, or these labels: current, and in one page. */
  find(by: "id" | "label", values: readonly string[]): Answer {
    if (values.length > maxValues)
      throw new Refusal(400, "too_many_values", `at most ${maxValues}, got ${values.length}`);
    const wrong = values.find((value) => by === "id" && !/^m-\d{4}$/.test(value));
    if (wrong !== undefined) throw new Refusal(400, "bad_id", `${wrong} is not the id of a machine`);
    const entries = this.#machines.filter((machine) => values.includes(machine[by]));
    return { status: 200, body: { entries, total: entries.length, next: null } };
  }

  #set(machines: readonly SimulatedMachine[]): void {
    this.#machines = machines;
    this.listing.record(machines);
  }
}
