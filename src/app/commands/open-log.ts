// Opens the log of a command that runs until it is stopped.

import { defined } from "../../core/defined.ts";
import type { AdjustableLog } from "../../telemetry/log.ts";
import type { Invocation } from "./invocation.ts";

/** Loaded here because the other commands do not log. */
export async function openLog({ configuration, platform, console }: Invocation): Promise<AdjustableLog> {
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
  console.onLog?.(log);
  return log;
}
