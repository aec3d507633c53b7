// The life of the process after its configuration was validated: the manager that reloads change, the secure port and the
// webhook, until the process is asked to stop.

import { defined } from "../core/defined.ts";
import { formatDuration } from "../core/duration.ts";
import { messageOf } from "../core/error-message.ts";
import { messageIn } from "../core/problem.ts";
import { KubeError } from "../kube/errors/kube-error.ts";
import type { AnyProvider } from "../provider/provider.ts";
import { linkedController } from "../runtime/abortable.ts";
import { drainOn } from "../runtime/draining.ts";
import type { AdjustableLog } from "../telemetry/log.ts";
import { version } from "./build-info.ts";
import { annotationsWithDefaults } from "./configuration/cloud-settings.ts";
import type { Configuration } from "./configuration/configuration.ts";
import type { ConfigurationDiff } from "./configuration/configuration-diff.ts";
import { ConfigurationError } from "./configuration/configuration-error.ts";
import { ConfigurationReloads } from "./configuration/configuration-reloads.ts";
import { ReloadRequests } from "./configuration/reload-requests.ts";
import type { Console, ExitCode } from "./console.ts";
import { openServing, type Serving } from "./endpoints/open-serving.ts";
import type { ReadFlags } from "./flags/read-flags.ts";
import { replicaIdentity } from "./leadership/replica-identity.ts";
import { createManager, type Manager } from "./manager/manager.ts";
import type { ManagerPlatform } from "./system-platform.ts";

export interface ProcessOptions {
  readonly provider: AnyProvider;
  readonly program: string;
  readonly console: Console;
  readonly platform: ManagerPlatform;
  readonly log: AdjustableLog;
  /** A valid configuration. */
  readonly configuration: Configuration;
  readonly readConfiguration: () => Promise<Configuration>;
}

function capitalize(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

export class ProcessLife {
  readonly #options: ProcessOptions;
  /** Aborted with the reason for stopping, after which the process drains. */
  readonly #stop: AbortSignal;
  readonly #reloads: ConfigurationReloads;
  /** The settings in use, which determine the configuration hash. */
  #settings: ReadFlags;
  #manager: Manager | undefined;
  #serving: Serving | undefined;

  constructor(options: ProcessOptions, signal: AbortSignal) {
    const { platform, log } = options;
    this.#options = options;
    this.#settings = options.configuration.settings;
    this.#reloads = new ConfigurationReloads({
      first: options.configuration,
      readConfiguration: options.readConfiguration,
      prepare: (next, diff) => this.#prepareReload(next, diff),
      provider: options.provider,
      environment: platform.environment,
      files: platform.files,
      clock: platform.clock,
      log,
      reloads: options.console.reloads ?? new ReloadRequests(),
      onReload: () => options.console.systemd?.ready(),
    });
    this.#stop = drainOn(
      signal,
      platform.clock,
      () => this.#settings.flags["drain-timeout"],
      (timeout) =>
        log.warn(
          `Shutdown drain timed out after ${formatDuration(timeout)}; cancelled in-flight work. --drain-timeout sets the limit.`,
        ),
    );
    const logStop = (): void =>
      log.info(`${capitalize(messageOf(signal.reason))}; draining in-flight work`, {
        withinSeconds: this.#settings.flags["drain-timeout"] / 1000,
      });
    if (signal.aborted) logStop();
    else signal.addEventListener("abort", logStop, { once: true });
  }

  async run(): Promise<ExitCode> {
    const { program, log, console } = this.#options;
    console.systemd?.watch(() => this.#manager?.stalled(), this.#stop);
    const code = await this.#runManager();
    // Without a manager, an error line already reports why the process could not start.
    if (this.#manager !== undefined) log[code === 0 ? "info" : "error"](`Exiting ${program}`, { code });
    return code;
  }

  async #runManager(): Promise<ExitCode> {
    const { program, log, console } = this.#options;
    try {
      const manager = await this.#open();
      const { controller: checking, unlink } = linkedController(this.#stop);
      const running = manager.run().finally(() => {
        checking.abort(new Error("the manager has ended"));
        unlink();
      });
      await Promise.all([running, this.#reloads.run(checking.signal)]);
      return 0;
    } catch (error) {
      if (this.#stop.aborted && error === this.#stop.reason) return 0;
      if (error instanceof ConfigurationError) {
        for (const problem of error.problems) console.err(`${program}: ${messageIn(problem)}\n`);
        return 2;
      }
      log.error(messageOf(error));
      return error instanceof KubeError && error.fatal ? 2 : 1;
    } finally {
      await this.#serving?.close();
    }
  }

  /** Creates the manager and opens the ports. */
  async #open(): Promise<Manager> {
    const { provider, program, platform, log, console, configuration } = this.#options;
    const { settings } = configuration;
    const { setVerbosity } = log;
    const { serving, systemd } = console;
    const manager = await createManager(
      defined({
        provider,
        settings,
        platform,
        log,
        identity: replicaIdentity(platform, program, settings.flags.mode),
        onStatus: systemd?.status,
        reloads: this.#reloads,
      }),
      this.#stop,
    );
    this.#manager = manager;
    if (serving !== undefined) {
      const { environment } = platform;
      const annotations = annotationsWithDefaults(provider, () => ({ environment, ...this.#settings.cloud }));
      this.#serving = await openServing(
        { flags: settings.flags, platform, log, program, provider, annotations, setVerbosity, ...serving },
        manager,
      );
    }
    systemd?.ready();
    log.info(`Started ${program} ${version}`, {
      mode: settings.flags.mode,
      clusterName: settings.flags["cluster-name"],
      ...manager.connections,
    });
    return manager;
  }

  #prepareReload({ settings }: Configuration, diff: ConfigurationDiff): () => Promise<void> {
    const apply = this.#manager?.prepareReload({ ...diff, settings });
    return async () => {
      this.#options.log.setVerbosity(settings.flags.v);
      await apply?.();
      this.#settings = settings;
    };
  }
}
