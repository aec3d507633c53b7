// What a group needs from the listings of the cloud's parts: which parts decide for it, and which listings it has requested.

const none: ReadonlyMap<string, number> = new Map();

export class GroupListings {
  #requested = none;
  #parts: ReadonlySet<string> | undefined;
  /** Once this time has come (monotonic), an older listing is outdated: a refused target is tried again. */
  dueAt: number | undefined;

  /** When a newer listing of a part was requested (monotonic), until all of them have arrived. */
  get requested(): ReadonlyMap<string, number> {
    return this.#requested;
  }

  noteRequest(part: string, at: number): void {
    this.#requested = new Map(this.#requested).set(part, at);
  }

  forgetRequests(): void {
    this.#requested = none;
  }

  /** The parts of the cloud in which its load balancer may be, as of the last reconcile. Undefined: any. */
  get parts(): ReadonlySet<string> | undefined {
    return this.#parts;
  }

  /** Returns whether a part is new, so that earlier listings prove less than they seemed to. */
  setParts(parts: ReadonlySet<string>): boolean {
    const before = this.#parts;
    this.#parts = parts;
    return before !== undefined && before !== parts && [...parts].some((part) => !before.has(part));
  }

  covers(part: string): boolean {
    return this.#parts === undefined || this.#parts.has(part);
  }
}
