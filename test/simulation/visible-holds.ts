// Checks invariant 23 for Nodes: an event states that a mass limit holds the Node.

import { massDeletionReason } from "../../src/controllers/node-lifecycle/texts.ts";
import type { World } from "./world.ts";

interface StoredEvent {
  readonly reason: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

/** The Nodes on which no event reports the hold. */
export const silentlyHeld = (
  { server }: Pick<World, "server">,
  held: readonly string[],
): readonly string[] => {
  const events = server.store.list("events") as unknown as readonly StoredEvent[];
  const reported = new Set(
    events.flatMap(({ reason, involvedObject: { kind, name } }) =>
      kind === "Node" && reason === massDeletionReason ? [name] : [],
    ),
  );
  return held.filter((name) => !reported.has(name));
};
