// The common labels of the objects in the manifests, and their YAML, including the comments stored under the symbols below. Pure.

import { Document, isMap, isSeq, type Node, Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";

/** A comment before the object, or before the document if the object is the whole document. */
export const comment: unique symbol = Symbol("comment");
/** Comments before individual keys of the object. */
export const keyComments: unique symbol = Symbol("comments of keys");

export interface Commented {
  readonly [comment]?: string;
  readonly [keyComments]?: Readonly<Record<string, string>>;
}

const inComment = (text: string): string =>
  text
    .split("\n")
    .map((line) => ` ${line}`)
    .join("\n");

function toNode(value: unknown): Node {
  if (Array.isArray(value)) {
    const seq = new YAMLSeq();
    seq.items = value.map(toNode);
    seq.flow = value.every((item) => typeof item === "string" && /^[a-z0-9./]{0,40}$/i.test(item));
    return seq;
  }
  if (typeof value !== "object" || value === null) return new Scalar(value);
  const { [comment]: before, [keyComments]: ofKeys = {} } = value as Commented;
  const map = new YAMLMap();
  for (const [name, entry] of Object.entries(value)) {
    if (entry === undefined) continue;
    const key = new Scalar(name);
    const text = ofKeys[name];
    if (text !== undefined) key.commentBefore = inComment(text);
    map.items.push(new Pair(key, toNode(entry)));
  }
  if (before !== undefined) map.commentBefore = inComment(before);
  return map;
}

/** Returns a document that ends with a line break. */
export function toYaml(value: unknown): string {
  // Kubernetes reads YAML 1.1, where an unquoted "yes" is a boolean.
  const document = new Document(undefined, { compat: "yaml-1.1" });
  const contents = toNode(value);
  if ((isMap(contents) || isSeq(contents)) && contents.commentBefore) {
    document.commentBefore = contents.commentBefore;
    contents.commentBefore = null;
  }
  document.contents = contents;
  // A blank line would separate the comment from its object.
  return document
    .toString({ lineWidth: 0, flowCollectionPadding: false })
    .replace(/^((?:#[^\n]*\n)+)\n/, "$1");
}

/** Several documents, separated by `---`. */
export const toYamlStream = (objects: readonly unknown[]): string => objects.map(toYaml).join("---\n");

/** The labels that select the pods of one installation. They can never change, because workload selectors are immutable. */
export function podLabels(workload: string): Readonly<Record<string, string>> {
  return {
    "app.kubernetes.io/name": "fairlead",
    "app.kubernetes.io/instance": workload,
  };
}

/** The labels of all objects. The last two apply to control plane components. */
export function labelsOf(workload: string): Readonly<Record<string, string>> {
  return { ...podLabels(workload), component: "cloud-controller-manager", tier: "control-plane" };
}
