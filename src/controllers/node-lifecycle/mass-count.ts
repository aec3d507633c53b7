// How many Nodes look gone at once, and how many went lately: what the mass limit is about. It counts and decides nothing.

import type { Node } from "../../kube/objects.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf, isReady } from "../node-facts.ts";
import type { Candidates } from "./candidates.ts";
import { type MassDecision, massLimit, RecentDeletions } from "./mass-limit.ts";
import { isAnnouncedAsLeaving, isKept } from "./plan.ts";
import type { LifecycleSettings } from "./settings.ts";

export function createMassCount(
  { nodes, inventory, clock, settings }: NodeDeps & { readonly settings: LifecycleSettings },
  candidates: Candidates,
  /** Ours to delete: the machines of another account's Nodes are in no listing of ours, and say nothing about it. */
  isManaged: (node: Node) => boolean,
) {
  const deletions = new RecentDeletions();
  let counted:
    | { readonly managed: number; readonly missing: ReadonlySet<string>; readonly at: number }
    | undefined;

  const wentUnannounced = (uid: string): void => deletions.add(clock.monotonic(), uid);
  const isAnnounced = (node: Node): boolean =>
    isAnnouncedAsLeaving(node, candidates.evidenceOf(node.metadata.name));

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
      if (inventory.check(identity).kind === "gone") missing.add(node.metadata.name);
    }
    return { managed, missing, at: now };
  };

  return {
    /** Something new is known: what was counted no longer holds. */
    recount: (): void => {
      counted = undefined;
    },
    wentUnannounced,
    /** Follows the Nodes for good: they count by whomever they were deleted. */
    follow: (): void => {
      nodes.subscribe(({ before, after }) => {
        if (before === undefined || before.metadata.uid === after?.metadata.uid || isReady(before)) return;
        if (isManaged(before) && !isAnnounced(before)) wentUnannounced(before.metadata.uid);
      });
    },
    decision: (): MassDecision => {
      const now = clock.monotonic();
      if (counted === undefined || now - counted.at > 1000) counted = count(now);
      const looksGone = new Set(counted.missing);
      for (const [name, { evidence }] of candidates.all) {
        if (evidence !== undefined && evidence.proofs.length > 0) looksGone.add(name);
      }
      let candidateTotal = 0;
      for (const name of looksGone) {
        const node = nodes.get(name);
        if (node !== undefined && !isKept(node) && !isAnnounced(node)) candidateTotal += 1;
      }
      const window = settings.massLimit === "off" ? 0 : settings.massLimit.window;
      const recent = deletions.within(window, now);
      return massLimit(
        { recent, candidates: candidateTotal, managed: counted.managed + recent },
        settings.massLimit,
      );
    },
  };
}
