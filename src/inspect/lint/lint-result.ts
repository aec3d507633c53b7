// The findings of `lint` with their positions, as lines that editors turn into links, or as GitHub Actions annotations.

import { messageIn, type Problem } from "../../core/problem.ts";
import { countOf } from "../../core/text.ts";

/** An error, a warning, or a hint about something that may be intended and does not change the exit code. */
export interface LintProblem extends Pick<Problem, "severity" | "reason" | "text"> {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The object, such as `Service shop/web`; unset for the file itself. */
  readonly object?: string;
}

export interface LintResult {
  readonly problems: readonly LintProblem[];
  /** The number of checked objects of each kind. */
  readonly checked: Readonly<Record<"files" | "services" | "nodes" | "configurations", number>>;
}

/** A problem with a configuration. If its position is in another file, the position stays in the text. */
export function atPlaceIn(file: string, { place, severity, reason, ...problem }: Problem): LintProblem {
  const isHere = place?.file === file;
  const { line = 1, column = 1 } = isHere ? place : {};
  const text = messageIn({ ...problem, place: isHere ? undefined : place });
  return { file, line, column, severity, reason, text };
}

function summaryOf({ problems, checked }: LintResult, unreadable: number): string {
  const { files, services, nodes, configurations } = checked;
  const objects = [
    countOf(services, "Service"),
    ...(nodes === 0 ? [] : [countOf(nodes, "Node")]),
    countOf(configurations, "configuration"),
  ].join(", ");
  const count = (severity: LintProblem["severity"]) =>
    problems.filter((problem) => problem.severity === severity).length;
  const hints = count("hint");
  const found =
    problems.length === hints
      ? "no problems"
      : `${countOf(count("error"), "error")}, ${countOf(count("warning"), "warning")}`;
  const unread = unreadable === 0 ? "" : ` ${countOf(unreadable, "file")} could not be read.`;
  return `Checked ${objects} in ${countOf(files, "file")}: ${found}${hints === 0 ? "" : `, ${countOf(hints, "hint")}`}.${unread}`;
}

function line({ file, line: at, column, severity, text, reason, object }: LintProblem): string {
  const about = object === undefined ? "" : `${object}: `;
  return `${file}:${at}:${column}: ${severity}: ${about}${text} [${reason}]\n`;
}

export function lintText(result: LintResult, unreadable = 0): string {
  return `${result.problems.map(line).join("")}${summaryOf(result, unreadable)}\n`;
}

const escapeData = (text: string): string =>
  text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
const escapeProperty = (text: string): string =>
  escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");

/** Workflow commands: GitHub shows them at the lines of a pull request. */
export function lintAnnotations(result: LintResult, unreadable = 0): string {
  const annotations = result.problems.map(
    ({ file, line: at, column, severity, reason, text, object }) =>
      `::${severity === "hint" ? "notice" : severity} file=${escapeProperty(file)},line=${at},col=${column},title=${escapeProperty(reason)}::${escapeData(object === undefined ? text : `${object}: ${text}`)}\n`,
  );
  return `${annotations.join("")}${summaryOf(result, unreadable)}\n`;
}
