// Our own writes come back through the watch, thousands of them when thousands of objects are worked on at once. One that
// brings nothing but what we wrote is no reason to look at the object again.

import type { KubeObject } from "../kube/objects.ts";
import type { Patch } from "../kube/patches/patch.ts";
import { applySteps } from "../kube/patches/patched-object.ts";
import { isNewer } from "./latest-objects.ts";

export interface OwnWrite<T> {
  /** What the patch was made from. */
  readonly base: T;
  readonly patch: Patch;
  /** What the server answered; absent when nothing was written. */
  readonly written: T | undefined;
}

export class OwnWrites<T extends KubeObject> {
  readonly #isRelevantChange: (before: T, after: T) => boolean;
  /** Written, and not yet seen coming back. */
  readonly #written = new Map<string, T>();
  /** A write is under way; what the watch told meanwhile, which may be its echo: it is often there before the answer. */
  readonly #underWay = new Map<string, { reported?: { readonly after: T | undefined } }>();

  constructor(isRelevantChange: (before: T, after: T) => boolean) {
    this.#isRelevantChange = isRelevantChange;
  }

  begin(key: string): void {
    this.#underWay.set(key, {});
  }

  /** Says whether something came meanwhile that was not of our making: the object is to be looked at then. */
  end(key: string, { base, patch, written }: OwnWrite<T>): boolean {
    const write = this.#underWay.get(key);
    if (write === undefined) return false;
    const { reported } = write;
    this.#underWay.delete(key);
    if (written !== undefined) this.#written.set(key, written);
    const isToldMore = reported !== undefined && !this.isOwnWrite(key, reported.after);
    return isToldMore || (written !== undefined && this.#bringsMore(base, patch, written));
  }

  /** The answer has others' changes in it too, a deletion among them; their own echo would look like ours. */
  #bringsMore(base: T, { contentType, body }: Patch, written: T): boolean {
    if (contentType !== "application/json-patch+json") return false;
    return this.#isRelevantChange(applySteps(base, body), written);
  }

  /** It is gone, or another object has its name: no echo of this one is waited for. */
  forget(key: string): void {
    this.#underWay.delete(key);
    this.#written.delete(key);
  }

  /**
   * Whether this is to be looked at. What came before our write and was taken for an echo of it is in this version too, and
   * the version before it does not show it: so it is held against what we wrote as well.
   */
  isNews(key: string, before: T | undefined, after: T | undefined): boolean {
    const ours = this.#written.get(key);
    if (this.isOwnWrite(key, after)) return false;
    if (before === undefined || after === undefined) return true;
    const isOfOurs = ours !== undefined && ours.metadata.uid === after.metadata.uid;
    return this.#isRelevantChange(before, after) || (isOfOurs && this.#isRelevantChange(ours, after));
  }

  /** Also takes what was remembered off the list once the watch has caught up. */
  isOwnWrite(key: string, after: T | undefined): boolean {
    const write = this.#underWay.get(key);
    if (write !== undefined) {
      write.reported = { after };
      return true;
    }
    const ours = this.#written.get(key);
    if (ours === undefined) return false;
    const isSameObject = after?.metadata.uid === ours.metadata.uid;
    // Older than our write: what it brought is in the later version, too, which is yet to come.
    if (isSameObject && isNewer(ours.metadata.resourceVersion, after.metadata.resourceVersion)) return true;
    this.#written.delete(key);
    return isSameObject && !this.#isRelevantChange(ours, after);
  }
}
