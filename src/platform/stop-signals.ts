// What a signal that asks to stop comes to. `timeout` and its like send theirs to the process and to its group: the same
// one twice within moments is one wish, and only a later or another one is somebody who will not wait.

import { type Milliseconds, milliseconds } from "../core/brand.ts";

export interface StopSignal {
  readonly name: string;
  readonly at: Milliseconds;
}

const echoTime = milliseconds(200);

export function decideStop(
  first: StopSignal | undefined,
  signal: StopSignal,
): "stop" | "ignore" | "end at once" {
  if (first === undefined) return "stop";
  const isEcho = signal.name === first.name && signal.at - first.at < echoTime;
  return isEcho ? "ignore" : "end at once";
}
