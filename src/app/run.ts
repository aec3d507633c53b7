// What an executable does: reads its command line, runs the manager until it is told to stop, and ends with 0 when it was
// asked to, 1 when it could not go on, 2 when the operator must mend something first. docs/operations.md has the whole list.

import { KubeError } from "../kube/kube-error.ts";
import { drainOn } from "../runtime/draining.ts";
import { forgetVariables, keepLoopbackDirect, systemArguments } from "../seams/environment.ts";
import type { Listen } from "../seams/listener.ts";
import { openNotifySocket } from "../seams/notify-socket.ts";
import { onSignals } from "../seams/process.ts";
import { type RuntimeFigures, systemFigures } from "../seams/runtime-figures.ts";
import { systemListen } from "../seams/system-listener.ts";
import { createLog } from "../telemetry/log.ts";
import { openServing, type Serving } from "./compose-serving.ts";
import { type Configuration, readAll } from "./configuration.ts";
import { ConfigurationError } from "./configuration-error.ts";
import { runConfigured } from "./configured.ts";
import type { AnyProvider } from "./connect-cloud.ts";
import { helpText } from "./help.ts";
import { createManager, identityOf, type Manager, type ManagerSeams } from "./manager.ts";
import { rawVersion } from "./raw-version.ts";
import { ReloadRequests } from "./reload-requests.ts";
import { runtimeVariables } from "./runtime-variables.ts";
import { withServiceCredentials } from "./service-credentials.ts";
import { createServiceManager, type ServiceManager, watchdogPeriod } from "./service-manager.ts";
import { systemSeams } from "./system-seams.ts";
import { notices, version } from "./version.ts";
import { keptAuthority, webhookManifest } from "./webhook-manifest.ts";

export interface Console {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly pid?: number;
  /** Told how this process is, where one listens. */
  readonly service?: ServiceManager;
  /** Wishes to read the configuration again. */
  readonly reloads?: ReloadRequests;
  /** The way in for those who ask us; without it, no port is opened. */
  readonly inward?: { readonly listen: Listen; readonly figures: RuntimeFigures };
}

export type ExitCode = 0 | 1 | 2;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const firstLine = (text: string): string => text.split("\n")[0] ?? text;

export const runManager = async (
  provider: AnyProvider,
  args: readonly string[],
  { out, err, pid, service, reloads, inward }: Console,
  seams: ManagerSeams,
  signal: AbortSignal,
): Promise<ExitCode> => {
  const program = `${provider.name}-cloud-controller-manager`;
  const { environment, files, clock } = seams;
  const readConfiguration = () => readAll({ provider, args, environment, files });
  const first = await readConfiguration();
  const { flags, positional } = first.settings;
  const problems = [...runtimeVariables(environment).problems, ...first.problems];
  if (flags.help) {
    out(helpText(program, provider.config));
    return 0;
  }
  if (flags.notices) {
    out(notices);
    return 0;
  }
  if (flags.version !== "no" || positional[0] === "version") {
    out(flags.version === "raw" ? rawVersion(program) : `${program} ${version}\n`);
    return 0;
  }
  if (positional[0] === "webhook-manifest") {
    out(webhookManifest(program, await keptAuthority(flags, files)));
    return 0;
  }
  const errors = problems.filter(({ severity }) => severity === "error");
  // The value of a flag that is not known looks like a command; the flag is what is wrong.
  const hasUnknownFlag = errors.some(({ reason }) => reason === "UnknownFlag");
  const command = positional.find((word) => word !== "run");
  if (command !== undefined && !hasUnknownFlag)
    errors.push({
      severity: "error",
      reason: "UnknownCommand",
      text: `${command} is not a command; there are run (the default), version and webhook-manifest`,
    });
  const named = flags["cloud-provider"];
  if (named !== undefined && ![provider.name, "external"].includes(named)) {
    errors.push({
      severity: "error",
      reason: "WrongCloud",
      text: `--cloud-provider is ${JSON.stringify(named)}, but this executable is for ${JSON.stringify(provider.name)}; start ${named}-cloud-controller-manager, or leave the flag out`,
    });
  }
  let verbosity = flags.v;
  const log = createLog({
    format: flags["logging-format"],
    verbosity: () => verbosity,
    clock,
    write: err,
    ...(pid !== undefined && { pid }),
  });
  for (const { severity, text } of problems) if (severity === "warning") log.warn(text);
  if (errors.length > 0) {
    for (const { text } of errors) err(`${program}: ${text}\n`);
    return 2;
  }
  const stop = drainOn(signal, clock, flags["drain-timeout"], () =>
    log.warn(`What was in hand was cut off after ${flags["drain-timeout"] / 1000} s`),
  );
  let serving: Serving | undefined;
  const setVerbosity = (level: number): void => {
    verbosity = level;
  };
  try {
    const onStatus = service?.status;
    const identity = identityOf(seams, program);
    let manager: Manager | undefined;
    const createNext = async ({ settings }: Configuration, until: AbortSignal): Promise<Manager> => {
      manager = await createManager(
        { provider, settings, seams, log, identity, ...(onStatus !== undefined && { onStatus }) },
        until,
      );
      if (serving === undefined && inward !== undefined) {
        const known = { flags: settings.flags, seams, log, program, provider, setVerbosity };
        serving = await openServing({ ...known, ...inward }, manager);
      }
      serving?.show(manager);
      service?.ready();
      log.info(`${program} ${version} runs`, { mode: settings.flags.mode });
      return manager;
    };
    service?.watch(() => manager?.stalled(), stop);
    const configured = {
      ...{ first, readConfiguration, createManager: createNext, provider, environment, files, clock, log },
      ...(reloads !== undefined && { reloads }),
      onVerbosity: setVerbosity,
      onReload: () => service?.ready(),
    };
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

/** The whole program; the entry of an executable is a call of this with the provider it is for. */
export const runExecutable = async (provider: AnyProvider): Promise<void> => {
  keepLoopbackDirect();
  const controller = new AbortController();
  const reloads = new ReloadRequests();
  let service: ServiceManager | undefined;
  const { exit, pid, stdout, stderr } = onSignals({
    stop: (name) => {
      service?.stopping();
      controller.abort(new Error(`asked to stop by ${name}`));
    },
    reload: () => {
      service?.reloading();
      reloads.request();
    },
    accident: (error) =>
      stderr(`${provider.name}-cloud-controller-manager: unexpected: ${firstLine(messageOf(error))}\n`),
  });
  const seams = systemSeams();
  const { NOTIFY_SOCKET: socket } = seams.environment;
  service = createServiceManager(socket === undefined ? undefined : openNotifySocket(socket), {
    clock: seams.clock,
    watchdog: watchdogPeriod(seams.environment, pid),
  });
  const inward = { listen: systemListen, figures: systemFigures };
  const streams = { out: stdout, err: stderr, pid, service, reloads, inward };
  forgetVariables(runtimeVariables(seams.environment).forget);
  const { environment, args } = await withServiceCredentials(provider.config, seams, systemArguments());
  exit(await runManager(provider, args, streams, { ...seams, environment }, controller.signal));
};
