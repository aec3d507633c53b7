// `run`, the default command: checks the configuration and runs the manager until it is asked to stop.

import { defined } from "../../core/defined.ts";
import { runtimeVariables } from "../runtime-variables.ts";
import type { Command } from "./command.ts";

export const runManagerCommand: Command = {
  page: {
    name: "run",
    isGeneral: true,
    summary: "Run the cloud controller manager. This is the default command.",
  },
  requires: "nothing",
  async run(invocation, words) {
    const { provider, program, console, platform, configuration, readConfiguration, signal } = invocation;
    // Loaded only here: the other commands do not log.
    const { createLog } = await import("../../telemetry/log.ts");
    const { flags } = configuration.settings;
    const log = createLog(
      defined({
        format: flags["logging-format"],
        verbosity: flags.v,
        clock: platform.clock,
        write: console.err,
        pid: console.pid,
      }),
    );
    const problems = [
      ...runtimeVariables(platform.environment).problems,
      ...configuration.problems,
      ...invocation.unexpectedWords("run", words),
    ];
    for (const { severity, text } of problems) if (severity === "warning") log.warn(text);
    if (invocation.refuse(problems)) return;
    const { ProcessLife } = await import("../process-life.ts");
    const life = new ProcessLife(
      {
        provider,
        program,
        console,
        platform,
        log,
        setVerbosity: log.setVerbosity,
        first: configuration,
        readConfiguration,
      },
      signal,
    );
    invocation.exitCode = await life.run();
  },
};
