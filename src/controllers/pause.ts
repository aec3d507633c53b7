// The values of fairlead.dev/paused on Nodes and Services, and what each means. The controllers and the webhook share this table. Pure.

import { quoted } from "../core/fields.ts";
import type { Problem } from "../core/problem.ts";
import { pausedAnnotation } from "./well-known.ts";

export const pauseValues = ["true", "false"] as const;

export interface Pause {
  readonly isPaused: boolean;
  /** Set if the value is unknown. The object is paused in that case, because "yes" or an empty value cannot mean "continue". */
  readonly problem?: Problem;
}

interface Annotated {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
}

export function pauseOf({ metadata }: Annotated): Pause {
  const raw = metadata.annotations?.[pausedAnnotation];
  const value = raw === undefined ? "false" : pauseValues.find((known) => known === raw.trim());
  if (value !== undefined) return { isPaused: value === "true" };
  const text = `${pausedAnnotation} must be "true" or "false", got ${quoted(raw ?? "")}. Any value except "false" pauses.`;
  const remedy = `Set it to "true", or remove it to continue.`;
  return {
    isPaused: true,
    problem: { severity: "warning", reason: "InvalidAnnotation", key: pausedAnnotation, text, remedy },
  };
}

/** Whether Fairlead makes no plans for the object and writes nothing to it except events. */
export const isPaused = (object: Annotated): boolean => pauseOf(object).isPaused;
