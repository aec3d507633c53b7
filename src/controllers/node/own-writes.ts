// Our own writes come back through the watch, thousands of them when thousands of Nodes join. One that brings nothing but
// what we wrote is no reason to look at the Node again.

import type { Node } from "../../kube/objects.ts";
import { isNewer } from "../latest-objects.ts";
import { isRelevantChange } from "./relevant-change.ts";

export class OwnWrites {
  readonly #written = new Map<string, Node>();

  remember(node: Node): void {
    this.#written.set(node.metadata.name, node);
  }

  /** Also takes what was remembered off the list once the watch has caught up. */
  isEcho(name: string, after: Node | undefined): boolean {
    const ours = this.#written.get(name);
    if (ours === undefined) return false;
    const isSameNode = after?.metadata.uid === ours.metadata.uid;
    // Older than our write: what it brought is in the later version, too, which is yet to come.
    if (isSameNode && isNewer(ours.metadata.resourceVersion, after.metadata.resourceVersion)) return true;
    this.#written.delete(name);
    return isSameNode && !isRelevantChange(ours, after);
  }
}
