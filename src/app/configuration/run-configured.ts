// Runs managers, one after the other, each with the configuration that was in force when it was made. When what the
// configuration was read from changes and is right, the manager ends in good order and the next one takes over in the same
// process; when it is wrong, everything stays as it is. All state is in Kubernetes and in the cloud, so nothing is handed over.

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
import { type ConfigurationDiff, diffConfigurations, pinned } from "./configuration-diff.ts";
import { ReloadRequests } from "./reload-requests.ts";

/** How a look at a configuration ended that was read again. */
export type ReloadResult = "applied" | "unchanged" | "refused";

export interface Runnable {
  /** Ends when the signal it was made with says so, or by an error. */
  run(): Promise<void>;
}

export interface ConfiguredOptions {
  /** Read and found usable. */
  readonly first: Configuration;
  readonly readConfiguration: () => Promise<Configuration>;
  /** Asks nobody and starts nothing; what it throws refuses the configuration. */
  readonly createManager: (configuration: Configuration, signal: AbortSignal) => Promise<Runnable>;
  readonly provider: AnyProvider;
  readonly environment: Environment;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly reloads?: ReloadRequests;
  /** The level of the log changes without a new manager. */
  readonly onVerbosity?: (level: number) => void;
  readonly onReload?: (result: ReloadResult) => void;
  /** Time between two looks at the versions of the files. */
  readonly checkEvery?: Milliseconds;
}

interface Running {
  readonly configuration: Configuration;
  readonly stop: () => Promise<void>;
}

export async function runConfigured(options: ConfiguredOptions, signal: AbortSignal): Promise<void> {
  const { clock, files, log, reloads = new ReloadRequests(), onReload, checkEvery = seconds(5) } = options;
  const over = Promise.withResolvers<void>();

  /** A manager that has not begun, and may still be thrown away. */
  const prepare = async (configuration: Configuration): Promise<() => Running> => {
    const { controller, unlink } = linkedController(signal);
    const manager = await options.createManager(configuration, controller.signal).catch((error: unknown) => {
      controller.abort(error);
      throw error;
    });
    return () => {
      let isReplaced = false;
      const ended = manager
        .run()
        .then(
          () => (isReplaced ? undefined : over.resolve()),
          (error: unknown) => {
            if (!isReplaced) over.reject(error);
            else if (!(error instanceof Draining))
              log.warn(`The former manager ended badly: ${messageOf(error)}`);
          },
        )
        .finally(unlink);
      const stop = () => {
        isReplaced = true;
        const end = new AbortController();
        controller.abort(new Draining("the configuration has changed", end.signal));
        const grace = configuration.settings.flags["drain-timeout"];
        const cancel = clock.after(grace, () => end.abort());
        return ended.finally(cancel);
      };
      return { configuration, stop };
    };
  };

  const first = await prepare(options.first);
  let running = first();
  let versions = options.first.versions;
  let refused: string | undefined;

  const refuse = (texts: readonly string[], wasAsked: boolean): ReloadResult => {
    const said = texts.join("\n");
    // Once, however often the same mistake is looked at; but who asks is answered.
    if (wasAsked || said !== refused) {
      for (const text of texts) log.error(text);
      log.error("The configuration was not changed: what was read is wrong; the one before stays in force");
    }
    refused = said;
    return "refused";
  };
  const apply = ({ changes, needRestart }: ConfigurationDiff, next: Configuration): void => {
    for (const change of changes) log.info(`Configuration: ${change}`);
    if (needRestart.length > 0) {
      const names = needRestart.map((name) => `--${name}`).join(", ");
      log.warn(`Only after a restart of this process: ${names}; until then the former values count`);
    }
    options.onVerbosity?.(next.settings.flags.v);
  };
  const reload = async (wasAsked: boolean): Promise<ReloadResult> => {
    const read = await options.readConfiguration();
    versions = read.versions;
    if (!isUsable(read)) {
      const wrong = read.problems.filter(({ severity }) => severity === "error");
      return refuse(
        wrong.map(({ text }) => text),
        wasAsked,
      );
    }
    const diff = diffConfigurations(running.configuration, read, options);
    if (diff.changes.length === 0) {
      if (refused !== undefined) log.info("The configuration is right again; nothing in it has changed");
      else if (wasAsked) log.info("The configuration was read again as asked; nothing in it has changed");
      refused = undefined;
      return "unchanged";
    }
    const next = pinned(running.configuration, read, diff.needRestart);
    let begin: () => Running = () => ({ ...running, configuration: next });
    if (diff.needsNewManager) {
      try {
        begin = await prepare(next);
      } catch (error) {
        return refuse([messageOf(error)], wasAsked);
      }
    }
    refused = undefined;
    apply(diff, next);
    // In good order: what is in hand is put down before the next one takes over.
    if (diff.needsNewManager) await running.stop();
    running = begin();
    return "applied";
  };

  const { controller: checking, unlink } = linkedController(signal);
  const check = async (): Promise<void> => {
    while (!checking.signal.aborted) {
      const wasAsked = await reloads.within(checkEvery, clock, checking.signal);
      if (checking.signal.aborted) return;
      try {
        if (wasAsked || (await haveChanged(versions, files))) onReload?.(await reload(wasAsked));
      } catch (error) {
        log.warn(`The configuration could not be looked at: ${messageOf(error)}`);
      }
    }
  };
  const checks = check();
  try {
    await over.promise;
  } finally {
    checking.abort(new Error("the manager has ended"));
    unlink();
    await checks;
  }
}

async function haveChanged(versions: Configuration["versions"], files: Files): Promise<boolean> {
  for (const [path, version] of versions) if ((await files.version(path)) !== version) return true;
  return false;
}
