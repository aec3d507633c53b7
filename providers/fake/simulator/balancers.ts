// The balancers of the simulated cloud. Making and changing one takes time, and while that lasts it takes no further
// orders; nobody waits, the state is worked out from the clock when somebody looks.

import type { Milliseconds } from "#ccm";
import type { Clock } from "#ccm/testing";
import { Refusal } from "./answer.ts";

export interface SimulatedListener {
  readonly protocol: string;
  readonly port: number;
  readonly target_port: number;
}

export interface SimulatedBalancer {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: "active" | "changing" | "failed";
  readonly ip: string;
  /** Only where IPv6 is among its families. */
  readonly ipv6: string | null;
  readonly families: readonly string[];
  /** Ranges from which it may be reached. */
  readonly sources: readonly string[];
  readonly algorithm: string;
  readonly listeners: readonly SimulatedListener[];
  /** Ids of machines. */
  readonly targets: readonly string[];
  /** Beside them: these take no new connections. */
  readonly draining: readonly string[];
}

type Wanted = Partial<Omit<SimulatedBalancer, "id" | "status" | "ipv6">>;

interface Kept extends Omit<SimulatedBalancer, "status"> {
  readonly busyUntil: number;
}

export class Balancers {
  readonly #clock: Clock;
  readonly #byID = new Map<string, Kept>();
  readonly #failed = new Set<string>();
  #next = 1;
  actionTime: Milliseconds;

  constructor(clock: Clock, actionTime: Milliseconds) {
    this.#clock = clock;
    this.actionTime = actionTime;
  }

  list(): readonly SimulatedBalancer[] {
    return [...this.#byID.keys()].map((id) => this.get(id));
  }

  get(id: string): SimulatedBalancer {
    const { busyUntil, ...balancer } = this.#known(id);
    const ipv6 = balancer.families.includes("IPv6") ? balancer.ipv6 : null;
    const isBusy = this.#clock.monotonic() < busyUntil;
    return { ...balancer, ipv6, status: this.#failed.has(id) ? "failed" : isBusy ? "changing" : "active" };
  }

  create(wanted: Wanted): SimulatedBalancer {
    const { name = "" } = wanted;
    if (name === "") throw new Refusal(422, "invalid_input", "name is missing");
    if ([...this.#byID.values()].some((balancer) => balancer.name === name)) {
      throw new Refusal(409, "uniqueness_error", `a balancer named ${name} exists`);
    }
    const number = this.#next++;
    const id = `b${number}`;
    const ip = wanted.ip ?? `192.0.2.${number % 256}`;
    if (wanted.ip !== undefined && [...this.#byID.values()].some((balancer) => balancer.ip === ip))
      throw new Refusal(409, "address_taken", `another balancer has ${ip}`);
    this.#byID.set(id, {
      labels: {},
      families: ["IPv4"],
      sources: ["0.0.0.0/0"],
      algorithm: "round-robin",
      listeners: [],
      targets: [],
      draining: [],
      ...wanted,
      id,
      name,
      ip,
      ipv6: `2001:db8::${number.toString(16)}`,
      busyUntil: this.#busyUntil(),
    });
    return this.get(id);
  }

  change(id: string, wanted: Wanted): SimulatedBalancer {
    const before = this.#idle(id);
    const ports = wanted.listeners?.map(({ protocol, port }) => `${protocol} ${port}`) ?? [];
    if (new Set(ports).size < ports.length)
      throw new Refusal(422, "invalid_input", "two listeners on one port");
    this.#byID.set(id, { ...before, ...wanted, id, busyUntil: this.#busyUntil() });
    return this.get(id);
  }

  /** Something in the cloud broke: it serves nobody and takes no order but to be removed. */
  fail(id: string): void {
    this.#known(id);
    this.#failed.add(id);
  }

  remove(id: string): void {
    if (!this.#failed.delete(id)) this.#idle(id);
    this.#byID.delete(id);
  }

  clear(): void {
    this.#byID.clear();
  }

  #busyUntil(): number {
    return this.#clock.monotonic() + this.actionTime;
  }

  #known(id: string): Kept {
    const balancer = this.#byID.get(id);
    if (balancer === undefined) throw new Refusal(404, "not_found", `there is no balancer ${id}`);
    return balancer;
  }

  #idle(id: string): Kept {
    const balancer = this.#known(id);
    const { status } = this.get(id);
    if (status === "changing") throw new Refusal(423, "locked", `balancer ${id} is being changed`);
    if (status === "failed") throw new Refusal(409, "failed", `balancer ${id} has failed`);
    return balancer;
  }
}
