// Runs the trials sequentially, and removes the created objects, even after a failure or Ctrl-C. An
// object counts as removed when two new listings, half a minute apart, lack it.

import { type Milliseconds, milliseconds, minutes, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import { linkedController } from "../../runtime/abortable.ts";
import { readsLagOf } from "../cleanup/survey.ts";
import { type Part, recordPath } from "./record.ts";
import { failureKind, type PartReport, type StepReport } from "./report.ts";
import { interval, maxFailures, shownWithin, type Trial, type TrialContext } from "./trial.ts";

export interface Leftover {
  readonly part: Part;
  /** The name in the cloud, or what to search for if nothing could be listed. */
  readonly name: string;
  readonly why: string;
}

export interface RunResult {
  readonly parts: readonly PartReport[];
  readonly steps: readonly StepReport[];
  readonly left: readonly Leftover[];
  readonly isInterrupted: boolean;
}

/** The time limit of the test, and of the removal. */
export const defaultTimeout: Milliseconds = minutes(10);

/** The minimum time between the two listings, because a single listing may be incomplete, or older than the last change. */
const confirmAfter: Milliseconds = seconds(30);

const callWith = (signal: AbortSignal): Call => ({ signal, urgency: "user-change" });

/** Runs the work with a signal that is aborted after this time. */
async function within<T>(
  clock: Clock,
  timeout: Milliseconds,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { controller, unlink } = linkedController(outer);
  const why = new Error(`not finished after ${timeout / 1000} s (--timeout)`);
  const cancel = clock.after(timeout, () => controller.abort(why));
  try {
    return await work(controller.signal);
  } finally {
    cancel();
    unlink();
  }
}

export interface RunOptions {
  readonly timeout: Milliseconds;
  /** True if the settings differ from those in the record. A missing object may then exist elsewhere. */
  readonly hasOtherSettings: boolean;
  /** The number of changes that the cloud accepted, and of failed changes. */
  readonly changes: { readonly accepted: number; readonly failed: number };
}

export class SmokeRun {
  readonly #context: TrialContext;
  readonly #trials: readonly Trial[];
  readonly #options: RunOptions;
  readonly #steps: StepReport[] = [];
  /** Objects whose creation was not confirmed, because a request may still take effect. */
  readonly #unseen = new Set<Part>();
  /** Objects whose trial failed after the cloud accepted a change. */
  readonly #accepted = new Set<Part>();

  constructor(context: TrialContext, trials: readonly Trial[], options: RunOptions) {
    this.#context = context;
    this.#trials = trials;
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<RunResult> {
    const { clock, file, progress } = this.#context;
    // Saved before anything is created.
    await file.save();
    const results = new Map<Part, PartReport["result"]>();
    await within(clock, this.#options.timeout, signal, async (limited) => {
      for (const trial of this.#trials) {
        if (limited.aborted) break;
        const isPassed = await this.#try(trial, callWith(limited), signal);
        results.set(trial.part, isPassed ? "passed" : signal.aborted ? "interrupted" : "failed");
      }
    });
    if (signal.aborted)
      progress(
        "Interrupted. Removing what was created. Another Ctrl-C ends immediately; run smoke again in this folder to remove the rest.",
      );
    const left = await this.removeAll(this.#trials.filter(({ part }) => results.has(part)));
    const parts = this.#trials.map(({ part }) => ({
      part,
      result: results.get(part) ?? "skipped",
      isRemoved: results.has(part) ? !left.some((one) => one.part === part) : undefined,
    }));
    return { parts, steps: this.#steps, left, isInterrupted: signal.aborted };
  }

  /** A removal is not interrupted; only its own time limit ends it. */
  async removeAll(trials = this.#trials): Promise<readonly Leftover[]> {
    const { clock, file, progress } = this.#context;
    const never = new AbortController().signal;
    const left = await within(clock, this.#options.timeout, never, async (signal) => {
      const remove = async (trial: Trial): Promise<readonly Leftover[]> => {
        const began = clock.monotonic();
        const found = await this.#remove(trial, callWith(signal));
        const failure = found[0]?.failure;
        this.#steps.push({ part: trial.part, step: "remove", seconds: secondsSince(clock, began), failure });
        return found.map(({ leftover }) => leftover);
      };
      return (await Promise.all(trials.map(remove))).flat();
    });
    try {
      await file.save({ open: [...new Set(left.map(({ part }) => part))] });
    } catch (error) {
      progress(`The record was not updated: ${messageOf(error)}`);
    }
    return left;
  }

  /** Marks objects of an earlier run as possibly never seen. */
  notSeen(): this {
    for (const { part } of this.#trials) this.#unseen.add(part);
    return this;
  }

  async #try({ part, steps }: Trial, call: Call, interrupt: AbortSignal): Promise<boolean> {
    const { clock, progress } = this.#context;
    const { changes } = this.#options;
    const before = changes.accepted;
    this.#unseen.add(part);
    for (const { name, run } of steps) {
      const began = clock.monotonic();
      progress(`${part}: ${name}`);
      try {
        await run(call);
        this.#steps.push({ part, step: name, seconds: secondsSince(clock, began) });
      } catch (error) {
        const why = interrupt.aborted ? "Interrupted" : call.signal.aborted ? "Timeout" : undefined;
        const failure = why === undefined ? failureKind(error) : { kind: why };
        this.#steps.push({ part, step: name, seconds: secondsSince(clock, began), failure });
        if (changes.accepted > before) this.#accepted.add(part);
        progress(`${part}: failed to ${name}: ${messageOf(error)}`);
        return false;
      }
    }
    this.#unseen.delete(part);
    return true;
  }

  async #remove(trial: Trial, call: Call) {
    const { clock, check, file, progress } = this.#context;
    const { part, searchFor } = trial;
    const { changes, hasOtherSettings } = this.#options;
    const isUnclear = this.#unseen.has(part) || changes.failed > 0;
    const apart = milliseconds((isUnclear ? shownWithin : confirmAfter) + (readsLagOf(check) ?? 0));
    let failures = 0;
    let removals = 0;
    let names: readonly string[] = [searchFor];
    let last: unknown = new Error("not finished");
    progress(`${part}: remove`);
    for (let clean = 0; ; ) {
      let delay: number = interval;
      try {
        const found = await trial.find(call);
        names = found.map(({ name }) => name);
        if (found.length > 0) delay = interval * 2 ** Math.min(removals++, 4);
        clean = found.length === 0 ? clean + 1 : 0;
        if (clean === 1) delay = apart;
        if (clean === 2) break;
        for (const { remove } of found) delay = Math.max(delay, await remove(call));
        failures = found.length === 0 ? 0 : failures;
      } catch (error) {
        last = error;
        failures += 1;
        clean = 0;
        delay = interval * 2 ** failures;
        if (!call.signal.aborted)
          progress(`${part}: ${messageOf(error)} (attempt ${failures} of ${maxFailures})`);
      }
      if (failures === maxFailures || call.signal.aborted) {
        const why = messageOf(call.signal.aborted ? call.signal.reason : last);
        const left = names.length === 0 ? [searchFor] : names;
        return left.map((name) => ({ leftover: { part, name, why }, failure: failureKind(last) }));
      }
      await sleep(clock, milliseconds(delay), call.signal).catch(() => undefined);
    }
    const isDoubtful = hasOtherSettings || this.#accepted.has(part);
    if (removals > 0 || !isDoubtful) return [];
    const why = !hasOtherSettings
      ? "The cloud has accepted a change, and no listing shows what it made."
      : `Not found, but the cloud settings differ from the settings of the earlier run, and it may be in another account. Use the former ones, or delete ${recordPath(file.record.cloud)} if it does not exist.`;
    return [{ leftover: { part, name: searchFor, why }, failure: { kind: "NotProved" } }];
  }
}

const secondsSince = (clock: Clock, began: number): number =>
  Math.round((clock.monotonic() - began) / 100) / 10;
