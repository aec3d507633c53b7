// How the page shows the state of an object: a tone, and a word. Pure.

import type { Brief, State } from "../describe/description.ts";

/**
 * `good`: nothing to do. `waiting`: Fairlead works on it, or waits. `bad`: it stays as it is until a user acts. `quiet`: it is left
 * alone on purpose.
 */
export type Tone = "good" | "waiting" | "bad" | "quiet";

const tones: Readonly<Record<State, Tone>> = {
  settled: "good",
  working: "waiting",
  waiting: "waiting",
  paused: "quiet",
  held: "bad",
  problem: "bad",
  unmanaged: "quiet",
};

export const labels: Readonly<Record<State, string>> = {
  settled: "Settled",
  working: "In progress",
  waiting: "Waiting",
  paused: "Paused",
  held: "On hold",
  problem: "Problem",
  unmanaged: "Left alone",
};

/** Holds that end by a further listing of the cloud. */
const shortHolds = ["LoadBalancerMissing", "WaitingForCloud", "ServiceVanished"];

export function toneOf({ state, notes }: Pick<Brief, "state" | "notes">): Tone {
  const [first] = notes;
  return state === "held" && shortHolds.includes(first?.reason ?? "") ? "waiting" : tones[state];
}

/** Not in order yet: it needs attention, or is in progress. */
export const isUnsettled = ({ tone }: { readonly tone: Tone }): boolean =>
  tone === "bad" || tone === "waiting";

/** "40s", "12m", "3h 5m", "2d 4h": two units at most. */
export function roughDuration(ms: number): string {
  const total = Math.max(0, Math.round(ms / 1000));
  if (total < 60) return `${total}s`;
  const minutes = Math.floor(total / 60);
  if (minutes < 10) return total % 60 === 0 ? `${minutes}m` : `${minutes}m ${total % 60}s`;
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours}h` : `${hours}h ${minutes % 60}m`;
  return hours % 24 === 0 ? `${Math.floor(hours / 24)}d` : `${Math.floor(hours / 24)}d ${hours % 24}h`;
}
