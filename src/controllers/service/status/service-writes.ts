// Guarded writes to Services, recorded in the journal with their reason. The API server rejects them if the Service has changed.
// The watch returns each write, which is recognized so that it does not enqueue the Service again.

import type { KubeApi } from "../../../kube/client/api.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import type { Patch } from "../../../kube/patches/patch.ts";
import { services } from "../../../kube/resources.ts";
import type { Change } from "../../../kube/watch/store.ts";
import { isLostRace } from "../../classify-error.ts";
import { describePatch } from "../../kernel/describe-patch.ts";
import { type JournalledOptions, journalledSend } from "../../kernel/journalled-send.ts";
import type { OwnWrites } from "../../kernel/own-writes.ts";
import type { ServiceWrites } from "../deps.ts";

export interface ServiceWritesOptions extends JournalledOptions {
  readonly api: KubeApi;
  /** Called with every Service that a write returned. */
  readonly remember: (service: Service) => void;
}

export function createServiceWrites({ api, remember, ...context }: ServiceWritesOptions): ServiceWrites {
  const send = journalledSend(context, "cluster", isLostRace);
  return {
    patch: async (service, patch, why, signal) => {
      const action = patch.subresource === undefined ? "patch" : `patch ${patch.subresource}`;
      const entry = {
        action,
        object: `service/${keyOf(service.metadata)}`,
        why,
        describe: () => describePatch(service, patch),
      };
      const fresh = await send([entry], () => api.patchKnown(services, service, patch, signal));
      if (fresh === "observed") return undefined;
      remember(fresh);
      return fresh;
    },
  };
}

export type IsRelevant = (before: Service | undefined, after: Service | undefined) => boolean;

/** Kept per process, because a write of one session may arrive in the next. */
export interface WriteHistory {
  /** Writes that the watch has not returned yet; limited by the number of recent writes. */
  readonly ownWrites: OwnWrites<Service>;
  readonly isRelevant: IsRelevant;
}

export class OwnServiceWrites implements ServiceWrites {
  readonly #writes: ServiceWrites;
  readonly #isRelevant: IsRelevant;
  readonly #onNews: (key: string) => void;
  readonly #own: OwnWrites<Service>;

  constructor(
    writes: ServiceWrites,
    { ownWrites, isRelevant }: WriteHistory,
    /** Called when another client changed the Service during a write. */
    onNews: (key: string) => void,
  ) {
    this.#writes = writes;
    this.#isRelevant = isRelevant;
    this.#onNews = onNews;
    this.#own = ownWrites;
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

  /** Whether a change from the watch must be reconciled. An added, deleted or replaced Service is never Fairlead's own write. */
  isNews(change: Change<Service>): boolean {
    const { key, before, after } = change;
    if (before !== undefined && before.metadata.uid === after?.metadata.uid) return this.#own.isNews(change);
    this.#own.forget(key);
    return this.#isRelevant(before, after);
  }
}
