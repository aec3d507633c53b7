// Gives up calls of a provider that ignore their cancellation: a promise that never settles must not hold up a reload, the end of
// leadership or a shutdown. The caller gets an error, and a late result is discarded. No error contains a secret.

import { minutes, seconds } from "../core/brand.ts";
import { formatDuration } from "../core/duration.ts";
import type { Redaction } from "../core/redaction.ts";
import type { Fields } from "../core/settings.ts";
import { shortList } from "../core/text.ts";
import type { Clock } from "../platform/clock.ts";
import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { DesiredLoadBalancer } from "../provider/load-balancers.ts";
import type { Step } from "../provider/plan.ts";
import type { DesiredRoute, RoutesAsDocument } from "../provider/routes.ts";
import type { DesiredSnapshot, DesiredVolume, ObservedVolume } from "../provider/volumes.ts";
import { type CloudParts, type PartName, wrapParts } from "./cloud-parts.ts";

/** A call that did not end in time. */
export interface AbandonedCall {
  /** The method of the provider contract, such as `loadBalancers.apply`. */
  readonly operation: string;
  /** What the call is about; empty for a call about everything. */
  readonly object: string;
  /** Why it should have ended. */
  readonly why: "cancelled" | "replaced";
}

export interface CallGuardOptions {
  readonly clock: Clock;
  /** Aborted when the connection is replaced. */
  readonly replaced: AbortSignal;
  readonly onAbandoned: (call: AbandonedCall) => void;
  /** Removes secrets from the errors. */
  readonly redaction: Redaction;
}

/** What is called, for messages. */
export interface GuardedCall {
  readonly operation: string;
  readonly object?: () => string;
}

/** How long a call may take to end. One that observes its cancellation ends immediately. */
export const timeToEnd = { cancelled: seconds(2), replaced: minutes(1) } as const;

export class CallGuard {
  readonly #options: CallGuardOptions;

  constructor(options: CallGuardOptions) {
    this.#options = options;
  }

  /** Settles like the call, or rejects when it has not ended in time. */
  call<T>({ operation, object }: GuardedCall, signal: AbortSignal, begin: () => Promise<T>): Promise<T> {
    const { clock, replaced, onAbandoned, redaction } = this.#options;
    return new Promise<T>((resolve, reject) => {
      const done = new AbortController();
      const limit = (why: AbandonedCall["why"]): void => {
        const giveUp = (): void => {
          done.abort();
          onAbandoned({ operation, object: object?.() ?? "", why });
          reject(notEnded(operation, why));
        };
        done.signal.addEventListener("abort", clock.after(timeToEnd[why], giveUp), { once: true });
      };
      for (const [why, from] of [["cancelled", signal] as const, ["replaced", replaced] as const]) {
        if (from.aborted) limit(why);
        else from.addEventListener("abort", () => limit(why), { once: true, signal: done.signal });
      }
      const begun = async (): Promise<T> => begin();
      begun()
        .finally(() => done.abort())
        .then(resolve, (error: unknown) => reject(redaction.clean(error)));
    });
  }

  async *pages<P>(operation: string, list: (call: Call) => AsyncIterable<P>, call: Call): AsyncIterable<P> {
    const pages = list(call)[Symbol.asyncIterator]();
    let isAtPage = false;
    try {
      for (;;) {
        const next = await this.call({ operation }, call.signal, () => pages.next());
        if (next.done === true) return;
        isAtPage = true;
        yield next.value;
        isAtPage = false;
      }
    } finally {
      // The reader stopped. Between pages, a listing that hangs would not end.
      if (isAtPage) await this.call({ operation }, call.signal, async () => pages.return?.());
    }
  }
}

function notEnded(operation: string, why: AbandonedCall["why"]): CloudError {
  const since = why === "cancelled" ? "its cancellation" : "its connection was replaced";
  return new CloudError(
    "unavailable",
    `${operation} of the provider did not end within ${formatDuration(timeToEnd[why])} after ${since}, so its result is discarded.`,
    { operation },
  );
}

type Describe = (first: never) => string;

const nothing = (): string => "";
const describeStep = ({ do: what, on }: Step): string => (on === undefined ? what : `${what} ${on}`);
const destinationOf = ({ destination }: Pick<DesiredRoute, "destination">): string => destination;
const titleOf = ({ id, name }: Pick<ObservedVolume, "id" | "name">): string => `${name} (${id})`;
const ownerOf = (desired: Pick<DesiredLoadBalancer<Fields>, "owner"> | undefined): string =>
  desired === undefined ? "" : `${desired.owner.namespace}/${desired.owner.name}`;

/** Everything that calls the cloud, and what the first argument says about each call. `pages`: it returns page after page. */
const calls: Readonly<Record<PartName, Readonly<Record<string, Describe | "pages">>>> = {
  cloud: { checkSettings: nothing },
  instances: { list: "pages" },
  lookups: { find: shortList },
  pending: { check: shortList },
  loadBalancers: { list: "pages", apply: describeStep, observe: ownerOf, prefetch: nothing },
  nodeFirewall: { observe: nothing, apply: describeStep },
  machineTags: { add: shortList, remove: shortList },
  routes: {
    list: "pages",
    create: destinationOf,
    remove: destinationOf,
    read: nothing,
    change: ({ create, remove }: Parameters<RoutesAsDocument["change"]>[0]) =>
      shortList([...create, ...remove].map(destinationOf)),
  },
  volumes: {
    list: "pages",
    get: (id: string) => id,
    create: ({ name }: DesiredVolume) => name,
    remove: titleOf,
    attach: titleOf,
    detach: titleOf,
    expand: titleOf,
  },
  snapshots: {
    list: "pages",
    get: (id: string) => id,
    create: ({ name }: DesiredSnapshot) => name,
    remove: titleOf,
  },
  changes: { follow: "pages" },
};

function operationOf(name: PartName, path: string, member: string): string {
  if (name === "cloud") return member;
  return name === "lookups" ? path : `${path}.${member}`;
}

/** Passes every call of a provider through a `CallGuard`. The last argument of each is its `Call`. */
export function withCallGuard(cloud: CloudParts["cloud"], options: CallGuardOptions): CloudParts["cloud"] {
  const guard = new CallGuard(options);
  return wrapParts(cloud, (name, part, path) => {
    const guarded = Object.entries(calls[name]).flatMap(([member, about]) => {
      const original: unknown = Reflect.get(part, member);
      if (typeof original !== "function") return [];
      const operation = operationOf(name, path, member);
      const wrapped = (...args: never[]): unknown => {
        const call: Call = args.at(-1) as never;
        if (about === "pages") return guard.pages(operation, () => original(...args), call);
        return guard.call({ operation, object: () => about(args[0] as never) }, call.signal, () =>
          original(...args),
        );
      };
      return [[member, wrapped] as const];
    });
    return Object.fromEntries(guarded) as never;
  });
}
