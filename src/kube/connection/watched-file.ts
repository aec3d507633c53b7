// A file that is read again when its version changes: tokens, certificates and CA bundles are rotated under us.
// It keeps the last good content when a later reading fails; whether the content makes sense is for the caller to say.

import { seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";

export interface WatchedFile {
  readonly path: string;
  /** Throws what `Files.read` threw when it was never read. */
  content(): Promise<string>;
  /** Looks at the disk at the next reading, however recent the last look was. */
  invalidate(): void;
}

/** At thousands of requests per second, a look at the disk for each would cost more than the requests. */
const checkEvery = seconds(1);

export function watchedFile(path: string, files: Files, clock: Clock): WatchedFile {
  let known: { readonly content: string; readonly version: string | undefined } | undefined;
  let checkedAt = Number.NEGATIVE_INFINITY;
  let checking: Promise<string> | undefined;

  const check = async (): Promise<string> => {
    // The version is taken before the content: a change in between is seen at the next look.
    const version = await files.version(path);
    if (known !== undefined && (version === undefined || version === known.version)) return known.content;
    try {
      known = { content: await files.read(path), version };
    } catch (error) {
      if (known === undefined) throw error;
    }
    return known.content;
  };

  return {
    path,
    content: () => {
      const now = clock.monotonic();
      if (known !== undefined && now - checkedAt < checkEvery) return Promise.resolve(known.content);
      checking ??= check().finally(() => {
        checking = undefined;
        checkedAt = clock.monotonic();
      });
      return checking;
    },
    invalidate: () => {
      checkedAt = Number.NEGATIVE_INFINITY;
    },
  };
}
