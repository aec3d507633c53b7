// The sources' answers about a Node. A machine with a different name, where names decide, or a different UUID does not
// count. Pure.

import type { Instance, MatchKey } from "../../provider/instances.ts";
import { answerAbout, isRenamed, type KeyAnswer } from "./instance-index.ts";
import { type NodeIdentity, valuesOf } from "./node-identity.ts";
import type { SourceFailure, SourceInventory } from "./source-inventory.ts";

/** A source's answers about a Node, by the values of one kind of key. */
export function answersOf(
  source: SourceInventory,
  identity: NodeIdentity,
  by: MatchKey,
): readonly (KeyAnswer | undefined)[] {
  return rawAnswersOf(source, identity, by).map(
    (answer) => answer && answerAbout(identity, answer, source.source),
  );
}

function rawAnswersOf(
  source: SourceInventory,
  identity: NodeIdentity,
  by: MatchKey,
): readonly (KeyAnswer | undefined)[] {
  return valuesOf(identity, by, (id) => source.keyOf(id)).map((value) => source.answer(by, value));
}

/** The machines with the Node's id but a different name, where names decide. */
export function renamedMachines(source: SourceInventory, identity: NodeIdentity): readonly Instance[] {
  if (identity.providerID === undefined) return [];
  const found = rawAnswersOf(source, identity, "id").flatMap((answer) => answer?.instances ?? []);
  return found.filter((one) => isRenamed(one, source.source, identity));
}

/** The most recent failure of any source. */
export function newestFailure(sources: readonly SourceInventory[]): SourceFailure | undefined {
  return sources
    .flatMap(({ failure }) => failure ?? [])
    .reduce<SourceFailure | undefined>(
      (newest, failure) => (newest !== undefined && newest.at > failure.at ? newest : failure),
      undefined,
    );
}
