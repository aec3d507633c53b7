// Runs every provider call with its own signal and a deadline, because a promise that never settles must not block a leader, a
// reload or a shutdown. The caller gets an error, the signal stops further requests of the call, and a late result is
// discarded. No error contains a secret.

import { minutes, seconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import { formatDuration } from "../core/duration.ts";
import { textOf } from "../core/error-message.ts";
import type { Redaction } from "../core/redaction.ts";
import { shortList, withoutFullStop } from "../core/text.ts";
import type { Clock } from "../platform/clock.ts";
import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { InstanceSource } from "../provider/instances.ts";
import type { Step } from "../provider/plan.ts";
import type { AnyCloud } from "../provider/provider.ts";
import { isTableList } from "../provider/route-tables.ts";
import type { RouteTables } from "../provider/routes.ts";
import { linkedController } from "../runtime/abortable.ts";
import { boundCopy } from "./bound-copy.ts";

/** A call that did not end in time. */
export interface AbandonedCall {
  /** The method of the provider contract, such as `loadBalancers.apply`. */
  readonly operation: string;
  /** The subject of the call; empty for a call that concerns all objects. */
  readonly object: string;
  /** Why the call should have ended. */
  readonly why: "cancelled" | "deadline";
}

export interface DeadlineOptions {
  readonly clock: Clock;
  readonly onAbandoned: (call: AbandonedCall) => void;
  /** Removes secrets from the errors. */
  readonly redaction: Redaction;
}

/** Far longer than any provider call: each request has its own deadline, and a call does not wait for long-running operations. */
export const longestCall = minutes(15);
/** The time in which a call must end after its signal is aborted. A call that observes the signal ends immediately. */
export const timeToEnd = seconds(2);

/** A provider threw an error other than a CloudError. */
export class UnexpectedError extends Error {
  override readonly name = "UnexpectedError";

  constructor(operation: string, cause: unknown) {
    const what = withoutFullStop(textOf(cause));
    const why = "The cloud's answer has a different form than expected, or the provider has a bug";
    super(`${operation} of the provider failed: ${what}. ${why}: check for a proxy, or file a bug.`, {
      cause,
    });
  }
}

interface Running extends Pick<AbandonedCall, "operation" | "object"> {
  /** Undefined for a stream, which may be idle indefinitely. */
  readonly deadline: typeof longestCall | undefined;
}

/** Settles like the call, or rejects when the call has not ended in time. `own` is the signal that the call has. */
function limited<T>(
  { operation, object, deadline }: Running,
  own: AbortController,
  { clock, onAbandoned, redaction }: DeadlineOptions,
  begin: () => Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const done = new AbortController();
    const stopAt = (stop: () => void): void => done.signal.addEventListener("abort", stop, { once: true });
    let why: AbandonedCall["why"] = "cancelled";
    const giveUp = (): void => {
      done.abort();
      onAbandoned({ operation, object, why });
      reject(notEnded(operation, why));
    };
    const onAbort = (): void => stopAt(clock.after(timeToEnd, giveUp));
    if (own.signal.aborted) onAbort();
    else own.signal.addEventListener("abort", onAbort, { once: true, signal: done.signal });
    if (deadline !== undefined)
      stopAt(
        clock.after(deadline, () => {
          why = "deadline";
          own.abort(notEnded(operation, why));
        }),
      );
    const begun = async (): Promise<T> => begin();
    begun()
      .finally(() => done.abort())
      .then(resolve, (error: unknown) => {
        const isExpected = CloudError.is(error) || own.signal.aborted;
        reject(redaction.clean(isExpected ? error : new UnexpectedError(operation, error)));
      });
  });
}

function notEnded(operation: string, why: AbandonedCall["why"]): CloudError {
  const text =
    why === "cancelled"
      ? `within ${formatDuration(timeToEnd)} after its cancellation`
      : `within ${formatDuration(longestCall)}`;
  return new CloudError(
    "unavailable",
    `${operation} of the provider did not end ${text}, so its result is discarded.`,
    { operation },
  );
}

