// The entry of an executable: reads the command line and runs the command. Exit codes: 0 for success or a requested
// stop, 1 for a failure, 2 for an error that the operator must fix. docs/operations.md has the whole list.

import { messageOf } from "../core/error-message.ts";
import { Redaction } from "../core/redaction.ts";
import {
  keepLoopbackDirect,
  removeVariables,
  systemArguments,
  systemProgram,
} from "../platform/environment.ts";
import { systemFigures } from "../platform/memory.ts";
import { openNotifySocket } from "../platform/notify-socket.ts";
import { onSignals, restartWith, systemStdin, terminalLine } from "../platform/process.ts";
import { systemListen } from "../platform/system-listener.ts";
import { programOf } from "../provider/program.ts";
import type { AnyProvider } from "../provider/provider.ts";
import type { Log } from "../telemetry/log.ts";
import type { ChosenCloud, CloudQuestion } from "./commands/choose-cloud.ts";
import { runCommandLine, runsForLong } from "./commands/command-line.ts";
import { Invocation } from "./commands/invocation.ts";
import { readConfiguration } from "./configuration/configuration.ts";
import { ReloadRequests } from "./configuration/reload-requests.ts";
import { withServiceCredentials } from "./configuration/service-credentials.ts";
import type { Console, ExitCode } from "./console.ts";
import { RepeatedMessages } from "./logging/repeated-messages.ts";
import { asPlugin, pluginName } from "./plugin-name.ts";
import { runtimeVariable, runtimeVariables } from "./runtime-variables.ts";
import { type ManagerPlatform, systemPlatform } from "./system-platform.ts";
import { createSystemd, type Systemd, watchdogPeriod } from "./systemd.ts";

const firstLine = (text: string): string => text.split("\n")[0] ?? text;

/** Reads the command line and the configuration, and runs the command. Returns the exit code. */
export async function runProgram(
  provider: AnyProvider,
  args: readonly string[],
  console: Console,
  platform: ManagerPlatform,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { environment, files, redaction = new Redaction() } = platform;
  const read = () => readConfiguration({ provider, args, environment, files });
  const configuration = await read();
  const invocation = new Invocation({
    provider,
    // All output of the process passes through here, including the log.
    console: {
      ...console,
      out: (text) => console.out(redaction.apply(text)),
      err: (text) => console.err(redaction.apply(text)),
    },
    platform: { ...platform, redaction },
    configuration,
    readConfiguration: read,
    signal,
  });
  await runCommandLine(invocation, args);
  return invocation.exitCode;
}

/**
 * The whole program. The generated entry of an executable passes its provider, and the entry of kubectl-fairlead passes a
 * choice of all providers.
 */
export async function runExecutable(
  source: AnyProvider | ((question: CloudQuestion) => Promise<ChosenCloud>),
): Promise<void> {
  if (typeof source !== "function" && runsForLong(systemArguments())) restartWith(runtimeVariable);
  keepLoopbackDirect();
  const controller = new AbortController();
  const reloads = new ReloadRequests();
  const platform = systemPlatform();
  const rejections = new RepeatedMessages(platform.clock, 10);
  let systemd: Systemd | undefined;
  let log: Log | undefined;
  const invokedAs = typeof source === "function" ? asPlugin(systemProgram()) : systemProgram();
  const { exit, pid, stdout, stderr } = onSignals({
    stop: (name) => {
      systemd?.stopping();
      controller.abort(new Error(`received ${name}`));
    },
    reload: () => {
      systemd?.reloading();
      reloads.request();
    },
    uncaught: (error) => {
      const what = firstLine(messageOf(platform.redaction?.clean(error) ?? error));
      const program = typeof source === "function" ? "kubectl-fairlead" : programOf(source);
      stderr(`${program}: internal error, please file a bug: ${what}\n`);
    },
    // In a manager, the work that needs the result fails and is retried. A one-time command ends.
    unhandled: (error) => {
      if (log === undefined) return false;
      const stack = error instanceof Error ? error.stack : undefined;
      const text = `Internal error in Fairlead or the provider: no code handles the error of an asynchronous call. The manager continues, and the call is retried. Please file a bug with this line: ${messageOf(error)}`;
      if (rejections.next(text) !== "not now") log.error(text, { stack });
      return true;
    },
  });
  const { NOTIFY_SOCKET: socket } = platform.environment;
  systemd = createSystemd(socket === undefined ? undefined : openNotifySocket(socket), {
    clock: platform.clock,
    watchdog: watchdogPeriod(platform.environment, pid),
  });
  const serving = { listen: systemListen, figures: systemFigures };
  const streams = {
    out: stdout,
    err: stderr,
    stdin: systemStdin,
    readLine: terminalLine(),
    pid,
    invokedAs,
    systemd,
    reloads,
    onLog: (opened: Log) => {
      log = opened;
    },
    serving,
  };
  removeVariables(runtimeVariables(platform.environment).forget);
  const { signal } = controller;
  const chosen =
    typeof source === "function"
      ? await source({ args: systemArguments(), invokedAs, platform, signal })
      : { provider: source };
  if ("refused" in chosen) {
    stderr(`${pluginName(invokedAs)}: ${chosen.refused}\n`);
    return exit(chosen.exitCode);
  }
  const { provider } = chosen;
  const { environment, args } = await withServiceCredentials(provider.config, platform, systemArguments());
  const running = runProgram(provider, args, streams, { ...platform, environment }, signal);
  exit(
    await running.finally(() => {
      log = undefined;
    }),
  );
}
