// The connections to the cloud, one per Lease, and how a reload replaces them. Each generation of connections has its own gate:
// when it has been replaced, it changes nothing in the cloud any more.

import type { Instances } from "../../provider/instances.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import { CurrentCloud, changedShape } from "./current-cloud.ts";
import type { Generation, OpenClouds } from "./open-clouds.ts";

type Open = (settings: ReadFlags, generation: Generation) => OpenClouds;

export class CurrentClouds {
  readonly main: CurrentCloud;
  /** The same as `main` if no controllers migrate. */
  readonly migrated: CurrentCloud;
  /** Of the first connection. A reload replaces the sources in the inventory. */
  readonly instances: Instances;
  readonly #open: Open;
  /** What all generations share. */
  readonly #shared = {
    budgets: { main: new Map(), migrated: new Map() },
    undeclaredReasons: new Set<string>(),
  } satisfies Omit<Generation, "isCurrent">;
  #generation = 0;
  #opened = 0;

  /** Throws a ConfigurationError for invalid settings. */
  constructor(open: Open, first: ReadFlags) {
    this.#open = open;
    const { main, migrated, instances } = this.#next(first).clouds;
    this.main = new CurrentCloud(main);
    this.migrated = migrated === main ? this.main : new CurrentCloud(migrated);
    this.instances = instances;
  }

  /**
   * Connects with other settings, without a request. Throws a ConfigurationError if they cannot be used. Returns how to use the
   * new connections, which returns the new sources of instances.
   */
  prepare(settings: ReadFlags): () => Instances["sources"] {
    const { clouds, generation } = this.#next(settings);
    const changed = changedShape(this.main.cloud, clouds.main.cloud);
    if (changed !== undefined) throw new ConfigurationError([needsRestart(changed)]);
    return () => {
      this.#generation = generation;
      this.main.replace(clouds.main);
      if (this.migrated !== this.main) this.migrated.replace(clouds.migrated);
      return clouds.instances.sources;
    };
  }

  #next(settings: ReadFlags): { readonly clouds: OpenClouds; readonly generation: number } {
    const generation = this.#opened;
    this.#opened += 1;
    const isCurrent = (): boolean => this.#generation === generation;
    return { clouds: this.#open(settings, { isCurrent, ...this.#shared }), generation };
  }
}

function needsRestart(changed: string) {
  return {
    severity: "error",
    reason: "NeedsRestart",
    text: `The settings of the cloud change ${changed}, which needs a restart of this process. Restart it to use them.`,
  } as const;
}
