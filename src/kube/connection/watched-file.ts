// A file that is reloaded when its version changes, because tokens, certificates and CA bundles are rotated on disk. The last
// valid content stays in use when a later read fails. Callers validate the content.

import { seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";

/** At thousands of requests per second, a stat for each would cost more than the requests. */
const checkInterval = seconds(1);

export class WatchedFile {
  readonly path: string;
  readonly #files: Files;
  readonly #clock: Clock;
  #known: { readonly content: string; readonly version: string | undefined } | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #pending: Promise<string> | undefined;

  constructor(path: string, files: Files, clock: Clock) {
    this.path = path;
    this.#files = files;
    this.#clock = clock;
  }

  /** Rejects with the error of `Files.read` if the file was never read. */
  content(): Promise<string> {
    const isRecent = this.#clock.monotonic() - this.#checkedAt < checkInterval;
    if (this.#known !== undefined && isRecent) return Promise.resolve(this.#known.content);
    this.#pending ??= this.#check().finally(() => {
      this.#pending = undefined;
      this.#checkedAt = this.#clock.monotonic();
    });
    return this.#pending;
  }

  /** Makes the next call of `content` check the disk, even if the last check was recent. */
  invalidate(): void {
    this.#checkedAt = Number.NEGATIVE_INFINITY;
  }

  async #check(): Promise<string> {
    // The version is read before the content, so that the next check detects a change in between.
    const version = await this.#files.version(this.path);
    const isUnchanged = version === undefined || version === this.#known?.version;
    if (this.#known !== undefined && isUnchanged) return this.#known.content;
    try {
      this.#known = { content: await this.#files.read(this.path), version };
    } catch (error) {
      if (this.#known === undefined) throw error;
    }
    return this.#known.content;
  }
}
