// Recognizes Fairlead's own writes when the watch delivers them, so that they do not enqueue the object again. A concurrent
// change by another client still does.

import { isNewer, type KubeObject } from "../../kube/objects.ts";
import { applySteps, type Patch } from "../../kube/patches/patch.ts";
import type { Change } from "../../kube/watch/store.ts";
import type { ObjectStore } from "../latest-objects.ts";

export interface OwnWrite<T> {
  /** The object from which the patch was computed. */
  readonly base: T;
  readonly patch: Patch;
  /** The server's response; undefined when nothing was written. */
  readonly written: T | undefined;
}

export class OwnWrites<T extends KubeObject> {
  readonly #isRelevantChange: (before: T, after: T) => boolean;
  /** Writes that the watch has not delivered yet. */
  readonly #written = new Map<string, T>();
  /**
   * Writes in progress, each with the last watch event since it began. The event may be the write itself, because the watch is
   * often faster than the response.
   */
  readonly #underWay = new Map<string, { seen?: { readonly after: T | undefined } }>();

  constructor(isRelevantChange: (before: T, after: T) => boolean) {
    this.#isRelevantChange = isRelevantChange;
  }

  /**
   * Begins a session, which reconciles every object. Later changes are not compared with watch updates from before, because a
   * user may restore Fairlead's value.
   */
  beginSession(store: Pick<ObjectStore<T>, "isAhead">): void {
    for (const key of this.#written.keys()) if (store.isAhead?.(key) !== true) this.#written.delete(key);
  }

  begin(key: string): void {
    this.#underWay.set(key, {});
  }

  /** Returns whether another client changed the object during the write, so that the object must be reconciled again. */
  end(key: string, { base, patch, written }: OwnWrite<T>): boolean {
    const write = this.#underWay.get(key);
    if (write === undefined) return false;
    const { seen } = write;
    this.#underWay.delete(key);
    if (written !== undefined) this.#written.set(key, written);
    const wasChangedByOthers = seen !== undefined && !this.isOwnWrite(key, seen.after);
    return wasChangedByOthers || (written !== undefined && this.#hasOtherChanges(base, patch, written));
  }

  /**
   * The response may contain changes by other clients, such as a deletion. Their watch event would look like Fairlead's own
   * write.
   */
  #hasOtherChanges(base: T, { contentType, body }: Patch, written: T): boolean {
    if (contentType !== "application/json-patch+json") return false;
    return this.#isRelevantChange(applySteps(base, body), written);
  }

  /** Called when the object is gone, or another object uses its name, so that the watch will not return this write. */
  forget(key: string): void {
    this.#underWay.delete(key);
    this.#written.delete(key);
  }

  /**
   * Whether the object must be reconciled. This version may contain an earlier change by another client that was mistaken for
   * Fairlead's write, and a comparison with the previous version does not reveal it. Therefore the object is compared with
   * Fairlead's write.
   *
   * A list ends the comparison of versions: a server that was restored to older revisions never returns the write.
   */
  isNews({ key, before, after, isFromList }: Change<T>): boolean {
    if (isFromList === true) this.forget(key);
    const written = this.#written.get(key);
    if (this.isOwnWrite(key, after)) return false;
    if (before === undefined || after === undefined) return true;
    const isSameObject = written !== undefined && written.metadata.uid === after.metadata.uid;
    return this.#isRelevantChange(before, after) || (isSameObject && this.#isRelevantChange(written, after));
  }

  /** Also forgets the write once the watch has caught up. */
  isOwnWrite(key: string, after: T | undefined): boolean {
    const write = this.#underWay.get(key);
    if (write !== undefined) {
      write.seen = { after };
      return true;
    }
    const written = this.#written.get(key);
    if (written === undefined) return false;
    const isSameObject = after?.metadata.uid === written.metadata.uid;
    // The object is older than Fairlead's write: a later version, which has not arrived yet, contains the same changes.
    if (isSameObject && isNewer(written.metadata.resourceVersion, after.metadata.resourceVersion))
      return true;
    this.#written.delete(key);
    return isSameObject && !this.#isRelevantChange(written, after);
  }
}
