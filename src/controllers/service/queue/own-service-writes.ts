// Writes to Services whose echoes are known: what the watch tells of them is no reason to look at the Service again, unless
// it brings something of somebody else's too.

import { keyOf, type Service } from "../../../kube/objects.ts";
import { OwnWrites } from "../../writes/own-writes.ts";
import type { ServiceWrites } from "../deps.ts";

export function createOwnServiceWrites(
  { patch }: ServiceWrites,
  isRelevant: (before: Service | undefined, after: Service | undefined) => boolean,
  /** Something of others came while a write was under way. */
  onNews: (key: string) => void,
) {
  const own = new OwnWrites<Service>(isRelevant);
  const writes: ServiceWrites = {
    patch: async (service, patched, ...rest) => {
      const key = keyOf(service.metadata);
      let written: Service | undefined;
      own.begin(key);
      try {
        written = await patch(service, patched, ...rest);
        return written;
      } finally {
        if (own.end(key, { base: service, patch: patched, written })) onNews(key);
      }
    },
  };
  return {
    writes,
    /** One that came, went or was replaced is never an echo. */
    isNews: (key: string, before: Service | undefined, after: Service | undefined): boolean => {
      if (before !== undefined && before.metadata.uid === after?.metadata.uid)
        return own.isNews(key, before, after);
      own.forget(key);
      return isRelevant(before, after);
    },
  };
}
