// Helpers for lists of documented differences. Pure.

import type { Comparison, Explanation } from "./compare.ts";

type Condition = NonNullable<Explanation["when"]>;

/** The comparisons between the two managers. */
export const managers: readonly Comparison[] = ["created", "alone", "changed"];
/** The comparisons that show a history that only the Go manager has. */
export const goHistory: readonly Comparison[] = ["changed", "history of the Go manager"];
/** The comparisons of each manager with itself. */
export const histories: readonly Comparison[] = ["history of the Go manager", "history of Fairlead"];

/** The text of a difference, such as the message with which a manager refuses a specification. */
export const saying =
  (text: RegExp): Condition =>
  ({ expected = "", found = "" }) =>
    text.test(`${expected} ${found}`);
