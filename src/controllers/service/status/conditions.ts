// When the conditions of a Service are written: what is wrong at once, or after some failures in a row; what is mended, and
// what is only odd, with the write that follows when everything is as it should be.

import type { Problem } from "../../../core/problem.ts";
import type { Service, ServiceCondition } from "../../../kube/objects.ts";
import { serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import { describeError } from "../../errors.ts";
import type { ServiceDeps } from "../deps.ts";
import { conditionsFor } from "./problems-to-conditions.ts";

/** Most errors of a cloud are over at the next attempt. */
const failuresBeforeCondition = 3;

export function createConditions({ writes, clock }: Pick<ServiceDeps, "writes" | "clock">) {
  /** By group: attempts in a row that ended in an error. */
  const failures = new Map<string, number>();

  /** Only what is wrong now. What seems mended may be wrong again at the next step, so it stays until the end. */
  const show = async (service: Service, problems: readonly Problem[], signal: AbortSignal): Promise<void> => {
    if (!problems.some(({ severity }) => severity === "error")) return;
    const { isChanged, isWorthAWrite, conditions } = conditionsFor(service, problems, clock.now());
    if (!isChanged || !isWorthAWrite) return;
    const patch = serviceStatusPatch({ service, conditions });
    if (patch !== undefined) await writes.patch(service, patch, "what is wrong is shown", signal);
  };

  return {
    show,

    /** The whole list as it should be; undefined while a write for its sake alone is not worth it. */
    atRest: (
      service: Service,
      problems: readonly Problem[],
      /** Something is written anyway, or was changed for this Service. */
      isWrittenAnyway: boolean,
    ): readonly ServiceCondition[] | undefined => {
      const { isChanged, isWorthAWrite, conditions } = conditionsFor(service, problems, clock.now());
      return isChanged && (isWorthAWrite || isWrittenAnyway) ? conditions : undefined;
    },

    /** Never throws: whatever failed is told by the one who calls. */
    failed: async (
      group: string,
      error: unknown,
      members: readonly { readonly service: Service; readonly problems: readonly Problem[] }[],
      signal: AbortSignal,
    ): Promise<void> => {
      const problem = describeError(error);
      if (problem === undefined) return;
      const count = (failures.get(group) ?? 0) + 1;
      failures.set(group, count);
      if (count < failuresBeforeCondition) return;
      for (const { service, problems } of members) {
        await show(service, [...problems, problem], signal).catch(() => undefined);
      }
    },

    worked: (group: string): void => void failures.delete(group),
  };
}

export type Conditions = ReturnType<typeof createConditions>;
