// Finds the Nodes with a ready endpoint of a Service, from a watch of EndpointSlices that runs only while a Service needs it. A
// Node that loses its last endpoint counts for a while longer: health checks react faster, and a flap must not change targets.

import { type Milliseconds, milliseconds, type NodeName, nodeName, seconds } from "../../../core/brand.ts";
import { isKubeError } from "../../../kube/errors/kube-error.ts";
import type { EndpointSlice } from "../../../kube/objects.ts";
import type { Index } from "../../../kube/watch/store.ts";
import type { Clock } from "../../../platform/clock.ts";
import { abortable, linkedController } from "../../../runtime/abortable.ts";
import { Debounce } from "../../../runtime/debounce.ts";
import type { OpenSlices, ServiceHistoryDeps } from "../deps.ts";
import type { EndpointSubscription, ServiceState } from "../state/service-record.ts";

export interface EndpointPlaces {
  readonly nodes: ReadonlySet<NodeName>;
  /** There are ready endpoints, but none of them names a Node, as for a Gateway of Cilium. */
  readonly haveNoNode: boolean;
}

export type EndpointAnswer =
  | ({ readonly kind: "known" } & EndpointPlaces)
  /** The Service is enqueued when its endpoints are known. */
  | { readonly kind: "not yet" }
  | { readonly kind: "forbidden"; readonly why: string };

const serviceLabel = "kubernetes.io/service-name";
const holdsFor: Milliseconds = seconds(30);

function serviceOf({ metadata }: EndpointSlice): string {
  return `${metadata.namespace ?? ""}/${metadata.labels?.[serviceLabel] ?? ""}`;
}

function readyPlaces(slices: readonly EndpointSlice[]): EndpointPlaces {
  const ready = slices.flatMap(({ endpoints = [] }) =>
    endpoints.filter(({ conditions }) => conditions?.ready !== false),
  );
  const nodes = new Set(ready.flatMap(({ nodeName: name }) => (name === undefined ? [] : nodeName(name))));
  return { nodes, haveNoNode: ready.length > 0 && nodes.size === 0 };
}

type EndpointListener = (services: ReadonlySet<string>) => void;

interface Subscription extends EndpointSubscription {
  /** Undefined until the endpoints were read. */
  known: Known | undefined;
}

interface Known extends EndpointPlaces {
  /** Nodes that have lost their last endpoint, and until when they count. */
  readonly leaving: ReadonlyMap<NodeName, number>;
}

function knownAfter(before: Known | undefined, ready: EndpointPlaces, now: number): Known {
  const { nodes, haveNoNode } = ready;
  const leaving = new Map<NodeName, number>();
  for (const node of before?.nodes ?? []) {
    const until = before?.leaving.get(node) ?? now + holdsFor;
    if (!nodes.has(node) && until > now) leaving.set(node, until);
  }
  return { nodes: nodes.union(leaving), haveNoNode, leaving };
}

function isSamePlaces(a: EndpointPlaces, b: EndpointPlaces): boolean {
  return a.haveNoNode === b.haveNoNode && a.nodes.symmetricDifference(b.nodes).size === 0;
}

export class EndpointNodes {
  readonly #openSlices: OpenSlices;
  readonly #clock: Clock;
  readonly #changes: Debounce;
  /** Open subscriptions by the key of the Service. */
  readonly #subscriptions = new Map<string, Subscription>();
  #changed = new Set<string>();
  /** Services whose slices have changed since the last read. */
  #stale = new Set<string>();
  readonly #listeners = new Set<EndpointListener>();
  #index: Index<EndpointSlice> | undefined;
  #isKnown = false;
  #forbidden: string | undefined;
  #onSubscriptions: (() => void) | undefined;
  #cancelHold: (() => void) | undefined;
  #holdDue = Number.POSITIVE_INFINITY;

  constructor({ openSlices, clock }: Pick<ServiceHistoryDeps, "openSlices" | "clock">) {
    this.#openSlices = openSlices;
    this.#clock = clock;
    this.#changes = new Debounce(clock, () => {
      const stale = this.#stale;
      this.#stale = new Set();
      // The slices of a Service are read once for several changes, because there may be hundreds.
      for (const key of stale) if (this.#isKnown && this.#subscriptions.has(key)) this.#read(key);
      const changed = this.#changed;
      this.#changed = new Set();
      if (changed.size > 0) for (const listener of this.#listeners) listener(changed);
    });
  }

