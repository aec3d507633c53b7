// Nodes as registered by kubelets with an external cloud provider, with their real size of about 7 KB.

import type { Draft } from "../../../src/kube/client/api.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { Patch } from "../../../src/kube/patches/patch.ts";
import { describeNode, kubeletConditions } from "../../../src/testing/apiserver/kubelet/kubelet-node.ts";

/** A kubelet lists its fifty largest images; twenty-four of this length make a Node of 7 KB. */
const images = Array.from({ length: 24 }, (_, index) => ({
  names: [
    `registry.k8s.io/some-team/component-${index}@sha256:${index.toString(16).padStart(64, "0")}`,
    `registry.k8s.io/some-team/component-${index}:v1.${index}.0`,
  ],
  sizeBytes: 20_000_000 + index * 1000,
}));

export const kubeletNode = (
  name: string,
  changes: Partial<Node["spec"]> = {},
  isReady = true,
): Draft<Node> => {
  const uuid = crypto.randomUUID();
  const { metadata, spec, status } = describeNode({ name }, uuid, Date.now()) as unknown as Draft<Node>;
  return {
    metadata,
    spec: { ...spec, ...changes },
    status: {
      ...status,
      conditions: kubeletConditions(
        isReady,
        Date.now(),
        Date.now(),
      ) as unknown as Node["status"]["conditions"],
      // Fairlead does not read images, so its type lacks them; the server stores them.
      ...({ images } as object),
    } as Node["status"],
  };
};

export const readyCondition = (isReady: boolean): Patch => ({
  contentType: "application/strategic-merge-patch+json",
  body: { status: { conditions: kubeletConditions(isReady, Date.now(), Date.now()) } },
  subresource: "status",
});
