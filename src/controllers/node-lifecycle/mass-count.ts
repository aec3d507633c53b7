// How many Nodes look gone at once, and how many went lately: what the mass limit is about. It counts and decides nothing.

import type { Inventory } from "../../cloud/inventory.ts";
import type { Node } from "../../kube/objects.ts";
import type { Clock } from "../../seams/clock.ts";
import { identityOf } from "../node-facts.ts";
import type { NodeStore } from "../node-ports.ts";
import { type Evidence, noEvidence } from "./evidence.ts";
import { type MassVerdict, massLimit, RecentDeletions } from "./mass-limit.ts";
import { isAnnouncedAsLeaving, isKept } from "./plan.ts";
import type { LifecycleSettings } from "./settings.ts";

export interface MassCountParts {
  readonly nodes: NodeStore;
  readonly inventory: Inventory;
  readonly clock: Clock;
  readonly settings: LifecycleSettings;
  readonly evidence: ReadonlyMap<string, Evidence>;
  /** Ours to delete: the machines of another account's Nodes are in no listing of ours, and say nothing about it. */
  readonly isManaged: (node: Node) => boolean;
}

export const createMassCount = (parts: MassCountParts) => {
  const { nodes, inventory, clock, settings, evidence, isManaged } = parts;
  const deletions = new RecentDeletions();
  let counted:
    | { readonly managed: number; readonly missing: ReadonlySet<string>; readonly at: number }
    | undefined;

  /** A listing without the machines of many Nodes is no less wrong because most of these Nodes are Ready. */
  const count = (now: number): NonNullable<typeof counted> => {
    const missing = new Set<string>();
    let managed = 0;
    for (const node of nodes.list()) {
      if (!isManaged(node)) continue;
      const identity = identityOf(node);
      managed += 1;
      // A Node without id may be younger than its machine is visible.
      if (identity.providerID === undefined) continue;
      if (inventory.look(identity).kind === "gone") missing.add(node.metadata.name);
    }
    return { managed, missing, at: now };
  };

  return {
    /** Something new is known: what was counted no longer holds. */
    recount: (): void => {
      counted = undefined;
    },
    /** Unannounced, by whomever. */
    wentUnannounced: (uid: string): void => deletions.add(clock.monotonic(), uid),
    verdict: (): MassVerdict => {
      const now = clock.monotonic();
      if (counted === undefined || now - counted.at > 1000) counted = count(now);
      const suspects = new Set(counted.missing);
      for (const [name, known] of evidence) if (known.proofs.length > 0) suspects.add(name);
      let candidates = 0;
      for (const name of suspects) {
        const node = nodes.get(name);
        const known = evidence.get(name) ?? noEvidence(0);
        if (node !== undefined && !isKept(node) && !isAnnouncedAsLeaving(node, known)) candidates += 1;
      }
      const window = settings.massLimit === "off" ? 0 : settings.massLimit.window;
      const recent = deletions.within(window, now);
      return massLimit({ recent, candidates, managed: counted.managed + recent }, settings.massLimit);
    },
  };
};
