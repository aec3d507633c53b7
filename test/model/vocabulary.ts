// The vocabulary of `absence.qnt`: its instances, steps, and what a manager remembers.

/** The instances of the model. */
export const models = ["nodes", "nodesWithLookups", "balancers", "balancersWithLookups"] as const;
export type Model = (typeof models)[number];

export interface Step {
  readonly name: string;
  readonly ids: readonly number[];
  readonly arg: string;
  /** The outcome of a reconcile; empty for other steps. */
  readonly outcome: string;
}

/** The manager's memory after a step. Times are model steps. */
export interface Memory {
  /** The number of objects when the present hold began; 0 without a hold. */
  readonly total: number;
  readonly endedAt: number;
  readonly held: readonly number[];
  readonly account: string;
}

/** A row of a recorded sequence: name, ids, arg, outcome, and the memory after it. */
export type Row = readonly [
  string,
  readonly number[],
  string,
  string,
  number,
  number,
  readonly number[],
  string,
];

export const stepOf = ([name, ids, arg, outcome]: Row): Step => ({ name, ids, arg, outcome });
export const memoryOf = ([, , , , total, endedAt, held, account]: Row): Memory => ({
  total,
  endedAt,
  held,
  account,
});

/** The manager of a replay, whose cloud has a true state, and answers that may hide some of it. */
export interface Manager {
  readonly memory: Memory;
  list(shown: ReadonlySet<number>): void;
  reconcile(id: number, isFound: boolean): Promise<string>;
  ask(id: number, isFound: boolean): void;
  leave(id: number): void;
  report(id: number): void;
  vouch(other: string): void;
  release(): void;
  restart(reconnects: boolean): void;
  handOver(): void;
}

/** In milliseconds. */
export const stepTime = 10_000;
export const never = -1000;
export const ids: readonly number[] = [1, 2, 3, 4, 5];
