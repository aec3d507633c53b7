// Reads the location of machines: their containers, and the containers' tags. Keeps the result of the last listing, for lookups.

import type { Call } from "#ccm";
import type { Tag, TagsApi } from "./api/tags-api.ts";
import type { VCenterApi } from "./api/vcenter-api.ts";
import type { ManagedObject } from "./api/vim.ts";
import type { VirtualMachine } from "./machine.ts";
import { type Location, locationOf, type Place, type Places, placesOf, type Tags } from "./zones.ts";

/** The names of the categories of tags. */
export interface Categories {
  readonly zone: string;
  readonly region: string;
}

/** Undefined for a machine that has none, and where none is configured. */
export type LocationOf = (machine: VirtualMachine) => Location | undefined;

/** The known inventory. */
export interface Known {
  readonly places: Places;
  readonly tags: Tags;
}

function tagsOf(attached: ReadonlyMap<string, readonly Tag[]>, { zone, region }: Categories): Tags {
  const named = (category: string) =>
    new Map(
      [...attached].flatMap(([value, tags]) => {
        const tag = tags.findLast((one) => one.category === category);
        return tag === undefined ? [] : [[value, tag.name] as const];
      }),
    );
  return { zone: named(zone), region: named(region) };
}

const nothing: Known = { places: new Map(), tags: { zone: new Map(), region: new Map() } };

const merged = (one: Tags, other: Tags): Tags => ({
  zone: new Map([...one.zone, ...other.zone]),
  region: new Map([...one.region, ...other.region]),
});

export class Locations {
  readonly #api: VCenterApi;
  readonly #tags: TagsApi;
  /** Undefined: Nodes get neither zone nor region. */
  readonly #categories: Categories | undefined;
  /** Whether the datacenter or the zone of machines matters. */
  readonly #areNeeded: boolean;
  #known: Known | undefined;

  constructor(
    api: VCenterApi,
    tags: TagsApi,
    {
      categories,
      hasDatacenters,
    }: { readonly categories: Categories | undefined; readonly hasDatacenters: boolean },
  ) {
    this.#api = api;
    this.#tags = tags;
    this.#categories = categories;
    this.#areNeeded = hasDatacenters || categories !== undefined;
  }

  get usesTags(): boolean {
    return this.#categories !== undefined;
  }

  /** The objects of the last listing; read now before the first listing. */
  async places(call: Call): Promise<Places> {
    return (this.#known ?? (await this.learn(await this.#api.places(call), call))).places;
  }

  /** Replaces the known objects with a listing. */
  async learn(objects: readonly ManagedObject[], call: Call): Promise<Known> {
    const places = placesOf(objects);
    const inside = objects.filter(({ ref }) => ref.type !== "VirtualMachine").map(({ ref }) => ref);
    const roots = [...places.values()].flatMap(({ parent }: Place) =>
      parent === undefined || places.has(parent.value) ? [] : [parent],
    );
    const root = new Map(roots.map((one) => [one.value, one]));
    const attached =
      this.#categories === undefined
        ? new Map()
        : await this.#tags.attached([...inside, ...root.values()], call);
    this.#known = { places, tags: tagsOf(attached, this.#categories ?? { zone: "", region: "" }) };
    return this.#known;
  }

  /** The known inventory, reread if it lacks the location of a machine and the location is needed. */
  async knownFor(machines: readonly VirtualMachine[], call: Call): Promise<Known> {
    const known = this.#known;
    if (!this.#areNeeded) return known ?? nothing;
    const isShown = ({ places }: Known) =>
      machines.every(({ host, pool, parent }) =>
        [host, pool, parent].every((one) => one === undefined || places.has(one.value)),
      );
    return known !== undefined && isShown(known) ? known : this.learn(await this.#api.places(call), call);
  }

  /** The zones of these machines. Their own tags are read only if nothing else has both. */
  async locate(
    machines: readonly VirtualMachine[],
    { places, tags }: Known,
    call: Call,
  ): Promise<LocationOf> {
    const categories = this.#categories;
    if (categories === undefined) return () => undefined;
    const untagged = machines.filter((machine) => locationOf(machine, places, tags) === undefined);
    const attached = await this.#tags.attached(
      untagged.map(({ ref }) => ref),
      call,
    );
    const all = merged(tags, tagsOf(attached, categories));
    return (machine) => locationOf(machine, places, all);
  }
}
