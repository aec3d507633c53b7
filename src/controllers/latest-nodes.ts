// The Nodes as we know them: the watched ones, and what our own writes brought back until the watch has caught up. Without
// it every burst would try some writes twice.

import type { Node } from "../kube/objects.ts";
import type { NodeStore } from "./node-ports.ts";

/** Resource versions are numbers of any length, comparable since Kubernetes 1.35 and in practice since ever. */
const isNewer = (a: string, b: string): boolean => a.length > b.length || (a.length === b.length && a > b);

export interface LatestNodes extends NodeStore {
  remember(node: Node): void;
}

export const latestNodes = (store: NodeStore): LatestNodes => {
  const written = new Map<string, Node>();
  store.subscribe(({ key, after }) => {
    const ours = written.get(key);
    if (ours === undefined) return;
    const isBehind =
      after?.metadata.uid === ours.metadata.uid &&
      isNewer(ours.metadata.resourceVersion, after.metadata.resourceVersion);
    if (!isBehind) written.delete(key);
  });
  return {
    get: (name) => (store.get(name) === undefined ? undefined : (written.get(name) ?? store.get(name))),
    list: () => store.list(),
    get size() {
      return store.size;
    },
    subscribe: (listener) => store.subscribe(listener),
    remember: (node) => {
      const known = store.get(node.metadata.name);
      if (known?.metadata.uid !== node.metadata.uid) return;
      if (isNewer(node.metadata.resourceVersion, known.metadata.resourceVersion)) {
        written.set(node.metadata.name, node);
      }
    },
  };
};
