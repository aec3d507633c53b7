// Notes when each object of a selection was first seen, at the least cost for server and machine: names only, cut out of
// the lines of a watch without decoding them. A watch that ends, or stands still, is opened again where it stood.

import type { KubeApi } from "../../src/kube/client/api.ts";
import type { KubeObject } from "../../src/kube/objects.ts";
import type { Resource } from "../../src/kube/resources.ts";
import { readNames } from "./read-names.ts";

export interface FollowedNames {
  readonly opened: Promise<void>;
  /** Moments of performance.now(), by name. */
  readonly at: ReadonlyMap<string, number>;
  /** How often it had to be opened; more than once means that the figures may be of the watch and not of the manager. */
  readonly openings: () => number;
}

/** What there is already, then what happens; an end of history leads back to it. */
const fromAnywhere = "0";
const restMs = 200;
/** While everybody works, something comes all the time; a watch that is silent for longer is asked anew. */
const longestSilenceMs = 15_000;

export function followNames<T extends KubeObject>(
  api: KubeApi,
  resource: Resource<T>,
  selector: { readonly labelSelector?: string; readonly fieldSelector?: string },
  signal: AbortSignal,
): FollowedNames {
  const at = new Map<string, number>();
  const opened = Promise.withResolvers<void>();
  let openings = 0;
  let resourceVersion = fromAnywhere;
  const once = async (): Promise<void> => {
    const query = { watch: true, resourceVersion, timeoutSeconds: 3600, ...selector };
    const stream = await api.openWatch(resource, { query }, signal);
    openings += 1;
    opened.resolve();
    signal.addEventListener("abort", stream.close, { once: true });
    const read = readNames();
    const cutLater = () => setTimeout(() => stream.close(), longestSilenceMs);
    let cut = cutLater();
    try {
      for await (const part of stream.body) {
        clearTimeout(cut);
        cut = cutLater();
        const now = performance.now();
        for (const line of read(part)) {
          // Before anything of ours is there, nothing matches: what comes is in the order in which it was written.
          resourceVersion = line === "gone" ? fromAnywhere : line.resourceVersion;
          if (line !== "gone" && !at.has(line.name)) at.set(line.name, now);
        }
      }
    } finally {
      clearTimeout(cut);
      signal.removeEventListener("abort", stream.close);
      stream.close();
    }
  };
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await once();
      } catch (error) {
        if (openings === 0) throw error;
        await Bun.sleep(restMs);
      }
    }
  };
  follow().catch((error: unknown) => opened.reject(error));
  return { opened: opened.promise, at, openings: () => openings };
}
