// The names of the controllers, upstream's included, and which controllers --controllers enables. Unknown names are errors, so
// that a typo never leaves a controller enabled.

import { didYouMean } from "../../core/did-you-mean.ts";
import type { Problem } from "../../core/problem.ts";

/** Upstream's current name and its older aliases, by Fairlead's name. */
const names = {
  "cloud-node": ["cloud-node-controller"],
  "cloud-node-lifecycle": ["cloud-node-lifecycle-controller"],
  service: ["service-lb-controller", "service-controller"],
  "node-route": ["node-route-controller", "route", "route-controller"],
  "kubelet-serving-csr": [],
  volume: [],
  tagging: [],
} as const satisfies Record<string, readonly string[]>;

export type ControllerName = keyof typeof names;

/** As in kube-controller-manager, `*` does not enable these controllers; naming them does. */
const offByDefault: readonly ControllerName[] = ["kubelet-serving-csr", "volume", "tagging"];

const spellings = new Map<string, ControllerName>(
  (Object.keys(names) as ControllerName[]).flatMap((name) =>
    [name, ...names[name]].map((spelling) => [spelling, name] as const),
  ),
);

export const controllerNamed = (spelling: string): ControllerName | undefined => spellings.get(spelling);

/** The closest spelling, or else all controllers with a similar word in their name, as `node` is in `cloud-node`. */
function suggestionsFor(spelling: string): readonly string[] {
  const nearest = didYouMean(spelling, spellings.keys());
  if (nearest !== undefined) return [nearest];
  const known = Object.keys(names);
  const word = didYouMean(spelling, new Set(known.flatMap((name) => name.split("-"))));
  return known.filter((name) => word !== undefined && name.split("-").includes(word));
}

/**
 * `*` enables all controllers that are not off by default, a name enables one controller, `-name` disables it and takes precedence
 * in any position.
 */
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
    if (word === "*") {
      for (const known of spellings.values()) if (!offByDefault.includes(known)) on.add(known);
    } else if (name !== undefined) (word.startsWith("-") ? off : on).add(name);
    else {
      const sign = word.slice(0, word.length - spelling.length);
      const meant = suggestionsFor(spelling).map((known) => sign + known);
      const hint =
        meant.length === 0
          ? `controllers: ${Object.keys(names).join(", ")}`
          : `did you mean ${meant.join(" or ")}?`;
      problems.push({
        severity: "error",
        reason: "UnknownController",
        key: "--controllers",
        text: `--controllers contains the unknown controller ${JSON.stringify(word)}; ${hint}`,
      });
    }
  }
  return { enabled: new Set([...on].filter((name) => !off.has(name))), problems };
}
