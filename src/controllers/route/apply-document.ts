// Carries out a plan where the table is one document: one change for all of it. When somebody else changed the document
// meanwhile it is read and planned anew; when the cloud refuses the whole, it is halved until what is wrong stands alone.

import { type Cidr, milliseconds } from "../../core/brand.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { RoutesAsDocument } from "../../provider/routes.ts";
import {
  type ApplyOptions,
  aboutOf,
  attempt,
  type ChangeOutcome,
  type ChangeResult,
  heldBack,
  keyOf,
  type RouteChange,
} from "./apply.ts";
import { planOnly, type RoutePlan } from "./plan.ts";
import type { RouteListing } from "./route-table.ts";

export interface DocumentOptions extends ApplyOptions {
  readonly routes: RoutesAsDocument;
  /** The document as it is now, not as it was before the last change. */
  readonly readAgain: () => Promise<RouteListing>;
  readonly planFor: (listing: RouteListing) => RoutePlan;
}

const mostReads = 3;
/** Changes sent in one pass while looking for the one that is wrong. */
const mostHalvings = 32;

export const applyDocument = async (
  listing: RouteListing,
  options: DocumentOptions,
  call: Call,
): Promise<readonly ChangeResult[]> => {
  const { routes, rests } = options;
  const results = new Map<string, ChangeResult>();
  let current: RouteListing | undefined = listing;
  let sent = 0;

  const note = (changes: readonly RouteChange[], outcome: ChangeOutcome): void => {
    for (const change of changes) results.set(keyOf(change), { change, outcome });
  };

  /** What was done up to here counts, whatever becomes of the rest: the next pass goes on with it. */
  const readIfNeeded = async (group: ReadonlySet<Cidr>): Promise<RouteListing | undefined> => {
    try {
      current ??= await options.readAgain();
      return current;
    } catch (error) {
      if (call.signal.aborted || results.size === 0) throw error;
      const left = changesOf(planOnly(options.planFor(listing), group));
      note(
        left.filter((change) => !results.has(keyOf(change))),
        { kind: "failed", error, took: milliseconds(0) },
      );
      return undefined;
    }
  };

  const send = async (group: ReadonlySet<Cidr>): Promise<void> => {
    for (let reads = 1; ; reads++) {
      const before = await readIfNeeded(group);
      if (before === undefined) return;
      if (before.document === undefined)
        throw new TypeError("A table that is one document was listed as pages.");
      const { document } = before;
      const plan = planOnly(options.planFor(before), group);
      const changes = changesOf(plan);
      if (changes.length === 0) return;
      const outcome = await attempt(changes, options, () => routes.change(plan, document, call), call);
      sent += 1;
      if (outcome.kind !== "observed" && outcome.kind !== "fenced") current = undefined;
      if (outcome.kind === "failed" && isKind(outcome.error, "conflict") && reads < mostReads) continue;
      const isRefused = outcome.kind === "failed" && isKind(outcome.error, "invalid", "quota");
      if (!isRefused || group.size < 2 || sent >= mostHalvings) return note(changes, outcome);
      const halves = [...group];
      const middle = Math.ceil(halves.length / 2);
      await send(new Set(halves.slice(0, middle)));
      return send(new Set(halves.slice(middle)));
    }
  };

  const all = changesOf(options.planFor(listing));
  const fresh = new Set<Cidr>();
  const failedBefore = new Set<Cidr>();
  for (const [destination, changes] of Map.groupBy(all, ({ route }) => route.destination)) {
    const held = changes.flatMap((change) => heldBack(rests, change) ?? [])[0];
    if (held !== undefined) note(changes, held);
    else if (changes.some((change) => rests.failuresOf(keyOf(change), aboutOf(change)) > 0)) {
      failedBefore.add(destination);
    } else fresh.add(destination);
  }
  // What was refused before goes by itself: it must not take the others down with it again.
  for (const group of [fresh, failedBefore]) if (group.size > 0) await send(group);
  return [...results.values()];
};

const changesOf = ({ remove, create }: RoutePlan): readonly RouteChange[] => [
  ...remove.map((route) => ({ do: "remove", route }) as const),
  ...create.map((route) => ({ do: "create", route }) as const),
];

const isKind = (error: unknown, ...kinds: readonly string[]): boolean =>
  CloudError.is(error) && kinds.includes(error.kind);
