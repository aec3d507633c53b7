// The page's vocabulary: the state of an object as a tone and a word, counts, and times. Pure.

import { isShortWait } from "../../controllers/problem-order.ts";
import { roughDuration } from "../../core/duration.ts";
import { messageIn } from "../../core/problem.ts";
import type { Brief, ObjectNote, State } from "../explain/description.ts";
import { type Html, html } from "./html.ts";

/**
 * `good`: nothing to do. `waiting`: Fairlead is working, or waits. `bad`: nothing changes until a user acts. `quiet`: ignored
 * on purpose.
 */
export type Tone = "good" | "waiting" | "bad" | "quiet";

const states: Readonly<Record<State, readonly [Tone, string]>> = {
  settled: ["good", "Settled"],
  working: ["waiting", "In progress"],
  waiting: ["waiting", "Waiting"],
  paused: ["quiet", "Paused"],
  held: ["bad", "On hold"],
  problem: ["bad", "Problem"],
  unmanaged: ["quiet", "Left alone"],
  unknown: ["waiting", "Not known"],
};

export const labelOf = (state: State): string => states[state][1];

/** A temporary hold does not need attention. */
export function toneOf({ state, notes }: Pick<Brief, "state" | "notes">): Tone {
  const [first] = notes;
  return state === "held" && isShortWait(first?.reason ?? "") ? "waiting" : states[state][0];
}

/** Whether the object needs attention, or is in progress. */
export const isUnsettled = ({ tone }: { readonly tone: Tone }): boolean =>
  tone === "bad" || tone === "waiting";

/** The state as a word with a shape, so that it does not depend on color. */
export const badge = (tone: Tone, label: string): Html => html`<span class="badge ${tone}">${label}</span>`;

const numbers = new Intl.NumberFormat("en");
export const number = (value: number): string => numbers.format(value);

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`;

export const secondsBetween = (earlier: string, later: string): number =>
  (Date.parse(later) - Date.parse(earlier)) / 1000;

/** Shows "2m ago", with the exact time in the markup. Both arguments are RFC 3339. */
export const ago = (time: string, now: string): Html =>
  html`<time datetime="${time}" title="${time}">${roughDuration(secondsBetween(time, now))} ago</time>`;

const noteText = (note: ObjectNote): Html => html`<p><strong>${note.reason}</strong> ${messageIn(note)}</p>`;

/** All findings about the object, or a statement that there are none; then the time of the next attempt. */
export function explanation({ state, summary, notes, nextAttemptInSeconds }: Brief): Html {
  // A settled object is only checked again, so the time is omitted.
  const next = state === "settled" ? undefined : nextAttemptInSeconds;
  return html`${notes.length === 0 ? html`<p>${summary}</p>` : notes.map(noteText)}${
    next === undefined ? undefined : html`<p class="next">Next attempt in ${roughDuration(next)}</p>`
  }`;
}
