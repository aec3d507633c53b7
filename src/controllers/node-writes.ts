// Guarded writes to Nodes: handed to the API server in enforce mode, only written down in observe mode. Each is journalled
// with its reason, so that "who changed my node?" has an answer.

import type { KubeApi } from "../kube/api.ts";
import { isKubeError } from "../kube/kube-error.ts";
import type { Node } from "../kube/objects.ts";
import type { Patch } from "../kube/patch.ts";
import { nodes } from "../kube/resources.ts";
import type { Journal, JournalEntry } from "../runtime/journal.ts";
import type { Clock } from "../seams/clock.ts";
import type { NodeWrites } from "./node-ports.ts";

export interface NodeWritesOptions {
  readonly api: KubeApi;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly mode: "enforce" | "observe";
  /** Told of every Node that a write brought back. */
  readonly remember: (node: Node) => void;
}

export const createNodeWrites = ({ api, journal, clock, mode, remember }: NodeWritesOptions): NodeWrites => {
  const journalled = async <T>(
    entry: Pick<JournalEntry, "action" | "object" | "why">,
    send: () => Promise<T>,
  ): Promise<T> => {
    const started = clock.monotonic();
    const end = (outcome: JournalEntry["outcome"], detail?: string) =>
      journal.record({
        ...entry,
        target: "cluster",
        at: clock.now(),
        outcome,
        durationMs: clock.monotonic() - started,
        ...(detail !== undefined && { detail }),
      });
    try {
      const result = await send();
      end("done");
      return result;
    } catch (error) {
      const isRefusal = isKubeError(error, "precondition", "conflict", "not-found");
      end(isRefusal ? "refused" : "failed", error instanceof Error ? error.message : String(error));
      throw error;
    }
  };
  const observed = (entry: Pick<JournalEntry, "action" | "object" | "why">): void =>
    journal.record({ ...entry, target: "cluster", at: clock.now(), outcome: "observed" });

  return {
    patch: async (node, patch, why, signal) => {
      const entry = { action: describe(patch), object: `node/${node.metadata.name}`, why };
      if (mode === "observe") {
        observed(entry);
        return undefined;
      }
      const fresh = await journalled(entry, () => api.patchKnown(nodes, node, patch, signal));
      remember(fresh);
      return fresh;
    },
    delete: async (node, why, signal) => {
      const { name, uid, resourceVersion } = node.metadata;
      const entry = { action: "delete", object: `node/${name}`, why };
      if (mode === "observe") {
        observed(entry);
        return false;
      }
      await journalled(entry, () => api.delete(nodes, { name }, { uid, resourceVersion }, signal));
      return true;
    },
  };
};

/** The paths that change, in the patch's own words; values may be long and are on the object anyway. */
const describe = ({ body, subresource }: Patch): string => {
  const what = Array.isArray(body)
    ? body
        .flatMap((step: { op: string; path: string }) =>
          step.op === "test" ? [] : [`${step.op} ${step.path}`],
        )
        .join(", ")
    : "merge conditions";
  return subresource === undefined ? `patch: ${what}` : `patch ${subresource}: ${what}`;
};
