// Why a Node cannot be initialised, in words for the person who looks at it. Pure.

import type { Answer } from "../../cloud/inventory.ts";
import type { Problem } from "../../core/problem.ts";
import type { Node } from "../../kube/objects.ts";
import type { MatchKey } from "../../provider/instances.ts";

const words = {
  id: "a provider id",
  name: "a name",
  uuid: "a system UUID",
  address: "an address",
} as const satisfies Record<MatchKey, string>;

/** It is not looked for at all: there is nothing to look for it by. */
export function describeUnmatchable({ metadata: { name } }: Node, matchBy: readonly MatchKey[]): Problem {
  return {
    severity: "error",
    reason: "NothingToMatchBy",
    text: `Machines of this cloud are found by ${matchBy.map((by) => words[by]).join(" or ") || "nothing but a provider id"}, and node ${JSON.stringify(name)} tells none. It is looked for as soon as the kubelet reports one; if it never does, set --provider-id on the kubelet.`,
  };
}

export function describeAnswer(node: Node, answer: Extract<Answer, { kind: "gone" | "ambiguous" }>): Problem {
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
}
