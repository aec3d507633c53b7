// The changes that the manager would make after a start, as data, as text, and as an exit code. Pure.

import type { ExitCode } from "../app/console.ts";
import { defined } from "../core/defined.ts";
import { countOf, wrapText } from "../core/text.ts";
import { describeChange } from "../runtime/journal.ts";
import { type Description, isStuck } from "./explain/description.ts";
import type { Evaluated } from "./observe-once.ts";

export type PlanAnswer = ReturnType<typeof planAnswer>;
type PlannedChange = PlanAnswer["changes"][number];
type AttentionObject = PlanAnswer["attention"][number];

/** Writing its conditions does not change why the object waits. */
const isChanged = ({ kind, decisions }: Description): boolean =>
  decisions.some(
    ({ outcome, object }) => outcome === "observed" && (kind === "Node" || object.startsWith("balancer/")),
  );

const byTarget = { cloud: 0, cluster: 1 } as const;

export function planAnswer(
  { changes, warnings, unfinished, unlisted, refused }: Omit<Evaluated, "manager">,
  described: readonly Description[],
) {
  const [first] = refused;
  const missing = [unfinished ?? [], unlisted].flat();
  const ofServices = described.filter(({ kind }) => kind === "Service");
  return defined({
    /** The numbers of evaluated objects. Another controller serves the ignored Services. */
    observed: {
      nodes: described.filter(({ kind }) => kind === "Node").length,
      services: ofServices.length,
      servicesLeftAlone: ofServices.filter(({ state }) => state === "unmanaged").length,
    },
    changes: changes
      .map((entry) => {
        const { target, object, why } = entry;
        return { target, object, change: describeChange(entry), why };
      })
      .toSorted((a, b) => byTarget[a.target] - byTarget[b.target]),
    /** Objects that wait, are on hold or have a problem. A start would not change objects with `stays`. */
    attention: described.filter(isStuck).map((object) => {
      const { kind, name, state, summary, notes } = object;
      return { kind, name, state, summary, notes, stays: !isChanged(object) };
    }),
    /** Findings that do not concern a single object. */
    warnings,
    /** Why the plan is incomplete; unset if it is complete. */
    incomplete:
      first !== undefined
        ? `the provider sent ${first} while it only had to read. It was refused; please file a bug`
        : missing.length > 0
          ? missing.join("; ")
          : undefined,
  });
}

/** 0: nothing to do. 3: something would be changed, or needs attention. 1: the plan is incomplete. */
export function planExitCode({ changes, attention, incomplete }: PlanAnswer): ExitCode {
  if (incomplete !== undefined) return 1;
  return changes.length + attention.length === 0 ? 0 : 3;
}

const width = 100;
function changeText({ object, change, why }: PlannedChange): string {
  return [`  ${object}`, wrapText(change, width, "    "), wrapText(`because ${why}`, width, "    ")].join(
    "\n",
  );
}

function attentionText({ kind, name, state, summary }: AttentionObject): string {
  return `  ${kind} ${name}: ${state}\n${wrapText(summary, width, "    ")}`;
}

export function planText({ observed, changes, attention, warnings, incomplete }: PlanAnswer): string {
  const section = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : [`${title}:`, "", ...lines, ""];
  const linesOf = (target: PlannedChange["target"]): readonly string[] =>
    changes.filter((change) => change.target === target).map(changeText);
  const { nodes, services, servicesLeftAlone: others } = observed;
  const left =
    others === 0 ? "" : ` (${others} left alone; explain says who serves ${others === 1 ? "it" : "them"})`;
  const seen = `${countOf(nodes, "Node")} and ${countOf(services, "Service")} of type LoadBalancer${left}`;
  const would =
    changes.length === 0 ? "no changes would be made" : `${countOf(changes.length, "change")} would be made`;
  const staying = attention.filter(({ stays }) => stays);
  const open =
    staying.length === 0
      ? ""
      : `, and ${countOf(staying.length, "object")} would stay as ${staying.length === 1 ? "it is" : "they are"}`;
  return [
    ...section("A start of the manager would change in the cloud", linesOf("cloud")),
    ...section("A start of the manager would change in the cluster", linesOf("cluster")),
    ...section(
      "These objects would change, and have a problem or a warning; explain says more",
      attention.filter(({ stays }) => !stays).map(attentionText),
    ),
    ...section("These objects would stay as they are; explain says more", staying.map(attentionText)),
    ...section(
      "Warnings",
      warnings.map((warning) => wrapText(warning, width, "  ")),
    ),
    `Plan: ${seen}: ${would}${open}.`,
    ...(incomplete === undefined ? [] : [`The plan is incomplete: ${incomplete}.`]),
    "",
  ].join("\n");
}
