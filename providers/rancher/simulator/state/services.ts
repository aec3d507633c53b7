// Load balancers and external services, with the states that they pass through. Each state lasts for a time of the clock.

import { type Milliseconds, milliseconds } from "#ccm";
import type { Clock } from "#ccm/testing";
import { Refusal } from "../refusal.ts";
import type { Hosts } from "./hosts.ts";
import { type Endpoint, endpointsOf, type Service, type ServiceFields, type ServiceType } from "./service.ts";
import { following, followsOf, Obstacles, ruledIDs, staysInUpdate } from "./transitions.ts";

export class Services {
  readonly #clock: Clock;
  readonly #hosts: Hosts;
  readonly #byID = new Map<string, Service>();
  readonly obstacles = new Obstacles();
  #next = 1;
  /** How long each state lasts. */
  time: Milliseconds;
  /** The time until the first endpoint of an active load balancer, and between two endpoints. */
  endpointInterval: Milliseconds = milliseconds(0);
  /** If false, the links of a load balancer do not follow its rules. */
  derivesLinks = true;

  constructor(clock: Clock, hosts: Hosts, time: Milliseconds) {
    this.#clock = clock;
    this.#hosts = hosts;
    this.time = time;
  }

  list(): readonly Service[] {
    return [...this.#byID.values()];
  }

  get(id: string): Service | undefined {
    return this.#byID.get(id);
  }

  /** The service with this name; throws if there is none. */
  existing(name: string): Service {
    const service = this.list().find((one) => one.name === name && one.removed === null);
    if (service === undefined) throw new Error(`There is no service ${name}.`);
    return service;
  }

  create(type: ServiceType, fields: ServiceFields): Service {
    this.#checkName(fields);
    const service: Service = {
      ...fields,
      id: `1s${this.#next++}`,
      type,
      state: "requested",
      removed: null,
      serviceLinks: this.derivesLinks ? ruledIDs(fields) : [],
      transitioning: "no",
      transitioningMessage: null,
      boundPorts: fields.launchConfig?.ports ?? [],
      activeSince: null,
      next: null,
    };
    return this.#enter(service, "registering");
  }

  #checkName({ name, stackId }: ServiceFields, id?: string): void {
    const isTaken = this.list().some(
      (one) =>
        one.removed === null &&
        one.id !== id &&
        one.stackId === stackId &&
        one.name.toLowerCase() === name.toLowerCase(),
    );
    if (isTaken) throw new Refusal("NotUnique", "Service name is not unique in the stack", "name");
  }

  update(service: Service, fields: Partial<ServiceFields>): Service {
    const isActive = service.activeSince !== null || service.state === "activating";
    const changed = { ...service, ...fields };
    this.#checkName(changed, service.id);
    const bound = { ...changed, ...followsOf(service, changed, this.derivesLinks) };
    if (staysInUpdate.has(service.state)) return this.#enter(bound, service.state);
    return this.#enter(bound, isActive ? "updating-active" : "updating-inactive");
  }

  /** Removes the rules for a removed service, as the server does: no load balancer forwards to it. */
  #removeRules(id: string): void {
    for (const one of this.list()) {
      const { lbConfig } = one;
      if (lbConfig === null || !lbConfig.portRules.some(({ serviceId }) => serviceId === id)) continue;
      const portRules = lbConfig.portRules.filter(({ serviceId }) => serviceId !== id);
      const changed = { ...one, lbConfig: { ...lbConfig, portRules } };
      this.#byID.set(one.id, { ...changed, serviceLinks: ruledIDs(changed) });
    }
  }

  /** Replaces all links. The next change of rules replaces them again. */
  setLinks(service: Service, serviceLinks: readonly string[]): Service {
    const linked = { ...service, serviceLinks };
    this.#byID.set(linked.id, linked);
    return linked;
  }

  upgrade(service: Service, launchConfig: ServiceFields["launchConfig"]): Service {
    return this.#enter({ ...service, launchConfig, boundPorts: launchConfig?.ports ?? [] }, "upgrading");
  }

  finishUpgrade(service: Service): Service {
    return this.#enter(service, "finishing-upgrade");
  }

  activate(service: Service): Service {
    return this.#enter(service, "activating");
  }

  deactivate(service: Service): Service {
    return this.#enter({ ...service, activeSince: null }, "deactivating");
  }

  remove(service: Service): Service {
    return this.#enter(service, "removing");
  }

  /** Adds a service in the state in which another client left it. Only tests use this. */
  put(type: ServiceType, fields: ServiceFields): Service {
    const service = this.create(type, fields);
    const activeSince = Number.NEGATIVE_INFINITY;
    const settled: Service = { ...service, state: "active", transitioning: "no", activeSince, next: null };
    this.#byID.set(settled.id, settled);
    return settled;
  }

  /** Ends the states that are due. */
  settle(): void {
    for (const { id } of this.list()) {
      for (let service = this.#byID.get(id); service !== undefined && this.#isDue(service); ) {
        service = this.#leave(service);
      }
    }
  }

  /** One endpoint for each container and port that has started. */
  endpointsOf(service: Service): readonly Endpoint[] {
    const all = this.#allEndpointsOf(service);
    const { activeSince } = service;
    if (this.endpointInterval === 0 || activeSince === null) return all;
    return all.slice(0, Math.floor((this.#clock.monotonic() - activeSince) / this.endpointInterval));
  }

  /** Healthy when all containers have their endpoints. */
  healthOf(service: Service): string | null {
    if (service.activeSince === null) return null;
    const isComplete = this.endpointsOf(service).length === this.#allEndpointsOf(service).length;
    return isComplete ? "healthy" : "initializing";
  }

  #allEndpointsOf(service: Service): readonly Endpoint[] {
    return endpointsOf(service, this.#hosts.list());
  }

  #isDue({ next }: Service): boolean {
    return next !== null && next.at <= this.#clock.monotonic();
  }

  /** `since` is in the past if no request came in between. */
  #enter(service: Service, state: string, since = this.#clock.monotonic()): Service {
    const at = since + this.time;
    const next = { at, state: following[state] ?? state };
    const entered: Service = {
      ...service,
      state,
      transitioning: "yes",
      transitioningMessage: "In Progress",
      next,
    };
    this.#byID.set(entered.id, entered);
    return entered;
  }

  #leave(service: Service): Service | undefined {
    const at = service.next?.at ?? this.#clock.monotonic();
    const obstacle = this.obstacles.of(service);
    if (obstacle !== undefined) {
      const held: Service = {
        ...service,
        transitioning: obstacle.isError ? "error" : "yes",
        transitioningMessage: obstacle.message,
        next: { at: this.#clock.monotonic() + 1000, state: service.next?.state ?? service.state },
      };
      this.#byID.set(held.id, held);
      return held;
    }
    const state = service.next?.state ?? service.state;
    const becomesActive = state === "active" && service.activeSince === null;
    const left: Service = {
      ...service,
      state,
      transitioning: "no",
      transitioningMessage: null,
      next: null,
      removed: state === "removed" ? new Date(this.#clock.now()).toISOString() : null,
      activeSince: becomesActive ? at : service.activeSince,
    };
    this.#byID.set(left.id, left);
    if (state === "removed") this.#removeRules(left.id);
    return state === "inactive" && service.state === "registering" && service.startOnCreate
      ? this.#enter(left, "activating", at)
      : left;
  }
}
