// Problems of a Service as conditions of its status: there only while something is wrong, gone when nothing is. They hold
// no time of the next try and no count, which would be a write each.

import type { Problem } from "../../../core/problem.ts";
import type { Service, ServiceCondition } from "../../../kube/objects.ts";
import { cloudCondition } from "../../well-known.ts";
import { warningCondition } from "../predicates.ts";

export interface ConditionsPlan {
  /** The whole new list, foreign ones untouched and in their places. */
  readonly conditions: readonly ServiceCondition[];
  /** Something differs; a write needed anyway takes it along. */
  readonly isChanged: boolean;
  /** False when only warnings came or changed: those are events, and no reason for a write of their own. */
  readonly isWorthAWrite: boolean;
}

const longestMessage = 1024;

/** Kubernetes takes letters, digits and a few signs, beginning with a letter. */
function asReason(reason: string): string {
  const clean = reason.replaceAll(/[^A-Za-z0-9_]/g, "").replace(/^[^A-Za-z]+|_+$/g, "");
  return clean === "" ? "Unspecified" : clean;
}

function cut(text: string): string {
  return text.length > longestMessage ? `${text.slice(0, longestMessage - 1)}…` : text;
}

/** In an order that does not depend on who found them first, so that the same problems are the same text. */
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
  return { type, status, reason, message: cut(texts.join("\n")), lastTransitionTime };
}

/** What is there already stays as it is, its time included: only another status is a transition. */
function settle(present: ServiceCondition | undefined, wanted: ServiceCondition): ServiceCondition {
  if (present?.status !== wanted.status) return wanted;
  if (present.reason === wanted.reason && present.message === wanted.message) return present;
  const { lastTransitionTime = wanted.lastTransitionTime } = present;
  return { ...wanted, ...(lastTransitionTime !== undefined && { lastTransitionTime }) };
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
  let isOneTakenBack = false;
  for (const condition of present) {
    if (!wanted.has(condition.type)) {
      conditions.push(condition);
      continue;
    }
    const next = wanted.get(condition.type);
    if (next === undefined) isOneTakenBack = true;
    else conditions.push(settle(condition, next));
  }
  for (const [type, condition] of wanted) {
    if (condition !== undefined && !present.some((each) => each.type === type)) conditions.push(condition);
  }
  const errorOf = (list: readonly ServiceCondition[]) => list.find(({ type }) => type === cloudCondition);
  return {
    conditions,
    isChanged: isOneTakenBack || conditions.some((condition) => !present.includes(condition)),
    isWorthAWrite: isOneTakenBack || errorOf(conditions) !== errorOf(present),
  };
}

function ofSeverity(problems: readonly Problem[], severity: Problem["severity"]): readonly Problem[] {
  return problems.filter((problem) => problem.severity === severity);
}
