// Guarded writes to Services, journalled with their reason: refused by the server where the Service is no longer what we knew.

import type { KubeApi } from "../../../kube/client/api.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import { services } from "../../../kube/resources.ts";
import { isLostRace } from "../../errors.ts";
import { describePatch } from "../../writes/describe-patch.ts";
import { type JournalledOptions, journalledSend } from "../../writes/journalled-send.ts";
import type { ServiceWrites } from "../deps.ts";

export interface ServiceWritesOptions extends JournalledOptions {
  readonly api: KubeApi;
  /** Told of every Service that a write brought back. */
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
