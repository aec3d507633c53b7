// Decides how to react to a stop signal. `timeout` and similar programs signal both the process and its group, so the
// same signal twice within moments counts once. A later or different one ends the process immediately. Pure.

import { type Milliseconds, milliseconds } from "../core/brand.ts";

export interface StopSignal {
  readonly name: string;
  readonly at: Milliseconds;
}

const duplicateWindow = milliseconds(200);

export function decideStop(first: StopSignal | undefined, signal: StopSignal): "stop" | "ignore" | "exit" {
  if (first === undefined) return "stop";
  const isDuplicate = signal.name === first.name && signal.at - first.at < duplicateWindow;
  return isDuplicate ? "ignore" : "exit";
}
