// Reads the words after `explain`: the kind and the name of an object, as kubectl accepts them.

import { didYouMean } from "../../core/did-you-mean.ts";
import { type DescribedKind, describedKinds, isNamespaced, type NamedObject } from "./description.ts";

/** Without a name, every object that needs attention. */
interface ExplainRequest {
  readonly object?: NamedObject;
}

const wordsOf: Readonly<Record<DescribedKind, readonly string[]>> = {
  Node: ["node", "nodes", "no"],
  Service: ["service", "services", "svc"],
  PersistentVolumeClaim: ["persistentvolumeclaim", "persistentvolumeclaims", "pvc"],
  PersistentVolume: ["persistentvolume", "persistentvolumes", "pv"],
};

const forms =
  "explain node NAME, explain service [NAMESPACE/]NAME, explain pvc [NAMESPACE/]NAME, explain pv NAME, or explain alone";

const kindOf = (word: string): DescribedKind | undefined =>
  describedKinds.find((kind) => wordsOf[kind].includes(word.toLowerCase()));

/** `namespace` completes a name without one. */
export function readExplainRequest(
  words: readonly string[],
  namespace: string,
): ExplainRequest | { readonly wrong: string } {
  const [first = "", ...rest] = words;
  if (first === "") return {};
  // `service/web`, as kubectl prints it.
  const [before = "", after = ""] = first.split(/\/(.*)/s);
  const isPair = rest.length === 0 && after !== "" && kindOf(before) !== undefined;
  const [word, names] = isPair ? [before, [after]] : [first, rest];
  const kind = kindOf(word);
  if (kind === undefined) {
    const meant = didYouMean(word, ["node", "service", "pvc", "pv"]);
    const hint = meant === undefined ? `use ${forms}` : `did you mean ${meant}?`;
    return { wrong: `explain knows no kind ${JSON.stringify(word)}; ${hint}` };
  }
  const [name, unexpected] = names;
  if (name === undefined || name === "") return { wrong: `explain ${word} requires a name; use ${forms}` };
  if (unexpected !== undefined)
    return {
      wrong: `unexpected argument ${JSON.stringify(unexpected)} after the name; explain one object at a time`,
    };
  if (!isNamespaced(kind) && name.includes("/"))
    return { wrong: `a ${kind} has no namespace, got ${JSON.stringify(name)}` };
  return {
    object: { kind, name: isNamespaced(kind) && !name.includes("/") ? `${namespace}/${name}` : name },
  };
}
