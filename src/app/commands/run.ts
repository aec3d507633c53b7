// `run`, the default command: checks the configuration and runs the manager until it is asked to stop.

import { messageIn } from "../../core/problem.ts";
import { runtimeVariables } from "../runtime-variables.ts";
import type { Command } from "./command.ts";
import { openLog } from "./open-log.ts";

export const runManagerCommand: Command = {
  page: {
    name: "run",
    isGeneral: true,
    summary: "Run the cloud controller manager. This is the default command.",
  },
  isLong: true,
  requires: "nothing",
  async run(invocation, words) {
    const { platform, configuration } = invocation;
    const log = await openLog(invocation);
    const problems = [
      ...runtimeVariables(platform.environment).problems,
      ...configuration.problems,
      ...invocation.unexpectedWords("run", words),
    ];
    for (const problem of problems) if (problem.severity === "warning") log.warn(messageIn(problem));
    if (invocation.refuse(problems)) return;
    const { ProcessLife } = await import("../process-life.ts");
    const life = new ProcessLife({ ...invocation, log }, invocation.signal);
    invocation.exitCode = await life.run();
  },
};
