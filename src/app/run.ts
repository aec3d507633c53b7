// What an executable does: reads its command line, runs the manager until it is told to stop, and ends with 0 when it was
// asked to, 1 when it could not go on, 2 when the operator must mend something first. docs/operations.md has the whole list.

import { messageOf } from "../core/message-of.ts";
import { forgetVariables, keepLoopbackDirect, systemArguments } from "../platform/environment.ts";
import { openNotifySocket } from "../platform/notify-socket.ts";
import { onSignals } from "../platform/process.ts";
import { systemFigures } from "../platform/runtime-figures.ts";
import { systemListen } from "../platform/system-listener.ts";
import { createLog } from "../telemetry/log.ts";
import { answerCommand } from "./commands.ts";
import { readAll } from "./configuration/configuration.ts";
import { ReloadRequests } from "./configuration/reload-requests.ts";
import { withServiceCredentials } from "./configuration/service-credentials.ts";
import type { AnyProvider } from "./connect-cloud.ts";
import type { Console, ExitCode } from "./console.ts";
import type { ManagerPlatform } from "./manager-platform.ts";
import { runtimeVariables } from "./runtime-variables.ts";
import { systemPlatform } from "./system-platform.ts";
import { createSystemd, type Systemd, watchdogPeriod } from "./systemd.ts";

const firstLine = (text: string): string => text.split("\n")[0] ?? text;

export async function runManager(
  provider: AnyProvider,
  args: readonly string[],
  console: Console,
  platform: ManagerPlatform,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { out, err, pid } = console;
  const { environment, files, clock } = platform;
  const program = `${provider.name}-cloud-controller-manager`;
  const readConfiguration = () => readAll({ provider, args, environment, files });
  const first = await readConfiguration();
  const answer = await answerCommand(first, { provider, program, platform });
  if (answer !== undefined) {
    await out(answer.out);
    for (const text of answer.errors) err(`${program}: ${text}\n`);
    return answer.code;
  }
  const { flags } = first.settings;
  let verbosity = flags.v;
  const log = createLog({
    format: flags["logging-format"],
    verbosity: () => verbosity,
    clock,
    write: err,
    ...(pid !== undefined && { pid }),
  });
  const problems = [...runtimeVariables(environment).problems, ...first.problems];
  for (const { severity, text } of problems) if (severity === "warning") log.warn(text);
  const errors = problems.filter(({ severity }) => severity === "error");
  for (const { text } of errors) err(`${program}: ${text}\n`);
  if (errors.length > 0) return 2;
  const setVerbosity = (level: number): void => {
    verbosity = level;
  };
  const { runProcess } = await import("./process-life.ts");
  return runProcess(
    { provider, program, console, platform, log, setVerbosity, first, readConfiguration },
    signal,
  );
}

/** The whole program; the entry of an executable is a call of this with the provider it is for. */
export async function runExecutable(provider: AnyProvider): Promise<void> {
  keepLoopbackDirect();
  const controller = new AbortController();
  const reloads = new ReloadRequests();
  let service: Systemd | undefined;
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
  const platform = systemPlatform();
  const { NOTIFY_SOCKET: socket } = platform.environment;
  service = createSystemd(socket === undefined ? undefined : openNotifySocket(socket), {
    clock: platform.clock,
    watchdog: watchdogPeriod(platform.environment, pid),
  });
  const inward = { listen: systemListen, figures: systemFigures };
  const streams = { out: stdout, err: stderr, pid, service, reloads, inward };
  forgetVariables(runtimeVariables(platform.environment).forget);
  const { environment, args } = await withServiceCredentials(provider.config, platform, systemArguments());
  exit(await runManager(provider, args, streams, { ...platform, environment }, controller.signal));
}
