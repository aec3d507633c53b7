// Why a Node cannot be initialised, in words for the person who looks at it. Pure.

import { dispositions } from "../../cloud/disposition.ts";
import type { Answer } from "../../cloud/inventory.ts";
import type { Problem } from "../../core/problem.ts";
import { isKubeError, type KubeErrorKind } from "../../kube/kube-error.ts";
import type { Node } from "../../kube/objects.ts";
import { CloudError } from "../../provider/errors.ts";

export const describeAnswer = (
  node: Node,
  answer: Extract<Answer, { kind: "gone" | "ambiguous" }>,
): Problem => {
  const { name } = node.metadata;
  if (answer.kind === "gone") {
    const id = node.spec.providerID;
    const wanted = id === undefined || id === "" ? `named ${JSON.stringify(name)}` : `with id ${id}`;
    return {
      severity: "error",
      reason: "NotFoundInCloud",
      text: `The cloud has no machine ${wanted}. Looked for again shortly; if it stays so, compare the node's name and provider id with the cloud's, or set --provider-id on the kubelet.`,
    };
  }
  const candidates = answer.candidates.map(({ id, names }) => `${id} (${names[0]})`).join(", ");
  return {
    severity: "error",
    reason: "AmbiguousMatch",
    text: `Several machines match node ${JSON.stringify(name)} by ${answer.by}: ${candidates}. Give them different names, or set --provider-id on the kubelet.`,
  };
};

const passing: readonly KubeErrorKind[] = ["precondition", "conflict", "not-found", "fenced"];

/** Undefined for what passes by itself and is nobody's business, such as a lost race. */
export const describeError = (error: unknown): Problem | undefined => {
  if (CloudError.is(error)) {
    return { severity: "error", reason: dispositions[error.kind].reason, text: error.message };
  }
  if (isKubeError(error)) {
    if (passing.includes(error.kind)) return undefined;
    return { severity: "error", reason: "KubernetesRefused", text: error.message };
  }
  return {
    severity: "error",
    reason: "InternalError",
    text: error instanceof Error ? error.message : String(error),
  };
};
