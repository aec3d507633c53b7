// Notifies systemd: ready, status, reloading, stopping, and the watchdog. Has no effect without systemd.

import { type Milliseconds, milliseconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Environment } from "../platform/environment.ts";
import type { NotifySocket } from "../platform/notify-socket.ts";

export interface Systemd {
  /** Reports that the configuration is valid and the manager starts, even if the API server is unavailable. */
  readonly ready: () => void;
  readonly status: (text: string) => void;
  /** Reports that a reload starts; `ready` reports its end. */
  readonly reloading: () => void;
  readonly stopping: () => void;
  /** Feeds the watchdog while `problem` returns undefined. The timer proves that the event loop runs. */
  readonly watch: (problem: () => string | undefined, signal: AbortSignal) => void;
}

/** Half the timeout, as sd_watchdog_enabled(3) recommends; undefined if the watchdog is not enabled for this process. */
export function watchdogPeriod(environment: Environment, pid: number): Milliseconds | undefined {
  const timeoutMicroseconds = Number(environment["WATCHDOG_USEC"]);
  const watchedPid = environment["WATCHDOG_PID"];
  if (!Number.isFinite(timeoutMicroseconds) || timeoutMicroseconds <= 0) return undefined;
  if (watchedPid !== undefined && watchedPid !== String(pid)) return undefined;
  return milliseconds(timeoutMicroseconds / 2000);
}

const onOneLine = (text: string): string => text.replaceAll("\n", " ");

export function createSystemd(
  socket: NotifySocket | undefined,
  { clock, watchdog }: { readonly clock: Clock; readonly watchdog: Milliseconds | undefined },
): Systemd {
  const notify = (...lines: readonly string[]): void => void socket?.send(lines.join("\n"));
  return {
    ready: () => notify("READY=1"),
    status: (text) => notify(`STATUS=${onOneLine(text)}`),
    reloading: () => notify("RELOADING=1", `MONOTONIC_USEC=${socket?.monotonic() ?? 0n}`),
    stopping: () => notify("STOPPING=1", "STATUS=Draining in-flight work"),
    watch: (problem, signal) => {
      if (socket === undefined || watchdog === undefined) return;
      const beat = (): void => {
        if (signal.aborted) return;
        const reason = problem();
        // Without these notifications systemd restarts the process; the status then shows the reason.
        if (reason === undefined) notify("WATCHDOG=1");
        else notify(`STATUS=Unhealthy: ${onOneLine(reason)}`);
        clock.after(watchdog, beat);
      };
      beat();
    },
  };
}
