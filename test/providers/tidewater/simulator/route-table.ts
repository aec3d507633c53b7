// The route table of one zone: one document, read with a delay. A change names the stamp of the table that it is based on, and ends
// later.

import { parseCidr } from "#ccm";
import { type Answer, isText, isTextList, Refusal, readBody } from "./answer.ts";
import type { LaggingList } from "./lagging-list.ts";
import type { Machines } from "./machines.ts";
import type { Tickets } from "./tickets.ts";

export interface RouteEntry {
  readonly to: string;
  readonly hop: string;
  readonly note: string;
}

interface Changes {
  readonly stamp: string;
  readonly drop: readonly string[];
  readonly add: readonly RouteEntry[];
}

const capacity = 40;
const isRange = (value: unknown): boolean => parseCidr(String(value)) !== undefined;
const entryOf = (value: unknown): RouteEntry => readBody(value, { to: isRange, hop: isText, note: isText });
const checks = { stamp: isText, drop: isTextList, add: Array.isArray };

export class RouteTable {
  readonly #tickets: Tickets;
  readonly #machines: Machines;
  /** Its only item is the table. */
  readonly #shown: LaggingList<object>;
  #stamp = 0;
  entries: readonly RouteEntry[] = [];

  constructor(tickets: Tickets, machines: Machines, shown: LaggingList<object>) {
    this.#tickets = tickets;
    this.#machines = machines;
    this.#shown = shown;
    this.set([], Number.NEGATIVE_INFINITY);
  }

  read(): Answer {
    return { status: 200, body: this.#shown.read()[0] };
  }

  change(body: unknown): Answer {
    const { stamp, drop, add } = readBody<Changes>(body, checks);
    if (stamp !== `t${this.#stamp}`) throw new Refusal(409, "stale_stamp", "the route table has changed");
    const kept = this.entries.filter(({ to }) => !drop.includes(to));
    const after = [...kept, ...add.map(entryOf)];
    if (kept.length + new Set(drop).size > this.entries.length)
      throw new Refusal(422, "no_such_entry", "an entry to drop does not exist");
    if (new Set(after.map(({ to }) => to)).size < after.length)
      throw new Refusal(422, "repeated_entry", "two entries lead to one range");
    const lost = add.find(({ hop }) => !this.#machines.hasAddress(hop));
    if (lost !== undefined) throw new Refusal(422, "bad_hop", `no machine of this zone has ${lost.hop}`);
    if (after.length > capacity) throw new Refusal(422, "table_full", `the table holds ${capacity} entries`);
    const end = (at: number, hasFailed: boolean) => {
      if (!hasFailed) this.set(after, at);
      return {};
    };
    return this.#tickets.start({ about: "the route table", milliseconds: 1000, end });
  }

  /** Replaces the table, as another client does. */
  set(entries: readonly RouteEntry[], at?: number): void {
    this.entries = entries;
    this.#stamp += 1;
    this.#shown.record([{ stamp: `t${this.#stamp}`, capacity, entries }], at);
  }
}
