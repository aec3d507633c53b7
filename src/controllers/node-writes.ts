// Guarded writes to Nodes, journalled with their reason: refused by the server where the Node is no longer what we knew.

import type { KubeApi } from "../kube/client/api.ts";
import type { Node } from "../kube/objects.ts";
import type { Patch } from "../kube/patches/patch.ts";
import { nodes } from "../kube/resources.ts";
import { describePatch } from "./describe-patch.ts";
import { type JournalledOptions, journalledSend } from "./journalled-send.ts";
import { isLostRace } from "./lost-race.ts";
import type { NodeWrites } from "./node-deps.ts";

export interface NodeWritesOptions extends JournalledOptions {
  readonly api: KubeApi;
  /** Told of every Node that a write brought back. */
  readonly remember: (node: Node) => void;
}

export function createNodeWrites({ api, remember, ...context }: NodeWritesOptions): NodeWrites {
  const send = journalledSend(context, "cluster", isLostRace);
  return {
    patch: async (node, patch, why, signal) => {
      const entry = {
        action: pathsOf(patch),
        object: `node/${node.metadata.name}`,
        why,
        describe: () => describePatch(node, patch),
      };
      const fresh = await send([entry], () => api.patchKnown(nodes, node, patch, signal));
      if (fresh === "observed") return undefined;
      remember(fresh);
      return fresh;
    },
    delete: async (node, why, signal) => {
      const { name, uid, resourceVersion } = node.metadata;
      const entry = { action: "delete", object: `node/${name}`, why };
      const sent = await send([entry], () => api.delete(nodes, { name }, { uid, resourceVersion }, signal));
      return sent !== "observed";
    },
  };
}

/** The paths that change, in the patch's own words; values may be long and are on the object anyway. */
function pathsOf({ body, subresource }: Patch): string {
  const what = Array.isArray(body)
    ? body
        .flatMap((step: { op: string; path: string }) =>
          step.op === "test" ? [] : [`${step.op} ${step.path}`],
        )
        .join(", ")
    : "merge conditions";
  return subresource === undefined ? `patch: ${what}` : `patch ${subresource}: ${what}`;
}
