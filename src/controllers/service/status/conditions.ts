// Computes the conditions of a Service from its problems: present only while there are problems. They contain no retry time or
// count, because each change would cost a write. Pure.

import { defined } from "../../../core/defined.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Service, ServiceCondition } from "../../../kube/objects.ts";
import { cloudCondition } from "../../well-known.ts";
import { warningCondition } from "../predicates.ts";

export interface ConditionsPlan {
  /** The whole list. Conditions of other controllers keep their values and positions. */
  readonly conditions: readonly ServiceCondition[];
  /** Whether anything differs. A status write that is needed anyway includes it. */
  readonly isChanged: boolean;
  /** False when only warnings changed: these are events, and do not justify a write. */
  readonly isWorthAWrite: boolean;
}

const maxMessageLength = 1024;

/** Kubernetes allows letters, digits and underscores, beginning with a letter. */
function asReason(reason: string): string {
  const clean = reason.replaceAll(/[^A-Za-z0-9_]/g, "").replace(/^[^A-Za-z]+|_+$/g, "");
  return clean === "" ? "Unspecified" : clean;
}

function shorten(text: string): string {
  return text.length > maxMessageLength ? `${text.slice(0, maxMessageLength - 1)}…` : text;
}

/** Sorted, so that the same problems always make the same message. */
function toCondition(
  type: string,
  status: "True" | "False",
  problems: readonly Problem[],
  now: number,
): ServiceCondition | undefined {
  const texts = [...new Set(problems.map(({ text }) => text))].toSorted();
  const [reason] = problems.map((problem) => asReason(problem.reason)).toSorted();
  if (reason === undefined) return undefined;
  const lastTransitionTime = `${new Date(now).toISOString().slice(0, 19)}Z`;
  return { type, status, reason, message: shorten(texts.join("\n")), lastTransitionTime };
}

/** Keeps an equal condition, and the transition time while the status is the same. */
function merge(present: ServiceCondition | undefined, wanted: ServiceCondition): ServiceCondition {
  if (present?.status !== wanted.status) return wanted;
  if (present.reason === wanted.reason && present.message === wanted.message) return present;
  const { lastTransitionTime = wanted.lastTransitionTime } = present;
  return defined({ ...wanted, lastTransitionTime });
}

export function conditionsFor(
  { status }: Service,
  problems: readonly Problem[],
  now: number,
): ConditionsPlan {
  const present = status.conditions ?? [];
  const wanted = new Map<string, ServiceCondition | undefined>([
    [cloudCondition, toCondition(cloudCondition, "False", ofSeverity(problems, "error"), now)],
    [warningCondition, toCondition(warningCondition, "True", ofSeverity(problems, "warning"), now)],
  ]);
  const conditions: ServiceCondition[] = [];
  let isOneRemoved = false;
  for (const condition of present) {
    if (!wanted.has(condition.type)) {
      conditions.push(condition);
      continue;
    }
    const next = wanted.get(condition.type);
    if (next === undefined) isOneRemoved = true;
    else conditions.push(merge(condition, next));
  }
  for (const [type, condition] of wanted) {
    if (condition !== undefined && !present.some((known) => known.type === type)) conditions.push(condition);
  }
  const errorOf = (list: readonly ServiceCondition[]) => list.find(({ type }) => type === cloudCondition);
  return {
    conditions,
    isChanged: isOneRemoved || conditions.some((condition) => !present.includes(condition)),
    isWorthAWrite: isOneRemoved || errorOf(conditions) !== errorOf(present),
  };
}

function ofSeverity(problems: readonly Problem[], severity: Problem["severity"]): readonly Problem[] {
  return problems.filter((problem) => problem.severity === severity);
}
