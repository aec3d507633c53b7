// Reads the location of machines: their containers, and the containers' tags. Keeps the result of the last listing, for lookups.

import type { Call } from "#ccm";
import type { TagsApi } from "./api/tags-api.ts";
import type { VCenterApi } from "./api/vcenter-api.ts";
import type { ManagedObject } from "./api/vim.ts";
import type { VirtualMachine } from "./machine.ts";
import {
  type AttachedTags,
  type Categories,
  type Location,
  locationOf,
  type Places,
  placesOf,
} from "./zones.ts";

/** Undefined for a machine without a location, and if no categories are configured. */
export type LocationOf = (machine: VirtualMachine) => Location | undefined;

/** The inventory as last read. */
export interface Known {
  readonly places: Places;
  readonly tags: AttachedTags;
}

const nothing: Known = { places: new Map(), tags: new Map() };

export interface LocationsOptions {
  readonly api: Pick<VCenterApi, "places">;
  readonly tags: TagsApi;
  /** Undefined if Nodes get neither zone nor region. */
  readonly categories: Categories | undefined;
  readonly hasDatacenters: boolean;
}

export class Locations {
  readonly #options: LocationsOptions;
  #known: Known | undefined;

  constructor(options: LocationsOptions) {
    this.#options = options;
  }

  get usesTags(): boolean {
    return this.#options.categories !== undefined;
  }

  /** The objects of the last listing; read immediately if there was none yet. */
  async places(call: Call): Promise<Places> {
    return (this.#known ?? (await this.#read(call))).places;
  }

  /** Replaces the known objects with a listing. */
  async learn(objects: readonly ManagedObject[], call: Call): Promise<Known> {
    const places = placesOf(objects);
    const inside = objects.filter(({ ref }) => places.has(ref.value)).map(({ ref }) => ref);
    // Objects that are in no view, such as the root folder.
    const outside = [...places.values()].flatMap(({ parent }) =>
      parent === undefined || places.has(parent.value) ? [] : [[parent.value, parent] as const],
    );
    const tags = await this.#attached([...inside, ...new Map(outside).values()], call);
    this.#known = { places, tags };
    return this.#known;
  }

  /** The known inventory, read again if it lacks a required location of a machine. */
  async knownFor(machines: readonly VirtualMachine[], call: Call): Promise<Known> {
    const { hasDatacenters } = this.#options;
    const known = this.#known;
    if (!hasDatacenters && !this.usesTags) return known ?? nothing;
    const isShown = machines.every(({ host, pool, parent }) =>
      [host, pool, parent].every((one) => one === undefined || known?.places.has(one.value)),
    );
    return known !== undefined && isShown ? known : this.#read(call);
  }

  /** The zones of these machines. Their own tags are read only if no container has both tags. */
  async locate(
    machines: readonly VirtualMachine[],
    { places, tags }: Known,
    call: Call,
  ): Promise<LocationOf> {
    const { categories } = this.#options;
    if (categories === undefined) return () => undefined;
    const untagged = machines.filter((one) => locationOf(one, places, tags, categories) === undefined);
    const own = await this.#attached(
      untagged.map(({ ref }) => ref),
      call,
    );
    const all = new Map([...tags, ...own]);
    return (machine) => locationOf(machine, places, all, categories);
  }

  async #read(call: Call): Promise<Known> {
    return this.learn(await this.#options.api.places(call), call);
  }

  async #attached(objects: Parameters<TagsApi["attached"]>[0], call: Call): Promise<AttachedTags> {
    return this.usesTags ? this.#options.tags.attached(objects, call) : new Map();
  }
}
