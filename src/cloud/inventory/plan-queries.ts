// Plans how to answer the pending queries of one source together: which of them are already answered, whether to list
// everything, and which keys to look up. Pure.

import type { Urgency } from "../../provider/call.ts";
import type { InstanceSource, MatchKey } from "../../provider/instances.ts";
import { mostUrgent } from "../urgency.ts";
import { answerAbout, type KeyAnswer } from "./instance-index.ts";
import {
  type Batch,
  batchesFor,
  chooseMethod,
  type Listed,
  type QueryMethod,
  type SourceKeys,
  type Waiting,
} from "./lookup-batches.ts";
import { type NodeIdentity, valuesOf } from "./node-identity.ts";

/** How recent an answer must be, and how urgent it is. */
export interface QueryOptions {
  /** A negative answer counts only if its request began at or after this moment. */
  readonly since: number;
  /** A found machine counts from this earlier moment. */
  readonly foundSince?: number;
  /** A found machine counts only if it was found by this key. If unset, any of the source's keys will do. */
  readonly foundBy?: MatchKey;
  readonly urgency: Urgency;
  /** The only permitted method, when a second, independent proof is needed. If unset, the cheaper method is used. */
  readonly method?: QueryMethod["kind"];
}

export interface InventoryQuery extends QueryOptions {
  /** Undefined for a listing of everything. */
  readonly identity: NodeIdentity | undefined;
}

/** The inventory's current state of the source. */
export interface SourceState {
  readonly keys: SourceKeys;
  readonly lookups: InstanceSource["lookups"];
  readonly nameDecides?: InstanceSource["nameDecides"];
  readonly answer: (by: MatchKey, value: string) => KeyAnswer | undefined;
  /** The last complete listing. */
  readonly latest: ({ readonly beganAt: number } & Listed) | undefined;
  /** The recent lookups since the last listing. */
  readonly recentLookups: readonly Batch[];
}

export interface QueryPlan {
  readonly urgency: Urgency;
  /** Set if a listing is needed that begins at or after this moment. */
  readonly listSince: number | undefined;
  /** The lookups to make after the listing. */
  readonly batches: readonly Batch[];
}

export function planQueries(queries: readonly InventoryQuery[], state: SourceState): QueryPlan {
  const { keys, lookups, latest, recentLookups } = state;
  // A listing that was in progress has answered many of the queries that arrived in the meantime.
  const open = queries.filter((query) => !isFound(query, state));
  const urgency = mostUrgent(open);
  if (open.length === 0) return { urgency, listSince: undefined, batches: [] };
  const free = open.filter(({ method }) => method === undefined);
  const waiting = nodesOf(free, state);
  const mustLookUp = nodesOf(
    open.filter(({ method }) => method === "lookup"),
    state,
  );
  const mustList = open.some(({ method, identity }) => method === "listing" || identity === undefined);
  const since = Math.max(...open.map((query) => query.since));
  const chosen = chooseMethod({
    waiting,
    lookups,
    source: keys,
    latest,
    recent: recentLookups,
  });
  const lists = mustList || (free.length > 0 && chosen.kind === "listing");
  const isListed = latest !== undefined && latest.beganAt >= since;
  return {
    urgency,
    listSince: lists && !isListed ? since : undefined,
    batches: batchesFor(lists ? mustLookUp : [...mustLookUp, ...waiting], lookups, keys) ?? [],
  };
}

/** An answer from a listing does not satisfy a query that requires a lookup. */
function nodesOf(queries: readonly InventoryQuery[], { answer }: SourceState): readonly Waiting[] {
  return queries.flatMap(({ identity, since, method }) => {
    const known: Waiting["known"] = (by, value) => {
      const found = method === undefined ? answer(by, value) : undefined;
      return found !== undefined && found.asOf >= since ? found.instances.length : undefined;
    };
    return identity === undefined ? [] : [{ identity, known }];
  });
}

function isFound(
  { identity, foundSince, foundBy, method }: InventoryQuery,
  { keys: { keyOf, matchBy }, nameDecides, answer }: SourceState,
): boolean {
  if (identity === undefined || foundSince === undefined || method !== undefined) return false;
  const kinds: readonly MatchKey[] = identity.providerID === undefined ? matchBy : ["id"];
  const counting = foundBy === undefined ? kinds : [foundBy];
  return counting.some((by) =>
    valuesOf(identity, by, keyOf).some((value) => {
      const found = answer(by, value);
      // Several instances do not answer the query yet, because an ambiguous name counts only in a listing that is newer than
      // the query.
      if (found === undefined || found.asOf < foundSince) return false;
      return answerAbout(identity, found, { nameDecides }).instances.length === 1;
    }),
  );
}
