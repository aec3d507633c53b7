// Our own writes come back through the watch, thousands of them when thousands of Nodes join. One that brings nothing but
// what we wrote is no reason to look at the Node again.

import type { Node } from "../../kube/objects.ts";
import { isNewer } from "../latest-objects.ts";
import { isRelevantChange } from "./relevant-change.ts";

export class OwnWrites {
  /** Written, and not yet seen coming back. */
  readonly #written = new Map<string, Node>();
  /** A write is under way; what the watch told meanwhile, which may be its echo: it is often there before the answer. */
  readonly #underWay = new Map<string, { told?: { readonly after: Node | undefined } }>();

  begin(name: string): void {
    this.#underWay.set(name, {});
  }

  /** Says whether something came meanwhile that was not of our making: the Node is to be looked at then. */
  end(name: string, written: Node | undefined): boolean {
    const told = this.#underWay.get(name)?.told;
    this.#underWay.delete(name);
    if (written !== undefined) this.#written.set(name, written);
    return told !== undefined && !this.isEcho(name, told.after);
  }

  /** Also takes what was remembered off the list once the watch has caught up. */
  isEcho(name: string, after: Node | undefined): boolean {
    const write = this.#underWay.get(name);
    if (write !== undefined) {
      write.told = { after };
      return true;
    }
    const ours = this.#written.get(name);
    if (ours === undefined) return false;
    const isSameNode = after?.metadata.uid === ours.metadata.uid;
    // Older than our write: what it brought is in the later version, too, which is yet to come.
    if (isSameNode && isNewer(ours.metadata.resourceVersion, after.metadata.resourceVersion)) return true;
    this.#written.delete(name);
    return isSameNode && !isRelevantChange(ours, after);
  }
}
