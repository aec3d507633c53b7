// Guarded writes to Services, journalled with their reason; in observe mode they are only written down.

import type { KubeApi } from "../../kube/api.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { Service } from "../../kube/objects.ts";
import { keyOf } from "../../kube/resource-path.ts";
import { services } from "../../kube/resources.ts";
import type { Journal, JournalEntry } from "../../runtime/journal.ts";
import type { Clock } from "../../seams/clock.ts";
import type { ServiceWrites } from "./ports.ts";

export interface ServiceWritesOptions {
  readonly api: KubeApi;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly mode: "enforce" | "observe";
  /** Told of every Service that a write brought back. */
  readonly remember: (service: Service) => void;
}

export const createServiceWrites = (options: ServiceWritesOptions): ServiceWrites => ({
  patch: async (service, patch, why, signal) => {
    const { api, journal, clock, mode, remember } = options;
    const started = clock.monotonic();
    const record = (outcome: JournalEntry["outcome"], detail?: string): void =>
      journal.record({
        target: "cluster",
        action: patch.subresource === undefined ? "patch" : `patch ${patch.subresource}`,
        object: `service/${keyOf(service.metadata)}`,
        why,
        at: clock.now(),
        durationMs: clock.monotonic() - started,
        outcome,
        ...(detail !== undefined && { detail }),
      });
    if (mode === "observe") {
      record("observed");
      return undefined;
    }
    try {
      const fresh = await api.patchKnown(services, service, patch, signal);
      record("done");
      remember(fresh);
      return fresh;
    } catch (error) {
      const isRefusal = isKubeError(error, "precondition", "conflict", "not-found");
      record(isRefusal ? "refused" : "failed", error instanceof Error ? error.message : String(error));
      throw error;
    }
  },
});
