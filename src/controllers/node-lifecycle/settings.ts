// What an operator can decide about the deletion of Nodes, as one value with our defaults.

import { type Milliseconds, minutes, seconds } from "../../core/brand.ts";

export interface LifecycleSettings {
  /** `observe`: say what would be deleted. `off`: never delete; the shutdown taint is kept all the same. */
  readonly deletion: "off" | "observe" | "enforce";
  /** Proofs of absence that a deletion takes; upstream's is one. */
  readonly proofs: 1 | 2;
  /** Time between the first and the last proof, at least. */
  readonly confirmAfter: Milliseconds;
  /** Share of all our Nodes that may go unannounced within the window, and how many may go in any case. */
  readonly massLimit:
    | { readonly share: number; readonly atLeast: number; readonly window: Milliseconds }
    | "off";
  /** A Node without provider id is younger than its machine is visible; it is not deleted before this age. */
  readonly minAgeWithoutID: Milliseconds;
  /** When the shutdown taint goes: as soon as the machine runs, or, as upstream, when the Node is Ready. */
  readonly shutdownTaintGoes: "when-running" | "when-ready";
  /** Between two looks at a Node that is not Ready but whose machine exists. */
  readonly recheck: { readonly shortest: Milliseconds; readonly longest: Milliseconds };
}

export const lifecycleDefaults: LifecycleSettings = {
  deletion: "enforce",
  proofs: 2,
  confirmAfter: seconds(30),
  massLimit: { share: 0.2, atLeast: 2, window: minutes(10) },
  minAgeWithoutID: minutes(10),
  shutdownTaintGoes: "when-running",
  recheck: { shortest: minutes(1), longest: minutes(5) },
};
