// The location of a machine: its datacenter, and its zone and region from the tags of its containers. Pure.

import { textIn } from "#ccm";
import { type ManagedObject, type Reference, referenceIn } from "./api/vim.ts";
import type { VirtualMachine } from "./machine.ts";

/** A host, cluster, folder, datacenter or resource pool. */
export interface Place {
  readonly type: string;
  readonly name: string;
  readonly parent: Reference | undefined;
}

/** By the value of the reference. */
export type Places = ReadonlyMap<string, Place>;

export function placesOf(objects: readonly ManagedObject[]): Places {
  return new Map(
    objects
      .filter(({ ref }) => ref.type !== "VirtualMachine")
      .map(({ ref, properties }) => {
        const { name, parent } = properties;
        return [ref.value, { type: ref.type, name: textIn(name) ?? "", parent: referenceIn(parent) }];
      }),
  );
}

/** More is a circle. */
const maxDepth = 100;

/**
 * The object and its containers, from the inside to the outside. The root folder is in no view, so it comes last, without a location.
 */
export function chainOf(start: Reference | undefined, places: Places): readonly Reference[] {
  const chain: Reference[] = [];
  for (let at = start; at !== undefined && chain.length < maxDepth; at = places.get(at.value)?.parent)
    chain.push(at);
  return chain;
}

/** The datacenter of a machine. Undefined while it is not visible. */
export const datacenterOf = ({ parent }: VirtualMachine, places: Places): Reference | undefined =>
  chainOf(parent, places).find(({ type }) => type === "Datacenter");

/** The path of a place, such as `east/dc-1`. The root folder is not part of it. */
export function pathOf(value: string, places: Places): string {
  const type = places.get(value)?.type ?? "";
  const names = chainOf({ type, value }, places).flatMap((one) => places.get(one.value)?.name ?? []);
  return names.toReversed().join("/");
}

/** The name of the tag of a category, by the value of the reference to which it is attached. */
export interface Tags {
  readonly zone: ReadonlyMap<string, string>;
  readonly region: ReadonlyMap<string, string>;
}

export interface Location {
  readonly zone: string;
  readonly region: string;
}

/** As the Go manager: of several tags on the way out, the last one counts, until both categories are found. */
function locationIn(
  chain: readonly Reference[],
  { zone: zones, region: regions }: Tags,
): Location | undefined {
  let [zone, region]: (string | undefined)[] = [];
  for (const { value } of chain) {
    zone = zones.get(value) ?? zone;
    region = regions.get(value) ?? region;
    if (zone !== undefined && region !== undefined) return { zone, region };
  }
  return undefined;
}

/** The chains to search for tags: the host's, then the resource pool's, then the folders'. */
export const chainsOf = (
  { host, pool, ref, parent }: VirtualMachine,
  places: Places,
): readonly (readonly Reference[])[] => [
  chainOf(host, places),
  chainOf(pool, places),
  [ref, ...chainOf(parent, places)],
];

/** The first chain that has both. */
export function locationOf(machine: VirtualMachine, places: Places, tags: Tags): Location | undefined {
  return chainsOf(machine, places)
    .map((chain) => locationIn(chain, tags))
    .find((found) => found !== undefined);
}
