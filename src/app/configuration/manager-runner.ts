// Runs managers, one after another: when the configuration changes and is valid, the running manager drains and a new
// one takes over in the same process. An invalid configuration changes nothing. All state is in Kubernetes and the
// cloud, so the new manager needs nothing from the old one.

import { type Milliseconds, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/errors.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Environment } from "../../platform/environment.ts";
import type { Files } from "../../platform/files.ts";
import { linkedController } from "../../runtime/abortable.ts";
import { Draining } from "../../runtime/draining.ts";
import type { Log } from "../../telemetry/log.ts";
import type { AnyProvider } from "../connect-cloud.ts";
import { type Configuration, isUsable } from "./configuration.ts";
import { type ConfigurationDiff, diffConfigurations, keepPinned } from "./configuration-diff.ts";
import type { ReloadRequests } from "./reload-requests.ts";

export type ReloadResult = "applied" | "unchanged" | "refused";

export interface Runnable {
  /** Ends when its signal is aborted, or rejects. */
  run(): Promise<void>;
}

export interface ManagerRunnerOptions {
  /** Has been read, without errors. */
  readonly first: Configuration;
  readonly readConfiguration: () => Promise<Configuration>;
  /** Sends no requests and starts nothing. If it throws, the configuration is rejected. */
  readonly createManager: (configuration: Configuration, signal: AbortSignal) => Promise<Runnable>;
  readonly provider: AnyProvider;
  readonly environment: Environment;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly reloads: ReloadRequests;
  /** The log level changes without a new manager. */
  readonly onVerbosity: (level: number) => void;
  readonly onReload: (result: ReloadResult) => void;
  readonly signal: AbortSignal;
}

interface Running {
  readonly configuration: Configuration;
  /** Drains the manager, and cancels its work after its drain timeout. */
  readonly stop: () => Promise<void>;
}

/** Interval between checks of the files' versions. */
const checkInterval: Milliseconds = seconds(5);

export class ManagerRunner {
  readonly #options: ManagerRunnerOptions;
  readonly #ended = Promise.withResolvers<void>();
  #versions: Configuration["versions"];
  /** The errors of the last invalid configuration, so that they are logged only once. */
  #refused: string | undefined;

  constructor(options: ManagerRunnerOptions) {
    this.#options = options;
    this.#versions = options.first.versions;
  }

  async run(): Promise<void> {
    const start = await this.#prepare(this.#options.first);
    const { controller: checking, unlink } = linkedController(this.#options.signal);
    const checks = this.#check(start(), checking.signal);
    try {
      await this.#ended.promise;
    } finally {
      checking.abort(new Error("the manager has ended"));
      unlink();
      await checks;
    }
  }

  /** Creates a manager, and returns the function that starts it. */
  async #prepare(configuration: Configuration): Promise<() => Running> {
    const { controller, unlink } = linkedController(this.#options.signal);
    const creating = this.#options.createManager(configuration, controller.signal);
    const manager = await creating.catch((error: unknown) => {
      controller.abort(error);
      throw error;
    });
    return () => this.#start(configuration, manager, controller, unlink);
  }

  #start(
    configuration: Configuration,
    manager: Runnable,
    controller: AbortController,
    unlink: () => void,
  ): Running {
    const { clock, log } = this.#options;
    let isReplaced = false;
    const ended = manager
      .run()
      .then(
        () => (isReplaced ? undefined : this.#ended.resolve()),
        (error: unknown) => {
          if (!isReplaced) this.#ended.reject(error);
          else if (!(error instanceof Draining))
            log.warn(`The replaced manager ended with an error: ${messageOf(error)}`);
        },
      )
      .finally(unlink);
    const stop = (): Promise<void> => {
      isReplaced = true;
      const end = new AbortController();
      controller.abort(new Draining("the configuration has changed", end.signal));
      const cancel = clock.after(configuration.settings.flags["drain-timeout"], () => end.abort());
      return ended.finally(cancel);
    };
    return { configuration, stop };
  }

  async #check(first: Running, signal: AbortSignal): Promise<void> {
    const { reloads, clock, log, onReload } = this.#options;
    let running = first;
    while (!signal.aborted) {
      const isRequested = await reloads.within(checkInterval, clock, signal);
      if (signal.aborted) return;
      try {
        if (!isRequested && !(await this.#haveFilesChanged())) continue;
        const { result, next } = await this.#reload(running, isRequested);
        running = next;
        onReload(result);
      } catch (error) {
        log.warn(`Cannot check the configuration for changes: ${messageOf(error)}`);
      }
    }
  }

  async #haveFilesChanged(): Promise<boolean> {
    for (const [path, version] of this.#versions) {
      if ((await this.#options.files.version(path)) !== version) return true;
    }
    return false;
  }

  async #reload(
    running: Running,
    isRequested: boolean,
  ): Promise<{ readonly result: ReloadResult; readonly next: Running }> {
    const { log } = this.#options;
    const read = await this.#options.readConfiguration();
    this.#versions = read.versions;
    if (!isUsable(read)) {
      const errors = read.problems.filter(({ severity }) => severity === "error");
      this.#refuse(
        errors.map(({ text }) => text),
        isRequested,
      );
      return { result: "refused", next: running };
    }
    const diff = diffConfigurations(running.configuration, read, this.#options);
    if (diff.changes.length === 0) {
      if (this.#refused !== undefined) log.info("The configuration is valid again, without changes");
      else if (isRequested) log.info("Reloaded the configuration, without changes");
      this.#refused = undefined;
      return { result: "unchanged", next: running };
    }
    const configuration = keepPinned(running.configuration, read, diff.needRestart);
    let start = (): Running => ({ ...running, configuration });
    if (diff.needsNewManager) {
      try {
        start = await this.#prepare(configuration);
      } catch (error) {
        this.#refuse([messageOf(error)], isRequested);
        return { result: "refused", next: running };
      }
    }
    this.#refused = undefined;
    this.#logChanges(diff);
    this.#options.onVerbosity(configuration.settings.flags.v);
    // The running manager drains completely before the next one starts.
    if (diff.needsNewManager) await running.stop();
    return { result: "applied", next: start() };
  }

  #refuse(texts: readonly string[], isRequested: boolean): void {
    const { log } = this.#options;
    const text = texts.join("\n");
    // The same errors are logged once, unless the operator requested this reload.
    if (isRequested || text !== this.#refused) {
      for (const line of texts) log.error(line);
      log.error("Invalid configuration; keeping the previous one");
    }
    this.#refused = text;
  }

  #logChanges({ changes, needRestart }: ConfigurationDiff): void {
    const { log } = this.#options;
    for (const change of changes) log.info(`Configuration: ${change}`);
    if (needRestart.length === 0) return;
    const names = needRestart.map((name) => `--${name}`).join(", ");
    log.warn(`Changes to ${names} take effect after a restart; until then the previous values apply`);
  }
}
