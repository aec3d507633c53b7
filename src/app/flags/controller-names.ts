// The controllers by every name that operators know them by, and which of them `--controllers` asks for. What is not known
// is refused: whoever switches something off must be able to rely on it.

import { didYouMean } from "../../core/did-you-mean.ts";
import type { Problem } from "../../core/problem.ts";

/** Task, then upstream's registry name and its older alias. */
const names = {
  "cloud-node": ["cloud-node-controller"],
  "cloud-node-lifecycle": ["cloud-node-lifecycle-controller"],
  service: ["service-lb-controller", "service-controller"],
  "node-route": ["node-route-controller", "route", "route-controller"],
} as const satisfies Record<string, readonly string[]>;

export type ControllerName = keyof typeof names;

const spellings = new Map<string, ControllerName>(
  (Object.keys(names) as ControllerName[]).flatMap((name) =>
    [name, ...names[name]].map((spelling) => [spelling, name] as const),
  ),
);

/** By any of its names. */
export const controllerNamed = (spelling: string): ControllerName | undefined => spellings.get(spelling);

/** `*` for all, a name for one, `-name` against one; against wins, wherever it stands. */
export function chooseControllers(wanted: readonly string[]): {
  readonly enabled: ReadonlySet<ControllerName>;
  readonly problems: readonly Problem[];
} {
  const problems: Problem[] = [];
  const on = new Set<ControllerName>();
  const off = new Set<ControllerName>();
  for (const word of wanted) {
    const spelling = word.replace(/^-/, "");
    const name = spellings.get(spelling);
    if (word === "*") for (const each of spellings.values()) on.add(each);
    else if (name !== undefined) (word.startsWith("-") ? off : on).add(name);
    else {
      const meant = didYouMean(spelling, spellings.keys());
      const hint =
        meant === undefined ? `there are ${Object.keys(names).join(", ")}` : `did you mean ${meant}?`;
      problems.push({
        severity: "error",
        reason: "UnknownController",
        key: "--controllers",
        text: `--controllers names ${JSON.stringify(word)}, which is not known; ${hint}`,
      });
    }
  }
  return { enabled: new Set([...on].filter((name) => !off.has(name))), problems };
}
