// The watches of volume snapshots. The first session with volumes opens them, because the CRDs may
// not exist earlier. They live as long as the process, so the next session does not list again.

import { type FormerLeaders, noticesOtherLeaders } from "../../controllers/former-leaders.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import { apiVersionOf } from "../../kube/resources.ts";
import {
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from "../../kube/volume-snapshots.ts";
import { maxSilence } from "../../kube/watch/watch-connection.ts";
import type { SnapshotCaches, SnapshotWatches } from "../../volumes/controller/deps.ts";
import { type AnyWatch, type WatchDeps, WatchedResource } from "./watched-resource.ts";

export interface SnapshotWatchDeps extends WatchDeps {
  readonly formerLeaders: FormerLeaders;
  /** Aborted to end the watches. */
  readonly life: AbortSignal;
}

interface Opened extends SnapshotCaches {
  readonly watches: readonly AnyWatch[];
}

export class WatchesOfSnapshots implements SnapshotWatches {
  readonly #deps: SnapshotWatchDeps;
  readonly #hasOtherLed: () => boolean;
  #opened: Opened | undefined;
  /** The caches are current once a list that began at this time (monotonic) is complete. */
  #since = 0;

  constructor(deps: SnapshotWatchDeps) {
    this.#deps = deps;
    this.#hasOtherLed = noticesOtherLeaders(deps.formerLeaders);
  }

  async isInstalled(signal: AbortSignal): Promise<boolean> {
    const path = `/apis/${apiVersionOf(volumeSnapshots)}`;
    try {
      await this.#deps.api.request({ verb: "get", resource: volumeSnapshots.plural, path }, signal);
      return true;
    } catch (error) {
      if (isKubeError(error, "not-found")) return false;
      throw error;
    }
  }

  async open(signal: AbortSignal): Promise<SnapshotCaches> {
    const hasHeardAll = this.#opened?.watches.every(hasHeard) === true;
    if (this.#hasOtherLed() || !hasHeardAll) this.#since = this.#deps.clock.monotonic();
    this.#opened ??= this.#start();
    const { watches, ...caches } = this.#opened;
    await Promise.all(watches.map((watch) => watch.whenListed(this.#since, signal)));
    return caches;
  }

  #start(): Opened {
    const { life } = this.#deps;
    const snapshots = new WatchedResource(volumeSnapshots, this.#deps);
    const contents = new WatchedResource(volumeSnapshotContents, this.#deps);
    const classes = new WatchedResource(volumeSnapshotClasses, this.#deps);
    const watches = [snapshots, contents, classes];
    for (const watch of watches) void watch.run(life);
    return { snapshots: snapshots.objects, contents: contents.objects, classes: classes.objects, watches };
  }
}

/** Whether the watch has been active recently enough not to list again. */
function hasHeard(watch: AnyWatch): boolean {
  const age = watch.age();
  return age !== undefined && age <= maxSilence;
}
