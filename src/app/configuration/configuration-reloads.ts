// Watches the files of the configuration, and applies each valid change to the running manager. An invalid configuration changes
// nothing, and a change that needs a restart keeps the previous value.

import { type Milliseconds, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { messageIn } from "../../core/problem.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Environment } from "../../platform/environment.ts";
import type { Files } from "../../platform/files.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import type { Log } from "../../telemetry/log.ts";
import { readInputs } from "./cloud-files.ts";
import { type Configuration, isUsable, warningsOf } from "./configuration.ts";
import {
  type ConfigurationDiff,
  diffConfigurations,
  keepPending,
  type PendingChange,
} from "./configuration-diff.ts";
import { FileReader } from "./file-reader.ts";
import type { ReloadRequests } from "./reload-requests.ts";

export type ReloadResult = "applied" | "unchanged" | "refused";

export interface ConfigurationReloadsOptions {
  /** The configuration at the start, which has no errors. */
  readonly first: Configuration;
  readonly readConfiguration: () => Promise<Configuration>;
  /**
   * Prepares the next configuration, and returns a function that applies it. Sends no requests and changes nothing. If it
   * throws, the configuration is rejected.
   */
  readonly prepare: (next: Configuration, diff: ConfigurationDiff) => () => Promise<void>;
  readonly provider: AnyProvider;
  readonly environment: Environment;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly reloads: ReloadRequests;
  readonly onReload: (result: ReloadResult) => void;
}

/** Interval between checks of the files' versions. */
const checkInterval: Milliseconds = seconds(5);

export class ConfigurationReloads {
  readonly #options: ConfigurationReloadsOptions;
  readonly #pending: PendingRestart;
  #current: Configuration;
  #versions: Configuration["versions"];
  /** The last invalid configuration's errors, so that they are logged only once. */
  #refused: string | undefined;
  /** The warnings about the last configuration, which are logged only when they are new. */
  #warnings: ReadonlySet<string>;

  constructor(options: ConfigurationReloadsOptions) {
    this.#options = options;
    this.#pending = new PendingRestart(options.log);
    this.#current = options.first;
    this.#versions = options.first.versions;
    this.#warnings = warningsOf(options.first);
  }

  /** Changed values that take effect after a restart, such as "--cluster-name: kubernetes -> prod". */
  get pendingRestart(): readonly string[] {
    return this.#pending.all;
  }

  /** The last configuration is invalid, so the previous one stays in use. */
  get isRefused(): boolean {
    return this.#refused !== undefined;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { reloads, clock, log, onReload } = this.#options;
    while (!signal.aborted) {
      const isRequested = await reloads.within(checkInterval, clock, signal);
      if (signal.aborted) return;
      try {
        if (!isRequested && !(await this.#haveFilesChanged())) continue;
        onReload(await this.#reload(isRequested));
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

  async #reload(isRequested: boolean): Promise<ReloadResult> {
    const read = await this.#options.readConfiguration();
    this.#versions = read.versions;
    this.#logNewWarnings(read);
    if (!isUsable(read)) {
      const errors = read.problems.filter(({ severity }) => severity === "error");
      return this.#refuse(errors.map(messageIn), isRequested);
    }
    const { provider, log, prepare } = this.#options;
    const { pending } = diffConfigurations(this.#current, read, this.#options);
    const kept = keepPending(this.#current, read, pending, { provider });
    const next = pending.length === 0 ? kept : await this.#withKeptFiles(kept);
    const diff = diffConfigurations(this.#current, next, this.#options);
    if (diff.changes.length === 0) {
      this.#logNoChanges(pending, isRequested);
      this.#current = next;
      return "unchanged";
    }
    let apply: () => Promise<void>;
    try {
      apply = prepare(next, diff);
    } catch (error) {
      return this.#refuse([messageOf(error)], isRequested);
    }
    this.#refused = undefined;
    this.#pending.replace(pending);
    await apply();
    for (const change of diff.changes) log.info(`Applied the changed configuration: ${change}`);
    this.#current = next;
    return "applied";
  }

  /** Settings that need a restart may name files that the new configuration does not name. These files may change. */
  async #withKeptFiles(kept: Configuration): Promise<Configuration> {
    const { provider, environment, files } = this.#options;
    const { cloud } = kept.settings;
    const reader = new FileReader(files);
    // A file that has become unreadable keeps its previous content.
    const { inputFiles } = await readInputs(provider, { environment, ...cloud }, reader);
    this.#versions = new Map([...reader.versions, ...this.#versions]);
    const all = new Map([...(cloud.inputFiles ?? []), ...inputFiles]);
    return { ...kept, settings: { ...kept.settings, cloud: { ...cloud, inputFiles: all } } };
  }

  #logNewWarnings(read: Configuration): void {
    const warnings = warningsOf(read);
    for (const text of warnings) if (!this.#warnings.has(text)) this.#options.log.warn(text);
    this.#warnings = warnings;
  }

  #logNoChanges(pending: ConfigurationDiff["pending"], isRequested: boolean): void {
    const { log } = this.#options;
    const isValidAgain = this.#refused !== undefined;
    this.#refused = undefined;
    if (this.#pending.replace(pending)) return;
    const waiting = pending.length === 0 ? "" : `; ${this.#pending.text}`;
    if (isValidAgain) log.info(`The configuration is valid again, without changes${waiting}`);
    else if (isRequested) log.info(`Reloaded the configuration, without changes${waiting}`);
  }

  #refuse(texts: readonly string[], isRequested: boolean): "refused" {
    const { log } = this.#options;
    const text = texts.join("\n");
    // The same errors are logged once, unless the operator requested this reload.
    if (isRequested || text !== this.#refused) {
      for (const line of texts) log.error(line);
      log.error("Invalid configuration; keeping the previous one");
    }
    this.#refused = text;
    return "refused";
  }
}

/** The changed values that take effect after a restart of the process. Logs each of them once. */
class PendingRestart {
  readonly #log: Log;
  #changes: readonly PendingChange[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  get all(): readonly string[] {
    return this.#changes.map(({ text }) => text);
  }

  /** The pending changes, for a log line. */
  get text(): string {
    return `changes to ${namesOf(this.#changes)} take effect after a restart`;
  }

  /** Returns whether a line was logged. */
  replace(changes: readonly PendingChange[]): boolean {
    const known = new Set(this.all);
    const added = changes.filter(({ text }) => !known.has(text));
    const hadChanges = this.#changes.length > 0;
    this.#changes = changes;
    for (const { text } of added) this.#log.info(`Configuration: ${text} (needs a restart)`);
    if (added.length > 0) {
      const names = namesOf(added);
      this.#log.warn(
        `Changes to ${names} take effect after a restart; until then the previous values apply. Restart this process to use them.`,
      );
    } else if (hadChanges && changes.length === 0) {
      this.#log.info("The configuration no longer has changes that wait for a restart");
      return true;
    }
    return added.length > 0;
  }
}

function namesOf(changes: readonly PendingChange[]): string {
  return changes.map(({ name }) => name).join(", ");
}
