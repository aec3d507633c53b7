// Collects a cloud's hints for one instance source or one part of the load balancers, and requests one refresh per burst. A
// stream that never stops sending hints costs a few requests per minute.

import { milliseconds, seconds } from "../core/brand.ts";
import { hash } from "../core/hash.ts";
import type { Clock } from "../platform/clock.ts";
import { Debounce } from "../runtime/debounce.ts";
import type { Hinted } from "./change-stream.ts";

interface ChangeHintsOptions {
  readonly clock: Clock;
  /** Lists or looks up objects again. The answer must have begun at `since` or later. */
  readonly refresh: (hinted: Hinted, since: number) => void;
  /** The maximum number of requests that a refresh takes. */
  readonly requests: () => number;
}

/** More keys than this are treated as "any". */
const maxKeys = 1000;
const maxVersions = 20_000;
/** No provider id is this long. */
const maxKeyLength = 512;
/** The number of immediate refreshes. Further refreshes take at most four requests per minute. */
const burst = 10;
const perRequest = seconds(15);

export class ChangeHints {
  readonly #options: ChangeHintsOptions;
  readonly #debounce: Debounce;
  /** Stored as hashes, because the cloud determines the length of versions. */
  readonly #versions = new Map<string, number>();
  #hinted: Set<string> | "any" = new Set();
  #since = 0;
  #allowed = burst;
  #allowedAt = 0;
  #cancelWait: (() => void) | undefined;

  constructor(options: ChangeHintsOptions) {
    this.#options = options;
    this.#debounce = new Debounce(options.clock, () => this.#flush());
  }

  /** Returns whether the hint is new. Without a key, the hint is about any object. */
  add(key?: string, version?: string): boolean {
    if (key !== undefined && key.length > maxKeyLength) return false;
    if (key !== undefined && version !== undefined) {
      const hashed = hash(version);
      if (this.#versions.get(key) === hashed) return false;
      if (this.#versions.size >= maxVersions) this.#versions.clear();
      this.#versions.set(key, hashed);
    }
    if (key === undefined || (this.#hinted !== "any" && this.#hinted.size >= maxKeys)) this.#hinted = "any";
    else if (this.#hinted !== "any") this.#hinted.add(key);
    this.#since = this.#options.clock.monotonic();
    this.#debounce.trigger();
    return true;
  }

  stop(): void {
    this.#debounce.stop();
    this.#cancelWait?.();
  }

  #flush(): void {
    const { clock, refresh, requests } = this.#options;
    if (this.#cancelWait !== undefined) return;
    const now = clock.monotonic();
    const interval = perRequest * Math.max(1, requests());
    this.#allowed = Math.min(burst, this.#allowed + (now - this.#allowedAt) / interval);
    this.#allowedAt = now;
    if (this.#allowed < 1) {
      const wait = milliseconds(Math.ceil((1 - this.#allowed) * interval));
      this.#cancelWait = clock.after(wait, () => {
        this.#cancelWait = undefined;
        this.#flush();
      });
      return;
    }
    this.#allowed -= 1;
    const hinted = this.#hinted;
    this.#hinted = new Set();
    refresh(hinted, this.#since);
  }
}
