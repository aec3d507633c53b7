// The life of the process once its configuration is valid: managers, one after another as the configuration changes, and the
// secure port and webhook that outlive them, until the process is asked to stop.

import type { Milliseconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import { messageOf } from "../core/errors.ts";
import { KubeError } from "../kube/errors/kube-error.ts";
import { drainOn } from "../runtime/draining.ts";
import type { Log } from "../telemetry/log.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { ConfigurationError } from "./configuration/configuration-error.ts";
import { ManagerRunner } from "./configuration/manager-runner.ts";
import { ReloadRequests } from "./configuration/reload-requests.ts";
import type { AnyProvider } from "./connect-cloud.ts";
import type { Console, ExitCode } from "./console.ts";
import { openServing, type Serving } from "./endpoints/open-serving.ts";
import { createManager, type Manager, replicaIdentity } from "./manager/manager.ts";
import type { ManagerPlatform } from "./system-platform.ts";
import { version } from "./version.ts";

export interface ProcessOptions {
  readonly provider: AnyProvider;
  readonly program: string;
  readonly console: Console;
  readonly platform: ManagerPlatform;
  readonly log: Log;
  readonly setVerbosity: (level: number) => void;
  /** Has been read, without errors. */
  readonly first: Configuration;
  readonly readConfiguration: () => Promise<Configuration>;
}

function capitalize(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

export class ProcessLife {
  readonly #options: ProcessOptions;
  readonly #identity: string;
  /** Aborted with the reason of the request to stop, and drains. */
  readonly #stop: AbortSignal;
  /** The configuration of the latest manager; its drain timeout applies to the whole process. */
  #configuration: Configuration;
  #manager: Manager | undefined;
  #serving: Serving | undefined;

  constructor(options: ProcessOptions, signal: AbortSignal) {
    const { platform, program, log } = options;
    this.#options = options;
    this.#configuration = options.first;
    this.#identity = replicaIdentity(platform, program);
    this.#stop = drainOn(
      signal,
      platform.clock,
      () => this.#drainTimeout,
      (timeout) =>
        log.warn(
          `Shutdown drain timed out after ${timeout / 1000}s; cancelled in-flight work. --drain-timeout sets the limit.`,
        ),
    );
    const logStop = (): void =>
      log.info(`${capitalize(messageOf(signal.reason))}; draining in-flight work`, {
        withinSeconds: this.#drainTimeout / 1000,
      });
    if (signal.aborted) logStop();
    else signal.addEventListener("abort", logStop, { once: true });
  }

  get #drainTimeout(): Milliseconds {
    return this.#configuration.settings.flags["drain-timeout"];
  }

  async run(): Promise<ExitCode> {
    const { program, log, console } = this.#options;
    console.systemd?.watch(() => this.#manager?.stalled(), this.#stop);
    const code = await this.#runManagers();
    // Without a manager, an error line already reports why the process could not start.
    if (this.#manager !== undefined) log.info(`Exiting ${program}`, { code });
    return code;
  }

  async #runManagers(): Promise<ExitCode> {
    const { program, provider, console, platform, log, setVerbosity, first, readConfiguration } =
      this.#options;
    const { environment, files, clock } = platform;
    const runner = new ManagerRunner({
      first,
      readConfiguration,
      createManager: (configuration, signal) => this.#createManager(configuration, signal),
      provider,
      environment,
      files,
      clock,
      log,
      reloads: console.reloads ?? new ReloadRequests(),
      onVerbosity: setVerbosity,
      onReload: () => console.systemd?.ready(),
      signal: this.#stop,
    });
    try {
      await runner.run();
      return 0;
    } catch (error) {
      if (this.#stop.aborted && error === this.#stop.reason) return 0;
      if (error instanceof ConfigurationError) {
        for (const { text } of error.problems) console.err(`${program}: ${text}\n`);
        return 2;
      }
      console.err(`${program}: ${messageOf(error)}\n`);
      return error instanceof KubeError && error.fatal ? 2 : 1;
    } finally {
      await this.#serving?.close();
    }
  }

  async #createManager(configuration: Configuration, signal: AbortSignal): Promise<Manager> {
    const { provider, program, platform, log, console, setVerbosity } = this.#options;
    const { settings } = configuration;
    const { serving, systemd } = console;
    const manager = await createManager(
      defined({ provider, settings, platform, log, identity: this.#identity, onStatus: systemd?.status }),
      signal,
    );
    this.#manager = manager;
    if (this.#serving === undefined && serving !== undefined) {
      const { listen, figures } = serving;
      this.#serving = await openServing(
        { flags: settings.flags, platform, listen, figures, log, program, provider, setVerbosity },
        manager,
      );
    }
    this.#serving?.show(manager);
    this.#configuration = configuration;
    systemd?.ready();
    log.info(`Started ${program} ${version}`, { mode: settings.flags.mode, ...manager.connections });
    return manager;
  }
}
