// The load balancers of the simulated cloud. Creating and changing one takes time, during which it rejects other changes. The
// state is derived from the clock, without timers.

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
  /** Null unless IPv6 is one of its families. */
  readonly ipv6: string | null;
  readonly families: readonly string[];
  /** CIDRs of the clients that may connect. */
  readonly sources: readonly string[];
  readonly algorithm: string;
  readonly listeners: readonly SimulatedListener[];
  /** Ids of machines that are targets. */
  readonly targets: readonly string[];
  /** Ids of machines that get no new connections. */
  readonly draining: readonly string[];
}

type BalancerSpec = Partial<Omit<SimulatedBalancer, "id" | "status" | "ipv6">>;

interface StoredBalancer extends Omit<SimulatedBalancer, "status"> {
  readonly busyUntil: number;
}

export class Balancers {
  readonly #clock: Clock;
  readonly #byID = new Map<string, StoredBalancer>();
  readonly #failed = new Set<string>();
  #next = 1;
  actionTime: Milliseconds;
  /** If false, two balancers may have one name, as in many clouds. */
  hasUniqueNames = true;

  constructor(clock: Clock, actionTime: Milliseconds) {
    this.#clock = clock;
    this.actionTime = actionTime;
  }

  list(): readonly SimulatedBalancer[] {
    return [...this.#byID.keys()].map((id) => this.get(id));
  }

  get(id: string): SimulatedBalancer {
    const { busyUntil, ...balancer } = this.#existing(id);
    const ipv6 = balancer.families.includes("IPv6") ? balancer.ipv6 : null;
    const isBusy = this.#clock.monotonic() < busyUntil;
    return { ...balancer, ipv6, status: this.#failed.has(id) ? "failed" : isBusy ? "changing" : "active" };
  }

  create(spec: BalancerSpec): SimulatedBalancer {
    const { name = "" } = spec;
    if (name === "") throw new Refusal(422, "invalid_input", "name is missing");
    if (this.hasUniqueNames && [...this.#byID.values()].some((balancer) => balancer.name === name)) {
      throw new Refusal(409, "uniqueness_error", `a balancer named ${name} already exists`);
    }
    const number = this.#next++;
    const id = `b${number}`;
    const ip = spec.ip ?? `192.0.2.${number % 256}`;
    if (spec.ip !== undefined && [...this.#byID.values()].some((balancer) => balancer.ip === ip))
      throw new Refusal(409, "address_taken", `another balancer already has ${ip}`);
    this.#byID.set(id, {
      labels: {},
      families: ["IPv4"],
      sources: ["0.0.0.0/0"],
      algorithm: "round-robin",
      listeners: [],
      targets: [],
      draining: [],
      ...spec,
      id,
      name,
      ip,
      ipv6: `2001:db8::${number.toString(16)}`,
      busyUntil: this.#busyUntil(),
    });
    return this.get(id);
  }

  change(id: string, spec: BalancerSpec): SimulatedBalancer {
    const before = this.#idle(id);
    const ports = spec.listeners?.map(({ protocol, port }) => `${protocol} ${port}`) ?? [];
    if (new Set(ports).size < ports.length)
      throw new Refusal(422, "invalid_input", "two listeners on one port");
    this.#byID.set(id, { ...before, ...spec, id, busyUntil: this.#busyUntil() });
    return this.get(id);
  }

  /** Makes a balancer fail: it serves no traffic and can only be deleted. */
  fail(id: string): void {
    this.#existing(id);
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

  #existing(id: string): StoredBalancer {
    const balancer = this.#byID.get(id);
    if (balancer === undefined) throw new Refusal(404, "not_found", `balancer ${id} not found`);
    return balancer;
  }

  #idle(id: string): StoredBalancer {
    const balancer = this.#existing(id);
    const { status } = this.get(id);
    if (status === "changing") throw new Refusal(423, "locked", `balancer ${id} is being changed`);
    if (status === "failed") throw new Refusal(409, "failed", `balancer ${id} has failed`);
    return balancer;
  }
}
