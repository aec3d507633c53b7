// The event socket of the simulated Rancher: a ping every five seconds, and each host and service that has changed.

import { milliseconds, seconds } from "#ccm";
import { type Clock, headerIn, type OpenSocket, SocketError } from "#ccm/testing";
import type { View } from "./api/views.ts";
import type { Environment } from "./state/environment.ts";

const pingInterval = seconds(5);
/** The interval at which the server looks for changes. */
const tick = milliseconds(100);
const types = ["host", "loadBalancerService", "externalService"] as const;

/** The cloud whose changes are published. */
interface Publisher {
  readonly events: { readonly isSilent: boolean };
  readonly environment: Environment;
  settle(): void;
  objects(type: (typeof types)[number]): readonly View[];
  accepts(authorization: string | undefined): boolean;
}

/** A subscription with the texts that were not delivered yet. */
class Subscription {
  readonly #cloud: Publisher;
  readonly #known = new Map<string, string>();
  #seen: readonly unknown[] = [];
  readonly #texts: string[] = [""];
  #ticks = 0;
  #end: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(cloud: Publisher) {
    this.#cloud = cloud;
    for (const resource of this.#resources()) this.#isNews(resource);
    this.send({ name: "ping" });
  }

  send(message: object): void {
    this.sendText(JSON.stringify(message));
  }

  sendText(text: string): void {
    if (this.#cloud.events.isSilent) return;
    this.#texts.push(text);
    this.#wake();
  }

  end(error?: unknown): void {
    this.#end ??= { error };
    this.#wake();
  }

  tick(): void {
    this.#ticks += 1;
    for (const resource of this.#mayHaveChanged() ? this.#resources() : []) {
      if (!this.#isNews(resource)) continue;
      const { id, type } = resource;
      this.send({ name: "resource.change", resourceType: type, resourceId: id, data: { resource } });
    }
    if ((this.#ticks * tick) % pingInterval === 0) this.send({ name: "ping" });
  }

  async *texts(): AsyncIterable<string> {
    for (;;) {
      const text = this.#texts.shift();
      if (text !== undefined) yield text;
      else if (this.#end?.error !== undefined) throw this.#end.error;
      else if (this.#end !== undefined) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  /** Objects that change are replaced, and endpoints may arrive later. */
  #mayHaveChanged(): boolean {
    this.#cloud.settle();
    const { hosts, services } = this.#cloud.environment;
    const now: readonly unknown[] = [...hosts.list(), ...services.list()];
    const before = this.#seen;
    this.#seen = now;
    if (services.endpointInterval > 0 || now.length !== before.length) return true;
    return now.some((one, index) => one !== before[index]);
  }

  #resources(): readonly View[] {
    return types.flatMap((type) => this.#cloud.objects(type));
  }

  #isNews(resource: View): boolean {
    const text = JSON.stringify(resource);
    if (this.#known.get(resource.id) === text) return false;
    this.#known.set(resource.id, text);
    return true;
  }
}

/** The open sockets, and the means for a test to change them. */
export class Events {
  readonly #cloud: Publisher;
  readonly #open = new Set<Subscription>();
  /** The number of times that a socket was opened. */
  opened = 0;
  /** Sockets stay open, but nothing arrives, because the peer is gone. */
  isSilent = false;
  /** The status with which each attempt is rejected, as by a proxy without WebSockets. */
  refusesWith: number | undefined;

  constructor(cloud: Publisher) {
    this.#cloud = cloud;
  }

  /** How many sockets are open. */
  get open(): number {
    return this.#open.size;
  }

  /** Breaks all connections. */
  break(): void {
    for (const subscription of this.#open) subscription.end(new SocketError("The connection broke."));
  }

  /** Sends an event to all clients, whether it is true or not. */
  publish(resourceType: string, resource: object): void {
    for (const one of this.#open) one.send({ name: "resource.change", resourceType, data: { resource } });
  }

  /** Sends a text that may not be a message. */
  publishText(text: string): void {
    for (const one of this.#open) one.sendText(text);
  }

  async *subscribe(
    authorization: string | undefined,
    clock: Clock,
    signal: AbortSignal,
  ): AsyncIterable<string> {
    signal.throwIfAborted();
    const status = this.refusesWith ?? (this.#cloud.accepts(authorization) ? undefined : 401);
    if (status !== undefined) throw new SocketError(`The server refused the WebSocket (${status}).`, status);
    this.opened += 1;
    const subscription = new Subscription(this.#cloud);
    let cancel = (): void => undefined;
    const next = (): void => {
      cancel = clock.after(tick, () => {
        subscription.tick();
        next();
      });
    };
    const onAbort = (): void => subscription.end(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#open.add(subscription);
    next();
    try {
      yield* subscription.texts();
    } finally {
      cancel();
      signal.removeEventListener("abort", onAbort);
      this.#open.delete(subscription);
    }
  }
}

export const isEventSocket = (url: string): boolean => new URL(url).pathname.endsWith("/subscribe");

/** The sockets of the simulated Rancher without a network, in the time of its clock. */
export function asSocket(cloud: { readonly events: Events; readonly clock: Clock }): OpenSocket {
  return async function* open({ url, headers }, signal) {
    if (!isEventSocket(url)) throw new SocketError("The server refused the WebSocket (404).", 404);
    yield* cloud.events.subscribe(headerIn(headers, "authorization"), cloud.clock, signal);
  };
}
