// Guarded, journalled writes to Nodes. The API server rejects a write when the Node has been replaced or the values have changed.

import type { KubeApi } from "../../kube/client/api.ts";
import type { Node } from "../../kube/objects.ts";
import type { Patch } from "../../kube/patches/patch.ts";
import { nodes } from "../../kube/resources.ts";
import { isLostRace } from "../classify-error.ts";
import type { NodeWrites } from "../node-deps.ts";
import { describePatch } from "./describe-patch.ts";
import { type JournalledOptions, journalledSend } from "./journalled-send.ts";

export interface NodeWritesOptions extends JournalledOptions {
  readonly api: KubeApi;
  /** Called with every Node that the API server returned for a write. */
  readonly remember: (node: Node) => void;
}

export function createNodeWrites({ api, remember, ...journalled }: NodeWritesOptions): NodeWrites {
  const send = journalledSend(journalled, "cluster", isLostRace);
  return {
    patch: async (node, patch, why, signal) => {
      const change = {
        action: pathsOf(patch),
        object: `node/${node.metadata.name}`,
        why,
        describe: () => describePatch(node, patch),
      };
      const written = await send([change], () => api.patchKnown(nodes, node, patch, signal));
      if (written === "observed") return undefined;
      remember(written);
      return written;
    },
    delete: async (node, why, signal) => {
      const { name, uid, resourceVersion } = node.metadata;
      const change = { action: "delete", object: `node/${name}`, why };
      const sent = await send([change], () => api.delete(nodes, { name }, { uid, resourceVersion }, signal));
      return sent !== "observed";
    },
  };
}

/** The changed paths without their values, which may be long and can be read from the object. */
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
