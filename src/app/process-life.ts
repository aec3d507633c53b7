// The life of the process once its command line is right: one manager after another as the configuration changes, and one
// way in for those who ask, until it is told to stop. Loaded only then: `--version` need not wait for all of it.

import type { Milliseconds } from "../core/brand.ts";
import { messageOf } from "../core/errors.ts";
import { KubeError } from "../kube/errors/kube-error.ts";
import { drainOn } from "../runtime/draining.ts";
import type { Log } from "../telemetry/log.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { ConfigurationError } from "./configuration/configuration-error.ts";
import { runConfigured } from "./configuration/run-configured.ts";
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
  /** Read and found usable. */
  readonly first: Configuration;
  readonly readConfiguration: () => Promise<Configuration>;
}

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;

export async function runProcess(options: ProcessOptions, signal: AbortSignal): Promise<ExitCode> {
  const { provider, program, platform, log, setVerbosity, first, readConfiguration } = options;
  const { err, service, reloads, inward } = options.console;
  const { environment, files, clock } = platform;
  /** Whose settings count for the whole process: those of the manager that was made last. */
  let inForce = first;
  const grace = (): Milliseconds => inForce.settings.flags["drain-timeout"];
  const stop = drainOn(signal, clock, grace, (given) =>
    log.warn(`What was in hand was cut off after ${given / 1000} s; --drain-timeout gives it longer`),
  );
  const sayStop = (): void =>
    log.info(`${sentence(messageOf(signal.reason))}: nothing new is begun, work in hand is finished`, {
      withinSeconds: grace() / 1000,
    });
  if (signal.aborted) sayStop();
  else signal.addEventListener("abort", sayStop, { once: true });
  const onStatus = service?.status;
  const identity = replicaIdentity(platform, program);
  let serving: Serving | undefined;
  let manager: Manager | undefined;
  const createNext = async (configuration: Configuration, until: AbortSignal): Promise<Manager> => {
    const { settings } = configuration;
    manager = await createManager(
      { provider, settings, platform, log, identity, ...(onStatus !== undefined && { onStatus }) },
      until,
    );
    if (serving === undefined && inward !== undefined) {
      const known = { flags: settings.flags, platform, log, program, provider, setVerbosity };
      serving = await openServing({ ...known, ...inward }, manager);
    }
    serving?.show(manager);
    inForce = configuration;
    service?.ready();
    log.info(`${program} ${version} runs`, { mode: settings.flags.mode, ...manager.talksTo });
    return manager;
  };
  service?.watch(() => manager?.stalled(), stop);
  const configured = {
    ...{ first, readConfiguration, createManager: createNext, provider, environment, files, clock, log },
    ...(reloads !== undefined && { reloads }),
    onVerbosity: setVerbosity,
    onReload: () => service?.ready(),
  };
  const hasBegun = (): boolean => manager !== undefined;
  const run = async (): Promise<ExitCode> => {
    try {
      await runConfigured(configured, stop);
      return 0;
    } catch (error) {
      if (stop.aborted && error === stop.reason) return 0;
      if (error instanceof ConfigurationError) {
        for (const { text } of error.problems) err(`${program}: ${text}\n`);
        return 2;
      }
      err(`${program}: ${messageOf(error)}\n`);
      return error instanceof KubeError && error.fatal ? 2 : 1;
    } finally {
      await serving?.close();
    }
  };
  const code = await run();
  // What kept it from beginning was told in a line of its own, and that is enough.
  if (hasBegun()) log.info(`${program} ends`, { code });
  return code;
}