/** The deadline applies to each page. */
async function* limitedPages<P>(
  running: Running,
  call: Call,
  options: DeadlineOptions,
  list: (call: Call) => AsyncIterable<P>,
): AsyncIterable<P> {
  const { controller: own, unlink } = linkedController(call.signal);
  const pages = list({ ...call, signal: own.signal })[Symbol.asyncIterator]();
  let isAtPage = false;
  try {
    for (;;) {
      const next = await limited(running, own, options, () => pages.next());
      if (next.done === true) return;
      isAtPage = true;
      yield next.value;
      isAtPage = false;
    }
  } finally {
    // The reader stopped between pages. A listing that hangs would otherwise never end.
    if (isAtPage) await limited(running, own, options, async () => pages.return?.());
    unlink();
  }
}

async function limitedCall<T>(
  running: Running,
  call: Call,
  options: DeadlineOptions,
  begin: (call: Call) => Promise<T>,
): Promise<T> {
  const { controller: own, unlink } = linkedController(call.signal);
  try {
    return await limited(running, own, options, () => begin({ ...call, signal: own.signal }));
  } finally {
    unlink();
  }
}

type AnyFunction = (...args: readonly unknown[]) => unknown;

/** Methods that return pages. All other methods that take a `Call` return a promise. */
const paged: ReadonlySet<string> = new Set(["list", "follow"]);

/** Wraps functions whose last argument is a `Call`, because they send requests. Other members are not wrapped. */
function limitedFunction(original: AnyFunction, operation: string, options: DeadlineOptions): AnyFunction {
  const member = operation.split(".").at(-1) ?? "";
  const deadline = member === "follow" ? undefined : longestCall;
  return (...args) => {
    const call = args.at(-1);
    if (!isCall(call)) return original(...args);
    const running = { operation, object: objectOf(args[0]), deadline };
    const begin = (own: Call) => original(...args.slice(0, -1), own);
    return paged.has(member)
      ? limitedPages(running, call, options, begin as (own: Call) => AsyncIterable<unknown>)
      : limitedCall(running, call, options, begin as (own: Call) => Promise<unknown>);
  };
}

function isCall(value: unknown): value is Call {
  return typeof value === "object" && value !== null && "urgency" in value && "signal" in value;
}

/** The subject of a call, for messages: the name in the first argument. */
function objectOf(first: unknown): string {
  if (typeof first === "string") return first;
  if (Array.isArray(first)) return shortList(first.filter((one) => typeof one === "string"));
  if (typeof first !== "object" || first === null || !("do" in first)) return "";
  const { do: what, on } = first as Step;
  return on === undefined ? what : `${what} ${on}`;
}

/** The cloud with a deadline for each call. */
export function withDeadlines(cloud: AnyCloud, options: DeadlineOptions): AnyCloud {
  const limited = <T extends object>(part: T | undefined, path: string): T | undefined =>
    part &&
    boundCopy(part, (member, name) =>
      limitedFunction(member, path === "" ? name : `${path}.${name}`, options),
    );
  const lookups = ({ lookups: all = {} }: InstanceSource): InstanceSource["lookups"] =>
    Object.fromEntries(
      Object.entries(all).map(([by, lookup]) => [by, limited(lookup, `instances.lookups.${by}`)]),
    );
  const source = (one: InstanceSource): InstanceSource => {
    const copy = limited(one, "instances") ?? one;
    return one.lookups === undefined ? copy : { ...copy, lookups: lookups(one) };
  };
  const tables = (routes: RouteTables): RouteTables =>
    (isTableList(routes)
      ? routes.map((table) => limited(table, "routes"))
      : limited(routes, "routes")) as RouteTables;
  const { instances, routes, volumes } = cloud;
  return {
    ...(limited(cloud, "") ?? cloud),
    ...defined({
      instances: instances && {
        ...boundCopy(instances),
        sources: instances.sources.map(source) as [InstanceSource],
      },
      pending: limited(cloud.pending, "pending"),
      loadBalancers: limited(cloud.loadBalancers, "loadBalancers"),
      nodeFirewall: limited(cloud.nodeFirewall, "nodeFirewall"),
      machineTags: limited(cloud.machineTags, "machineTags"),
      routes: routes && tables(routes),
      volumes: volumes && {
        ...(limited(volumes, "volumes") ?? volumes),
        snapshots: limited(volumes.snapshots, "volumes.snapshots"),
      },
      changes: limited(cloud.changes, "changes"),
    }),
  };
}