  /** Subscribes the Service until its state closes the subscription. */
  nodesOf(state: ServiceState): EndpointAnswer {
    const { key } = state;
    if (state.endpoints === undefined) state.openEndpoints(this.#subscribe(key));
    if (this.#isKnown) {
      return { kind: "known", ...(this.#subscriptions.get(key)?.known ?? this.#read(key)) };
    }
    return this.#forbidden === undefined ? { kind: "not yet" } : { kind: "forbidden", why: this.#forbidden };
  }

  /** Calls the listener with the Services whose endpoints have changed. Returns a function that unsubscribes. */
  subscribe(listener: EndpointListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Watches while any Service needs it, until the signal is aborted: while this replica leads, in any number of sessions. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        if (this.#subscriptions.size > 0) await this.#watchWhileSubscribed(signal);
        else {
          const { promise, resolve } = Promise.withResolvers<void>();
          this.#onSubscriptions = resolve;
          await abortable(promise, signal).catch(() => undefined);
        }
      }
    } finally {
      this.#onSubscriptions = undefined;
      this.#changes.stop();
      this.#cancelHold?.();
      this.#holdDue = Number.POSITIVE_INFINITY;
    }
  }

  #subscribe(key: string): Subscription {
    const subscription: Subscription = {
      known: undefined,
      close: () => {
        // Another Service may have taken over this name.
        if (this.#subscriptions.get(key) !== subscription) return;
        this.#subscriptions.delete(key);
        this.#onSubscriptions?.();
      },
    };
    this.#subscriptions.set(key, subscription);
    this.#onSubscriptions?.();
    return subscription;
  }

  /** Reports these Services, and Services whose Nodes have changed. */
  #report(keys: Iterable<string>): void {
    for (const key of keys) this.#changed.add(key);
    this.#changes.trigger();
  }

  #read(key: string): Known {
    const subscription = this.#subscriptions.get(key);
    const before = subscription?.known;
    const known = knownAfter(before, readyPlaces(this.#index?.get(key) ?? []), this.#clock.monotonic());
    if (subscription !== undefined) subscription.known = known;
    this.#scheduleRead(known.leaving);
    if (before !== undefined && !isSamePlaces(before, known)) this.#changed.add(key);
    return known;
  }

  /** Reads again when the oldest departure expires. */
  #scheduleRead(leaving: Known["leaving"]): void {
    const due = Math.min(...leaving.values());
    if (due >= this.#holdDue) return;
    this.#cancelHold?.();
    this.#holdDue = due;
    const delay = milliseconds(Math.max(0, due - this.#clock.monotonic()));
    this.#cancelHold = this.#clock.after(delay, () => {
      this.#holdDue = Number.POSITIVE_INFINITY;
      for (const [key, { known }] of [...this.#subscriptions]) {
        if (known !== undefined && known.leaving.size > 0) this.#read(key);
      }
      this.#report([]);
    });
  }

  /** Watches until the signal is aborted or the last subscription is closed. */
  async #watchWhileSubscribed(signal: AbortSignal): Promise<void> {
    const { controller: stop, unlink } = linkedController(signal);
    const slices = this.#openSlices((problem) => {
      if (this.#isKnown || !isKubeError(problem, "forbidden", "not-found")) return;
      this.#forbidden = problem.message;
      this.#report(this.#subscriptions.keys());
    });
    const begin = (): void => {
      this.#isKnown = true;
      this.#forbidden = undefined;
      this.#report(this.#subscriptions.keys());
    };
    this.#index = slices.store.index((slice) => [serviceOf(slice)]);
    const unsubscribe = slices.store.subscribe(({ before, after }) => {
      if (!this.#isKnown) return;
      const keys = new Set([before, after].flatMap((slice) => (slice === undefined ? [] : serviceOf(slice))));
      for (const key of keys) if (this.#subscriptions.has(key)) this.#stale.add(key);
      if (this.#stale.size > 0) this.#changes.trigger();
    });
    this.#onSubscriptions = () => {
      if (this.#subscriptions.size === 0) stop.abort();
    };
    slices.store.whenSynced(stop.signal).then(begin, () => undefined);
    try {
      await slices.run(stop.signal);
    } finally {
      unlink();
      unsubscribe();
      this.#isKnown = false;
      this.#forbidden = undefined;
      this.#index = undefined;
      for (const subscription of this.#subscriptions.values()) subscription.known = undefined;
    }
  }
}
