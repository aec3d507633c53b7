// The location of a machine: its datacenter, and its zone and region from the tags of its containers. Pure.

import { textIn } from "#ccm";
import type { Tag } from "./api/tags-api.ts";
import { type ManagedObject, type Reference, referenceIn } from "./api/vim.ts";
import type { VirtualMachine } from "./machine.ts";

/** A host, cluster, folder, datacenter or resource pool. */
export interface Place {
  readonly type: string;
  readonly name: string;
  readonly parent: Reference | undefined;
}

/** The places by the value of the reference. */
export type Places = ReadonlyMap<string, Place>;

/** The tags by the reference value of the object that has them. */
export type AttachedTags = ReadonlyMap<string, readonly Tag[]>;

/** The names of the tag categories. */
export interface Categories {
  readonly zone: string;
  readonly region: string;
}

export interface Location {
  readonly zone: string;
  readonly region: string;
}

export function placesOf(objects: readonly ManagedObject[]): Places {
  return new Map(
    objects
      .filter(({ ref }) => ref.type !== "VirtualMachine")
      .map(({ ref, properties: { name, parent } }) => [
        ref.value,
        { type: ref.type, name: textIn(name) ?? "", parent: referenceIn(parent) },
      ]),
  );
}

/** A longer chain is a cycle. */
const maxDepth = 100;

/**
 * The object and its containers, from the inside to the outside. The root folder is in no view, so it is the last one, without a
 * place.
 */
function chainOf(start: Reference | undefined, places: Places): readonly Reference[] {
  const chain: Reference[] = [];
  for (let at = start; at !== undefined && chain.length < maxDepth; at = places.get(at.value)?.parent)
    chain.push(at);
  return chain;
}

/** The datacenter of a machine. Undefined if it is not visible. */
export const datacenterOf = ({ parent }: VirtualMachine, places: Places): Reference | undefined =>
  chainOf(parent, places).find(({ type }) => type === "Datacenter");

/** The path of a place, for example `east/dc-1`. The root folder is not part of it. */
export function pathOf(value: string, places: Places): string {
  const type = places.get(value)?.type ?? "";
  const names = chainOf({ type, value }, places).flatMap((one) => places.get(one.value)?.name ?? []);
  return names.toReversed().join("/");
}

/**
 * The location in the way of the Go manager: of several tags on the way out, the last one counts, until both categories are
 * found.
 */
function locationIn(
  chain: readonly Reference[],
  tags: AttachedTags,
  categories: Categories,
): Location | undefined {
  let [zone, region]: (string | undefined)[] = [];
  for (const { value } of chain) {
    const named = (wanted: string) => tags.get(value)?.findLast(({ category }) => category === wanted)?.name;
    zone = named(categories.zone) ?? zone;
    region = named(categories.region) ?? region;
    if (zone !== undefined && region !== undefined) return { zone, region };
  }
  return undefined;
}

/**
 * The tags of the host, else of the resource pool, else of the machine and its folders: the first of these chains that has both
 * tags.
 */
export function locationOf(
  { host, pool, ref, parent }: VirtualMachine,
  places: Places,
  tags: AttachedTags,
  categories: Categories,
): Location | undefined {
  return [chainOf(host, places), chainOf(pool, places), [ref, ...chainOf(parent, places)]]
    .map((chain) => locationIn(chain, tags, categories))
    .find((found) => found !== undefined);
}
