// The successive cloud sessions under one Lease. A reload drains the controllers, closes the session, and restarts the controllers
// with the next session, while the Lease stays held.

import { abortable, linkedController } from "../../runtime/abortable.ts";
import { Draining, endOf } from "../../runtime/draining.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import type { CloudSession } from "./cloud-session.ts";

/** A running task. */
interface Run {
  readonly controller: AbortController;
  /** Aborted to cancel work in progress. */
  readonly end: AbortController;
  readonly ended: Promise<void>;
}

export interface CloudSessionsOptions {
  /** Throws a ConfigurationError for invalid settings. */
  readonly open: (settings: ReadFlags) => CloudSession;
  readonly first: ReadFlags;
  /** Called when the session was replaced. */
  readonly onReplaced: () => void;
}

export class CloudSessions {
  readonly #options: CloudSessionsOptions;
  readonly #running = new Set<Run>();
  /** The pending closes of sessions that still hold cloud resources. */
  readonly #closing = new Set<Promise<void>>();
  #current: CloudSession;
  /** Controllers have used the current session. */
  #isUsed = false;
  /** Set while a reload is in progress. */
  #reloaded: Promise<void> | undefined;

  constructor(options: CloudSessionsOptions) {
    this.#options = options;
    this.#current = options.open(options.first);
  }

  get current(): CloudSession {
    return this.#current;
  }

  /** Begins a leadership session. Nothing that an earlier session learned from the cloud is used. */
  begin(): void {
    if (this.#isUsed) this.#replace(this.open(this.#current.settings));
    this.#isUsed = true;
  }

  /** Runs the task until the signal is aborted. A reload drains the task with `Draining`, and then runs it again. */
  task<T extends Task>(task: T): Task & Pick<T, "name"> {
    const runAgain = async (signal: AbortSignal): Promise<void> => {
      for (let isReloaded = true; isReloaded && !signal.aborted; ) {
        // A session that is lost during a reload must not wait for the reload.
        if (this.#reloaded !== undefined) await abortable(this.#reloaded, signal).catch(() => undefined);
        else isReloaded = await this.#runUntilReload(task, signal);
      }
    };
    return { name: task.name, run: runAgain };
  }

  /** Whether controllers use the current session. */
  get isRunning(): boolean {
    return this.#running.size > 0;
  }

  /** Opens a session with other settings. Throws a ConfigurationError if they cannot be used, and then changes nothing. */
  open(settings: ReadFlags): CloudSession {
    return this.#options.open(settings);
  }

  /** Replaces the session once no controller runs, because all have finished or `cancel` has ended them. */
  async reload(next: CloudSession, why: string, cancel: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#reloaded = promise;
    try {
      await Promise.all([...this.#running].map((run) => drain(run, why, cancel)));
      this.#replace(next);
    } finally {
      this.#reloaded = undefined;
      resolve();
    }
  }

  #replace(next: CloudSession): void {
    this.#close(this.#current);
    this.#current = next;
    this.#options.onReplaced();
  }

  #close(session: CloudSession): void {
    const closing = session.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** Closes the session permanently. Resolves when this and all earlier sessions are closed. */
  async end(): Promise<void> {
    this.#close(this.#current);
    await Promise.all(this.#closing);
  }

  /** Returns whether a reload ended the task. Throws the task's error. */
  async #runUntilReload(task: Task, signal: AbortSignal): Promise<boolean> {
    const { controller, unlink } = linkedController(signal);
    const end = endOf(signal);
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const entry = { controller, end, ended };
    this.#running.add(entry);
    try {
      await task.run(controller.signal);
      return controller.signal.aborted;
    } finally {
      this.#running.delete(entry);
      unlink();
      end.abort();
      resolve();
    }
  }
}

async function drain({ controller, end, ended }: Run, why: string, cancel: AbortSignal): Promise<void> {
  if (cancel.aborted) end.abort();
  else cancel.addEventListener("abort", () => end.abort(), { once: true, signal: end.signal });
  controller.abort(new Draining(why, end.signal));
  await ended;
}
