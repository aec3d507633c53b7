// Guarded writes to Services, journalled with their reason. The API server rejects them if the Service has changed.

import type { KubeApi } from "../../../kube/client/api.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import { services } from "../../../kube/resources.ts";
import { isLostRace } from "../../errors.ts";
import { describePatch } from "../../writes/describe-patch.ts";
import { type JournalledOptions, journalledSend } from "../../writes/journalled-send.ts";
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
