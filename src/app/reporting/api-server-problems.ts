// What goes wrong with the API server, said once for all who meet it: the same words again only when the trouble lasts, and
// a word when it is over. Every watch fails when the server is away, and one line is enough.

import { minutes } from "../../core/brand.ts";
import { messageOf } from "../../core/errors.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../telemetry/log.ts";

export interface ApiServerProblems {
  /** `watch` is given by those who also say when it is over. */
  readonly failed: (error: unknown, watch?: string) => void;
  readonly recovered: (watch: string) => void;
}

/** After this long the same words come again: what scrolled away long ago helps nobody. */
const sayAgainAfter = minutes(5);
/** Messages remembered at most; beyond that a line may come again. */
const capacity = 100;

export function createApiServerProblems(log: Log, clock: Clock): ApiServerProblems {
  const reported = new Map<string, number>();
  const failing = new Set<string>();
  let since: number | undefined;
  return {
    failed: (error, watch) => {
      const now = clock.monotonic();
      if (watch !== undefined) {
        failing.add(watch);
        since ??= now;
      }
      const message = messageOf(error);
      const last = reported.get(message);
      if (last !== undefined && now - last < sayAgainAfter) return;
      if (reported.size >= capacity) reported.clear();
      reported.set(message, now);
      log.warn(
        message,
        since === undefined || last === undefined ? {} : { forSeconds: Math.round((now - since) / 1000) },
      );
    },
    recovered: (watch) => {
      failing.delete(watch);
      if (failing.size > 0 || since === undefined) return;
      log.info("Every watch works again", { afterSeconds: Math.round((clock.monotonic() - since) / 1000) });
      since = undefined;
      reported.clear();
    },
  };
}
