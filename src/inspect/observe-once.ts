// Runs a manager that changes nothing until it has evaluated everything once, for `plan` and for explanations without a running
// manager. Takes no Lease and records no event, and its transports block every write.

import { createManager, type Manager } from "../app/manager/manager.ts";
import { type Operator, patienceOf, ReadOnlyTransports } from "../app/operator.ts";
import { unlisted } from "../app/report/manager-report.ts";
import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import { withoutFullStop } from "../core/text.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { JournalEntry } from "../runtime/journal.ts";
import type { Log, LogFields } from "../telemetry/log.ts";

const capacity = 1000;
/** The objects of `plan` and `explain`, by their log names. */
const described = ["node", "service", "persistentvolumeclaim", "persistentvolume"];

/**
 * Keeps each warning and error once. Warnings about single objects are omitted, because the object descriptions contain them,
 * and the journal contains the decisions.
 */
function collectingLog(lines: Set<string>): Log {
  const keep = (message: string, fields: LogFields = {}): void => {
    const isAboutObject = described.some((kind) => fields[kind] !== undefined);
    if (!isAboutObject && lines.size < capacity) lines.add(message);
  };
  const ignore = (): void => undefined;
  return { info: ignore, debug: ignore, warn: keep, error: keep };
}

export interface Evaluated {
  readonly manager: Manager;
  /** The planned changes, without duplicates. */
  readonly changes: readonly JournalEntry[];
  /** Warnings that do not concern a single object. */
  readonly warnings: readonly string[];
  /** Why the evaluation did not finish; undefined if it did. */
  readonly unfinished: string | undefined;
  /** Parts of the cloud that did not answer, and why. Objects that depend on them were not evaluated. */
  readonly unlisted: readonly string[];
  /** Writes that a provider sent without being allowed to, as method and URL. */
  readonly refused: readonly string[];
}

/** Without requests and work for this long, nothing more will happen soon. Sources may pause for one second. */
const quietTime = seconds(2);
const interval = milliseconds(100);

/** Calls `use` with the manager after it has evaluated everything, and then ends it. Throws the error that ends the manager. */
export async function observeOnce<T>(
  { provider, settings, platform, signal }: Pick<Operator, "provider" | "settings" | "platform" | "signal">,
  use: (evaluated: Evaluated) => T | Promise<T>,
): Promise<T> {
  const { clock } = platform;
  const timeout = patienceOf({ settings });
  const transports = new ReadOnlyTransports();
  const lines = new Set<string>();
  const ended = new AbortController();
  const stop = AbortSignal.any([signal, ended.signal]);
  const flags = { ...settings.flags, mode: "observe" as const, "leader-elect": false };
  const manager = await createManager(
    {
      provider,
      settings: { ...settings, flags },
      platform: {
        ...platform,
        transport: transports.kube(platform.transport),
        cloudTransport: transports.cloud(platform.cloudTransport),
      },
      log: collectingLog(lines),
    },
    stop,
  );
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);
  const running = manager.run().catch((error: unknown) => failure.reject(error));
  try {
    const unfinished = await Promise.race([
      untilEvaluated({ manager, transports, clock, timeout }, stop),
      failure.promise,
    ]);
    const { refused } = transports;
    return await use({
      manager,
      changes: manager.planned(),
      warnings: [...lines],
      unfinished,
      unlisted: manager.cloudProblem() === undefined ? unlisted(manager).map(withoutFullStop) : [],
      refused,
    });
  } finally {
    ended.abort(new Error("the evaluation has ended"));
    await running;
  }
}

interface Progress {
  readonly manager: Manager;
  readonly transports: ReadOnlyTransports;
  readonly clock: Clock;
  readonly timeout: Milliseconds;
}

/** Why the evaluation did not finish; undefined if it did. */
async function untilEvaluated(
  { manager, transports, clock, timeout }: Progress,
  signal: AbortSignal,
): Promise<string | undefined> {
  const end = clock.monotonic() + timeout;
  let activity = -1;
  let quietSince = clock.monotonic();
  while (clock.monotonic() < end) {
    await sleep(clock, interval, signal);
    const now = clock.monotonic();
    const hasSent = transports.sent !== activity && !isCloudFailing(manager);
    const isActive = waitsFor(manager) !== undefined || hasSent;
    activity = transports.sent;
    if (isActive) quietSince = now;
    else if (now - quietSince >= quietTime) {
      const text = manager.cloudProblem()?.text;
      return text && withoutFullStop(text);
    }
  }
  const isListed = Object.values(manager.caches()).every(({ isSynced }) => isSynced);
  const cloud = isListed ? manager.cloudProblem()?.text : undefined;
  const reason = cloud ?? waitsFor(manager) ?? "requests are still being sent";
  return `not finished after ${timeout / 1000} s (--timeout): ${withoutFullStop(reason)}`;
}

/** Only retries remain in this case, perhaps for hours. */
function isCloudFailing({ inventory: { sources } }: Manager): boolean {
  const failing = sources.filter(({ latest, failure }) => latest === undefined && failure !== undefined);
  return sources.length > 0 && failing.length === sources.length;
}

/** Objects that are not evaluated yet. */
function waitsFor(manager: Manager): string | undefined {
  if (!manager.isIdle()) {
    const unlisted = Object.entries(manager.caches()).filter(([, { isSynced }]) => !isSynced);
    const [first] = unlisted.flatMap(([, { problem }]) => problem ?? []);
    if (unlisted.length > 0)
      return first ?? `the API server has not listed ${unlisted.map(([name]) => name).join(" and ")}`;
    return "objects are still being evaluated";
  }
  if (isCloudFailing(manager)) return undefined;
  const busy = manager.accounts.find(({ budget }) => budget.level.inFlight + budget.level.waiting > 0);
  if (busy !== undefined) return `the account ${busy.name} of the cloud has not answered all requests`;
  const silent = manager.inventory.sources.find(
    ({ latest, failure }) => latest === undefined && failure === undefined,
  );
  const isAwaited = manager.inventory.isNeeded && manager.nodes.size > 0;
  return silent && isAwaited ? `${silent.source.name} of the cloud were not listed` : undefined;
}
