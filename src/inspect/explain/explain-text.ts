// The answer of `explain`, wherever it comes from, as text for a terminal, and its exit code. Pure.

import type { ExitCode } from "../../app/console.ts";
import { seconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import { messageIn } from "../../core/problem.ts";
import { shortList, wrapText } from "../../core/text.ts";
import { describeChange } from "../../runtime/journal.ts";
import type { NotFound } from "./describe-object.ts";
import {
  type DescribedDecision,
  type DescribedEvent,
  type Description,
  durationOf,
  isNamespaced,
  isSettled,
  isStuck,
  type ObjectNote,
  type State,
} from "./description.ts";

const width = 100;

const headings: Readonly<Record<ObjectNote["severity"], string>> = {
  error: "Problem",
  hold: "On hold",
  wait: "Waiting",
  warning: "Warning",
  hint: "Note",
  notice: "Note",
};

function noteText({ severity, reason, cause, sinceSeconds, ...note }: ObjectNote): string {
  const lines = messageIn(note)
    .split("\n")
    .map((line) => wrapText(line, width, "    "));
  const since = sinceSeconds === undefined ? "" : `, for ${durationOf(sinceSeconds)}`;
  return `  ${headings[severity]}: ${reason}${cause === undefined ? "" : ` (${cause})`}${since}\n${lines.join("\n")}`;
}

function decisionText(decision: DescribedDecision): string {
  const { at, object, why, outcome } = decision;
  const time = `${at.slice(0, 19).replace("T", " ")}Z`;
  const result = outcome === "observed" ? "would" : outcome;
  const head = `  ${time}  ${result}: ${describeChange(decision)}${object.startsWith("balancer/") ? ` (${object})` : ""}`;
  const because = wrapText(`because ${why}`, width, "    ");
  const detail = outcome === "observed" ? undefined : decision.detail;
  return [head, because, ...(detail === undefined ? [] : [wrapText(detail, width, "    ")])].join("\n");
}

function eventText({ at, type, reason, message, count, source }: DescribedEvent): string {
  const times = count > 1 ? ` (${count} times)` : "";
  return `  ${at.slice(0, 19).replace("T", " ")}Z  ${type} ${reason}${times}, from ${source}\n${wrapText(message, width, "    ")}`;
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ["", `${title}:`, ...lines];
}

function attemptLines(description: Description): readonly string[] {
  const { nextAttemptInSeconds: after, events } = description;
  // If there are events, no manager was queried, and this command makes no attempt.
  if (events !== undefined) return [];
  if (after !== undefined)
    return [`  ${after === 0 ? "now" : `in ${formatDuration(seconds(after))}`}, or when something changes`];
  return isStuck(description) ? ["  when the object, its Nodes or the cloud change"] : [];
}

const stateText = (state: State): string => (state === "unknown" ? "not known" : state);

export function descriptionText(description: Description): string {
  const { kind, name, state, summary, facts, notes, decisions, events = [] } = description;
  const widest = Math.max(...Object.keys(facts).map(({ length }) => length));
  return [
    `${kind} ${name}: ${stateText(state)}`,
    wrapText(summary, width, "  "),
    "",
    ...Object.entries(facts).map(([label, value]) => `  ${`${label}:`.padEnd(widest + 2)}${value}`),
    ...section("Why", notes.map(noteText)),
    ...section("Next attempt", attemptLines(description)),
    ...section("Last decisions", decisions.map(decisionText)),
    ...section("Events", events.map(eventText)),
    "",
  ].join("\n");
}

const partialText =
  "The Nodes and Services show no problem. What a manager holds back or waits for is not known here. It reports that in events: kubectl get events --all-namespaces --field-selector type=Warning";

/** The state, and the full text of the first finding. */
export function overviewText(answer: Omit<ExplainAnswer, "source">): string {
  const { objects: descriptions, noLeader, isPartial, incomplete, severalLeaders } = answer;
  const head = noLeader === undefined ? "" : `${wrapText(noLeader, width, "")}\n\n`;
  if (descriptions.length === 0 && isPartial === true) return `${head}${wrapText(partialText, width, "")}\n`;
  // With two leaders, a settled object may change with the other leader's next write.
  if (descriptions.length === 0 && severalLeaders !== undefined)
    return `${head}No Node and no Service shows a problem yet.\n`;
  if (descriptions.length === 0) {
    const all =
      incomplete === undefined ? "All Nodes and Services" : "The Nodes and Services that could be evaluated";
    return `${head}${all} ${noLeader === undefined ? "are" : "were"} settled.\n`;
  }
  const alike = Map.groupBy(descriptions, (description) => {
    const { kind, state, summary, remedy } = description;
    return [kind, stateText(state), messageIn({ text: summary, remedy })].join("\n");
  });
  const texts = [...alike].map(([key, members]) => {
    const [kind = "", state = "", ...text] = key.split("\n");
    const list = wrapText(shortList(members.map(({ name }) => name)), width, "  ");
    const one = `${kind} ${members[0]?.name}: ${state}`;
    const title = members.length === 1 ? one : `${members.length} ${kind}s: ${state}\n${list}`;
    return `${title}\n${wrapText(text.join("\n"), width, "  ")}\n`;
  });
  return `${head}${texts.join("")}`;
}

export interface ExplainAnswer {
  /** Where the answer comes from, and what that means for the reader. */
  readonly source: string;
  readonly objects: readonly Description[];
  readonly notFound?: NotFound;
  /** States that no manager leads, and what to do; unset if one leads, or if that is unknown. */
  readonly noLeader?: string;
  /** States that several managers lead at the same time, and what to do. */
  readonly severalLeaders?: string;
  /** States that another program leads, and what that means. */
  readonly otherLeader?: string;
  /** Why the cloud did not answer this command; unset if it did, or if a manager answered. */
  readonly cloudProblem?: string;
  /** Set if neither a manager nor the cloud was queried. Holds and pending attempts are then unknown. */
  readonly isPartial?: true;
  /** Facts that are missing, with the reason. */
  readonly warnings?: readonly string[];
  /** Why objects that are not listed may need attention. */
  readonly incomplete?: string;
}

/**
 * 0: every object is settled. 3: one is not, no manager leads, or several lead. 1: the object does
 * not exist, or facts are missing.
 */
export function exitCodeOf({
  objects,
  notFound,
  noLeader,
  severalLeaders,
  incomplete,
}: ExplainAnswer): ExitCode {
  if (notFound !== undefined) return 1;
  if (noLeader !== undefined || severalLeaders !== undefined) return 3;
  if (!objects.every(isSettled)) return 3;
  return incomplete === undefined ? 0 : 1;
}

export function notFoundText({ kind, name, meant, left }: NotFound): string {
  const [namespace] = name.split("/");
  const plural = `${kind.toLowerCase()}s`;
  const where = isNamespaced(kind) ? `kubectl -n ${namespace} get ${plural}` : `kubectl get ${plural}`;
  const hint = meant === undefined ? `${where} lists all` : `did you mean ${meant}?`;
  const more = left === undefined ? "" : `${hint.endsWith("?") ? "" : "."} ${left}`;
  return `${kind} ${name} does not exist; ${hint}${more}`;
}

export function answerText(answer: ExplainAnswer, isOverview: boolean): string {
  const { source, objects, severalLeaders, otherLeader, cloudProblem, warnings = [] } = answer;
  const shown = isOverview ? overviewText(answer) : objects.map(descriptionText).join("\n");
  const noted = warnings.map((warning) => `${wrapText(`Not known: ${warning}`, width)}\n`).join("");
  // One object already has this among its reasons.
  const first = [severalLeaders, otherLeader, isOverview ? cloudProblem : undefined]
    .flatMap((text) => (text === undefined ? [] : `${wrapText(text, width)}\n\n`))
    .join("");
  return `${first}${shown}\n${noted}${wrapText(`Source: ${source}`, width)}\n`;
}
