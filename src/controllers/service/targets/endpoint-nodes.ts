// Which Nodes have a ready endpoint of a Service, from a watch of EndpointSlices that runs only while somebody asks. A Node
// that loses its last one counts for a while longer: health checks are quicker, and a flap moves no target.

import { type Milliseconds, milliseconds, type NodeName, nodeName, seconds } from "../../../core/brand.ts";
import { isKubeError } from "../../../kube/errors/kube-error.ts";
import type { EndpointSlice } from "../../../kube/objects.ts";
import type { Index } from "../../../kube/watch/store.ts";
import type { Clock } from "../../../platform/clock.ts";
import { abortable, linkedController } from "../../../runtime/abortable.ts";
import { createDebounce } from "../../../runtime/debounce.ts";
import type { OpenSlices } from "../deps.ts";

export type EndpointAnswer =
  | { readonly kind: "known"; readonly nodes: ReadonlySet<NodeName> }
  /** The listeners are called when it is known. */
  | { readonly kind: "not yet" }
  /** We may not read them. */
  | { readonly kind: "refused"; readonly why: string };

const serviceLabel = "kubernetes.io/service-name";
const holdsFor: Milliseconds = seconds(30);

function serviceOf({ metadata }: EndpointSlice): string {
  return `${metadata.namespace ?? ""}/${metadata.labels?.[serviceLabel] ?? ""}`;
}

function readyNodes(slices: readonly EndpointSlice[]): readonly NodeName[] {
  return slices.flatMap(({ endpoints = [] }) =>
    endpoints.flatMap((each) =>
      each.nodeName === undefined || each.conditions?.ready === false ? [] : nodeName(each.nodeName),
    ),
  );
}

interface Known {
  readonly nodes: ReadonlySet<NodeName>;
  /** Nodes that have none any more, and until when they count. */
  readonly leaving: ReadonlyMap<NodeName, number>;
}

function afterwards(before: Known | undefined, ready: readonly NodeName[], now: number): Known {
  const nodes = new Set(ready);
  const leaving = new Map<NodeName, number>();
  for (const node of before?.nodes ?? []) {
    const until = before?.leaving.get(node) ?? now + holdsFor;
    if (!nodes.has(node) && until > now) leaving.set(node, until);
  }
  return { nodes: nodes.union(leaving), leaving };
}

function isSameSet<T>(a: ReadonlySet<T>, b: ReadonlySet<T>): boolean {
  return a.size === b.size && [...a].every((one) => b.has(one));
}

export function createEndpointNodes(
  openSlices: OpenSlices,
  clock: Clock,
  /** What is known of these Services has changed. */
  onNews: (services: ReadonlySet<string>) => void,
) {
  const asked = new Set<string>();
  const known = new Map<string, Known>();
  let index: Index<EndpointSlice> | undefined;
  let isKnown = false;
  let refusal: string | undefined;
  let onAsked: (() => void) | undefined;
  let cancelHold: (() => void) | undefined;
  let holdDue = Number.POSITIVE_INFINITY;

  let news = new Set<string>();
  const burst = createDebounce(clock, () => {
    const reported = news;
    news = new Set();
    onNews(reported);
  });
  const report = (keys: Iterable<string>): void => {
    for (const key of keys) news.add(key);
    burst.hit();
  };

  const check = (key: string): Known => {
    const before = known.get(key);
    const fresh = afterwards(before, readyNodes(index?.get(key) ?? []), clock.monotonic());
    known.set(key, fresh);
    planHold(fresh.leaving);
    if (before !== undefined && !isSameSet(before.nodes, fresh.nodes)) report([key]);
    return fresh;
  };

  /** Looks again when the first of those who count for a while longer counts no more. */
  const planHold = (leaving: Known["leaving"]): void => {
    const due = Math.min(...leaving.values());
    if (due >= holdDue) return;
    cancelHold?.();
    holdDue = due;
    cancelHold = clock.after(milliseconds(Math.max(0, due - clock.monotonic())), () => {
      holdDue = Number.POSITIVE_INFINITY;
      for (const [key, one] of [...known]) if (one.leaving.size > 0) check(key);
    });
  };

  /** Until the signal is aborted or nobody asks any more. */
  const watchWhileAsked = async (signal: AbortSignal): Promise<void> => {
    const { controller: stop, unlink } = linkedController(signal);
    const slices = openSlices((problem) => {
      if (isKnown || !isKubeError(problem, "forbidden", "not-found")) return;
      refusal = problem.message;
      report(asked);
    });
    const begin = (): void => {
      isKnown = true;
      refusal = undefined;
      report(asked);
    };
    index = slices.store.index((slice) => [serviceOf(slice)]);
    const unsubscribe = slices.store.subscribe(({ before, after }) => {
      if (!isKnown) return;
      const keys = new Set([before, after].flatMap((slice) => (slice === undefined ? [] : serviceOf(slice))));
      for (const key of keys) if (asked.has(key)) check(key);
    });
    onAsked = () => {
      if (asked.size === 0) stop.abort();
    };
    slices.store.whenSynced(stop.signal).then(begin, () => undefined);
    try {
      await slices.run(stop.signal);
    } finally {
      unlink();
      unsubscribe();
      isKnown = false;
      refusal = undefined;
      index = undefined;
      known.clear();
    }
  };

  return {
    of: (key: string): EndpointAnswer => {
      if (!asked.has(key)) {
        asked.add(key);
        onAsked?.();
      }
      if (isKnown) return { kind: "known", nodes: (known.get(key) ?? check(key)).nodes };
      return refusal === undefined ? { kind: "not yet" } : { kind: "refused", why: refusal };
    },
    release: (key: string): void => {
      if (!asked.delete(key)) return;
      known.delete(key);
      onAsked?.();
    },
    run: async (signal: AbortSignal): Promise<void> => {
      try {
        while (!signal.aborted) {
          if (asked.size > 0) await watchWhileAsked(signal);
          else {
            const { promise, resolve } = Promise.withResolvers<void>();
            onAsked = resolve;
            await abortable(promise, signal).catch(() => undefined);
          }
        }
      } finally {
        onAsked = undefined;
        burst.stop();
        cancelHold?.();
        holdDue = Number.POSITIVE_INFINITY;
      }
    },
  };
}

export type EndpointNodes = ReturnType<typeof createEndpointNodes>;
