// What systemd is told of this process: ready, how it is, reloading, stopping, and that it still lives. It decides what is
// said and when; the socket is a seam. Without systemd nothing is said.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Environment } from "../platform/environment.ts";
import type { NotifySocket } from "../platform/notify-socket.ts";

export interface Systemd {
  /** The configuration is good and the work begins; an API server that is away is no reason to wait. */
  readonly ready: () => void;
  readonly status: (text: string) => void;
  /** Around a reading of the configuration; `ready` ends it. */
  readonly reloading: () => void;
  readonly stopping: () => void;
  /** Says that we live, for as long as nothing stands against it. The timer itself proves that the event loop turns. */
  readonly watch: (whyNot: () => string | undefined, signal: AbortSignal) => void;
}

/** Half of what is allowed, as sd_watchdog_enabled(3) advises; undefined when no watchdog waits for us. */
export function watchdogPeriod(environment: Environment, pid: number): Milliseconds | undefined {
  const allowed = Number(environment["WATCHDOG_USEC"]);
  const meant = environment["WATCHDOG_PID"];
  if (!Number.isFinite(allowed) || allowed <= 0) return undefined;
  return meant === undefined || meant === String(pid) ? milliseconds(allowed / 2000) : undefined;
}

const onOneLine = (text: string): string => text.replaceAll("\n", " ");

export function createSystemd(
  socket: NotifySocket | undefined,
  { clock, watchdog }: { readonly clock: Clock; readonly watchdog: Milliseconds | undefined },
): Systemd {
  const say = (...lines: readonly string[]): void => void socket?.send(lines.join("\n"));
  return {
    ready: () => say("READY=1"),
    status: (text) => say(`STATUS=${onOneLine(text)}`),
    reloading: () => say("RELOADING=1", `MONOTONIC_USEC=${socket?.monotonic() ?? 0n}`),
    stopping: () => say("STOPPING=1", "STATUS=finishing what is in hand"),
    watch: (whyNot, signal) => {
      if (socket === undefined || watchdog === undefined) return;
      const beat = (): void => {
        if (signal.aborted) return;
        const why = whyNot();
        // Silence is what makes systemd act; the reason is there for whoever looks afterwards.
        if (why === undefined) say("WATCHDOG=1");
        else say(`STATUS=not well: ${onOneLine(why)}`);
        clock.after(watchdog, beat);
      };
      beat();
    },
  };
}
