// How questions that were gathered are answered together: what of them a listing or a lookup has answered meanwhile, whether
// everything is listed, and what is looked up besides. Pure.

import type { Urgency } from "../provider/call.ts";
import type { InstanceSource, MatchKey } from "../provider/instances.ts";
import { type NodeIdentity, valuesOf } from "./identity.ts";
import type { KeyAnswer } from "./key-answer.ts";
import { type Batch, batchesFor, chooseWay, type SourceKeys, type Way } from "./lookup-or-list.ts";
import { mostUrgent } from "./urgency.ts";

/** What an answer must be like. */
export interface Want {
  /** "There is none" counts only from a request that began at or after this. */
  readonly since: number;
  /** "There it is" may be older than that, down to this. */
  readonly foundSince?: number;
  readonly urgency: Urgency;
  /** A second, independent proof is wanted: this way and no other. Absent: the cheaper one. */
  readonly way?: Way["kind"];
}

export interface Query extends Want {
  /** Absent: everything. */
  readonly identity: NodeIdentity | undefined;
}

/** What is known of the source. */
export interface KnownOfSource {
  readonly keys: SourceKeys;
  readonly lookups: InstanceSource["lookups"];
  readonly answer: (by: MatchKey, value: string) => KeyAnswer | undefined;
  /** The last complete listing. */
  readonly latest: { readonly beganAt: number; readonly pages: number } | undefined;
}

export interface QueryPlan {
  readonly urgency: Urgency;
  /** A listing is made that begins at or after this. */
  readonly listsSince: number | undefined;
  /** Looked up, after that. */
  readonly batches: readonly Batch[];
}

export function planQueries(asked: readonly Query[], known: KnownOfSource): QueryPlan {
  const { keys, lookups, latest } = known;
  // Much of what was asked while a listing was under way has been answered by it.
  const open = asked.filter((query) => !isFound(query, known));
  const urgency = mostUrgent(open);
  if (open.length === 0) return { urgency, listsSince: undefined, batches: [] };
  const free = open.filter(({ way }) => way === undefined);
  const waiting = identitiesOf(free);
  const mustLookUp = identitiesOf(open.filter(({ way }) => way === "lookup"));
  const mustList = open.some(({ way, identity }) => way === "listing" || identity === undefined);
  const chosen = chooseWay({ waiting, lookups, source: keys, pagesOfListing: latest?.pages });
  const lists = mustList || (free.length > 0 && chosen.kind === "listing");
  const since = Math.max(...open.map((query) => query.since));
  const isListed = latest !== undefined && latest.beganAt >= since;
  return {
    urgency,
    listsSince: lists && !isListed ? since : undefined,
    batches: batchesFor(lists ? mustLookUp : [...mustLookUp, ...waiting], lookups, keys) ?? [],
  };
}

function identitiesOf(queries: readonly Query[]): readonly NodeIdentity[] {
  return queries.flatMap(({ identity }) => identity ?? []);
}

function isFound(
  { identity, foundSince, way }: Query,
  { keys: { keyOf, matchBy }, answer }: KnownOfSource,
): boolean {
  if (identity === undefined || foundSince === undefined || way !== undefined) return false;
  const kinds: readonly MatchKey[] = identity.providerID === undefined ? matchBy : ["id"];
  return kinds.some((by) =>
    valuesOf(identity, by, keyOf).some((value) => {
      const found = answer(by, value);
      // Two of them are no answer yet: that a name is ambiguous counts only from a listing that is newer than the question.
      return found?.instances.length === 1 && found.asOf >= foundSince;
    }),
  );
}
