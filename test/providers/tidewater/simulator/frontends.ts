// The load balancers of one zone: a frontend has an address and pools, a pool has members. Creating and changing any of them takes
// time, during which the frontend rejects other changes.

import { type Answer, isTextList, Refusal, readBody } from "./answer.ts";
import {
  type FrontendSpec,
  forFrontend,
  forPool,
  isAllow,
  isTags,
  limits,
  type PoolSpec,
  type SimulatedFrontend,
  type SimulatedPool,
} from "./frontend-spec.ts";
import type { LaggingList } from "./lagging-list.ts";
import type { Outcome, Rejection, Tickets } from "./tickets.ts";

/** The frontend afterwards, if it still exists. */
type Change = (before: SimulatedFrontend) => readonly [after?: SimulatedFrontend, outcome?: Outcome];

export class Frontends {
  readonly #tickets: Tickets;
  /** Without pools. */
  readonly listing: LaggingList<object>;
  /** Why an address cannot be a member. */
  readonly #reject: (address: string) => Rejection | undefined;
  readonly #byID = new Map<string, SimulatedFrontend>();
  #next = 1;

  constructor(
    tickets: Tickets,
    listing: LaggingList<object>,
    reject: (address: string) => Rejection | undefined,
  ) {
    this.#tickets = tickets;
    this.listing = listing;
    this.#reject = reject;
  }

  all(): readonly SimulatedFrontend[] {
    return [...this.#byID.values()];
  }

  find(label: string): readonly object[] {
    return this.all().flatMap((frontend) => (frontend.label === label ? this.#show(frontend) : []));
  }

  get(id: string): Answer {
    return { status: 200, body: this.#show(this.#existing(id)) };
  }

  /** Adds one as another client, and returns its id. */
  add(spec: FrontendSpec, address: string | null = "198.19.0.1"): string {
    const id = `f-${this.#next++}`;
    this.#byID.set(id, { ...spec, id, address, pools: [], broken: false, stamp: 1 });
    this.#record();
    return id;
  }

  create(body: unknown): Answer {
    const spec = readBody<FrontendSpec>(body, forFrontend);
    if (this.find(spec.label).length > 0)
      throw new Refusal(409, "label_taken", `a frontend has the label ${spec.label}`);
    const id = this.add(spec, null);
    const address = `198.18.0.${this.#next}`;
    return this.#start(id, 4000, (before) => [{ ...before, address }, { made: id }]);
  }

  change(id: string, stamp: string | null, body: unknown): Answer {
    this.#current(id, stamp);
    const changes = readBody<Partial<FrontendSpec>>(body, {}, { tags: isTags, allow: isAllow });
    return this.#start(id, 1500, (before) => [{ ...before, ...changes }]);
  }

  remove(id: string, stamp: string | null): Answer {
    if (this.#current(id, stamp, "also broken").pools.length > 0)
      throw new Refusal(409, "in_use", `${id} has pools`);
    return this.#start(id, 3000, () => []);
  }

  addPool(id: string, stamp: string | null, body: unknown): Answer {
    const { pools, class: kind } = this.#current(id, stamp);
    const spec = readBody<PoolSpec>(body, forPool);
    if (pools.some(({ protocol, port }) => protocol === spec.protocol && port === spec.port))
      throw new Refusal(409, "port_taken", `a pool of ${id} has ${spec.protocol} ${spec.port}`);
    if (pools.length >= limits[kind].pools)
      throw new Refusal(422, "too_many_pools", `${id} is ${kind}: at most ${limits[kind].pools} pools`);
    const pool = { ...spec, id: `p-${this.#next++}`, members: [] };
    return this.#start(id, 2000, (before) => [
      { ...before, pools: [...before.pools, pool] },
      { made: pool.id },
    ]);
  }

  removePool(id: string, pool: string, stamp: string | null): Answer {
    if (this.#pool(id, pool, stamp).members.length > 0)
      throw new Refusal(409, "in_use", `${pool} has members`);
    const kept = ({ pools }: SimulatedFrontend) => pools.filter((one) => one.id !== pool);
    return this.#start(id, 1500, (before) => [{ ...before, pools: kept(before) }]);
  }

  setMembers(id: string, pool: string, stamp: string | null, body: unknown): Answer {
    this.#pool(id, pool, stamp);
    const { members } = readBody<Pick<SimulatedPool, "members">>(body, { members: isTextList });
    const limit = limits[this.#existing(id).class].members;
    if (new Set(members).size < members.length || members.length > limit)
      throw new Refusal(422, "bad_members", `expected at most ${limit} different addresses`);
    return this.#start(id, 1000, (before) => {
      const rejected = members.flatMap((address) => this.#reject(address) ?? []);
      const accepted = members.filter((address) => !rejected.some((one) => one.address === address));
      const pools = before.pools.map((one) => (one.id === pool ? { ...one, members: accepted } : one));
      return [{ ...before, pools }, { rejected }];
    });
  }

  #start(id: string, milliseconds: number, change: Change): Answer {
    const bump = (frontend: SimulatedFrontend) => {
      this.#byID.set(id, { ...frontend, stamp: frontend.stamp + 1 });
    };
    const end = (at: number, hasFailed: boolean): Outcome => {
      const before = this.#existing(id);
      const failed = { ...before, broken: before.address === null };
      const [after, outcome = {}] = hasFailed ? [failed] : change(before);
      if (after === undefined) this.#byID.delete(id);
      else bump(after);
      this.#record(at);
      return outcome;
    };
    const answer = this.#tickets.start({ about: id, milliseconds, end });
    bump(this.#existing(id));
    this.#record();
    return answer;
  }

  #record(at?: number): void {
    const summaries = this.all().map((frontend) => {
      const { pools: _, ...summary } = this.#show(frontend);
      return summary;
    });
    this.listing.record(summaries, at);
  }

  #show({ broken, stamp, ...frontend }: SimulatedFrontend) {
    const busy = frontend.address === null ? "building" : "changing";
    const isServing = frontend.pools.some(({ members }) => members.length > 0);
    const idle = broken ? "broken" : isServing ? "serving" : "bare";
    return { ...frontend, condition: this.#tickets.isBusy(frontend.id) ? busy : idle, stamp: `s${stamp}` };
  }

  #existing(id: string): SimulatedFrontend {
    const frontend = this.#byID.get(id);
    if (frontend === undefined) throw new Refusal(404, "no_such_frontend", `there is no frontend ${id}`);
    return frontend;
  }

  /** The frontend, if this is its stamp and it can be changed. */
  #current(id: string, stamp: string | null, which?: "also broken"): SimulatedFrontend {
    const frontend = this.#existing(id);
    if (this.#tickets.isBusy(id)) throw new Refusal(409, "busy", `${id} is being changed`);
    if (stamp !== `s${frontend.stamp}`) throw new Refusal(409, "stale_stamp", `the stamp is not ${stamp}`);
    if (frontend.broken && which === undefined) throw new Refusal(409, "broken", `${id} can only be removed`);
    return frontend;
  }

  #pool(id: string, pool: string, stamp: string | null): SimulatedPool {
    const found = this.#current(id, stamp).pools.find((one) => one.id === pool);
    if (found === undefined) throw new Refusal(404, "no_such_pool", `${id} has no pool ${pool}`);
    return found;
  }
}
