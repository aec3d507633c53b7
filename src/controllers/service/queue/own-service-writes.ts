// Recognizes Fairlead's own writes to Services in the watch, so that they do not enqueue the Service again. Changes by other
// clients that arrive with them still do.

import { keyOf, type Service } from "../../../kube/objects.ts";
import type { Patch } from "../../../kube/patches/patch.ts";
import { OwnWrites } from "../../writes/own-writes.ts";
import type { ServiceWrites } from "../deps.ts";

type IsRelevant = (before: Service | undefined, after: Service | undefined) => boolean;

export class OwnServiceWrites implements ServiceWrites {
  readonly #writes: ServiceWrites;
  readonly #isRelevant: IsRelevant;
  readonly #onNews: (key: string) => void;
  /** Writes that the watch has not returned yet; bounded by the number of recent writes. */
  readonly #own: OwnWrites<Service>;

  constructor(
    writes: ServiceWrites,
    isRelevant: IsRelevant,
    /** Called when another client changed the Service during a write. */
    onNews: (key: string) => void,
  ) {
    this.#writes = writes;
    this.#isRelevant = isRelevant;
    this.#onNews = onNews;
    this.#own = new OwnWrites<Service>(isRelevant);
  }

  async patch(
    service: Service,
    patch: Patch,
    why: string,
    signal: AbortSignal,
  ): Promise<Service | undefined> {
    const key = keyOf(service.metadata);
    let written: Service | undefined;
    this.#own.begin(key);
    try {
      written = await this.#writes.patch(service, patch, why, signal);
      return written;
    } finally {
      if (this.#own.end(key, { base: service, patch, written })) this.#onNews(key);
    }
  }

  /**
   * Whether a change from the watch must be reconciled. A Service that was added, deleted or replaced is never
   * Fairlead's own write.
   */
  isNews(key: string, before: Service | undefined, after: Service | undefined): boolean {
    if (before !== undefined && before.metadata.uid === after?.metadata.uid)
      return this.#own.isNews(key, before, after);
    this.#own.forget(key);
    return this.#isRelevant(before, after);
  }
}
