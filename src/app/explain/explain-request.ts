// Reads the words after `explain`: the kind and the name of an object, as kubectl accepts them. Pure.

import { didYouMean } from "../../core/did-you-mean.ts";
import { type DescribedKind, isNamespaced } from "./description.ts";

/** Without a name: every object that needs attention. */
export interface ExplainRequest {
  readonly object?: { readonly kind: DescribedKind; readonly name: string };
}

const kinds: Readonly<Record<string, DescribedKind>> = {
  node: "Node",
  nodes: "Node",
  no: "Node",
  service: "Service",
  services: "Service",
  svc: "Service",
  persistentvolumeclaim: "PersistentVolumeClaim",
  persistentvolumeclaims: "PersistentVolumeClaim",
  pvc: "PersistentVolumeClaim",
  persistentvolume: "PersistentVolume",
  persistentvolumes: "PersistentVolume",
  pv: "PersistentVolume",
};

const forms =
  "explain node NAME, explain service [NAMESPACE/]NAME, explain pvc [NAMESPACE/]NAME, explain pv NAME, or explain alone";

function kindOf(word: string): DescribedKind | undefined {
  const lower = word.toLowerCase();
  return Object.hasOwn(kinds, lower) ? kinds[lower] : undefined;
}

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
