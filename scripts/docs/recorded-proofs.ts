// scripts/docs/recorded-proofs.json: the proofs of the executable, cluster and tool suites from their last runs. A recorded
// proof is valid as long as its file still has a test with that feature id.

import { idsOf, type Proofs, type Suite } from "./features.ts";

export type Recorded = Readonly<Record<Exclude<Suite, "plain">, Proofs>>;

const byId = new Intl.Collator("en", { numeric: true });

/** Sorted by id, so that the recorded file changes only with its content. */
export function sortedProofs(proofs: Proofs): Proofs {
  return Object.fromEntries(Object.entries(proofs).toSorted(([a], [b]) => byId.compare(a, b)));
}

/** `sourceOf` returns the text of a file, or undefined if the file does not exist. */
export function validProofs(proofs: Proofs, sourceOf: (file: string) => string | undefined): Proofs {
  return Object.fromEntries(
    Object.entries(proofs).filter(([id, file]) => idsOf(sourceOf(file) ?? "").includes(id)),
  );
}
