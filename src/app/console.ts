// How a process communicates: its output, systemd, reload requests, and the listener for incoming connections.

import type { Listen } from "../platform/listener.ts";
import type { RuntimeFigures } from "../platform/memory.ts";
import type { Log } from "../telemetry/log.ts";
import type { ReloadRequests } from "./configuration/reload-requests.ts";
import type { Systemd } from "./systemd.ts";

export interface Console {
  /** stdout */
  readonly out: (text: string) => unknown;
  /** stderr */
  readonly err: (text: string) => void;
  readonly stdin?: () => Promise<string>;
  /** Reads the line that a person types. Unset without a terminal. */
  readonly readLine?: (() => Promise<string>) | undefined;
  readonly pid?: number;
  /** The name or path with which the program was started. */
  readonly invokedAs?: string;
  readonly systemd?: Systemd;
  readonly reloads?: ReloadRequests;
  /** Receives the log of a command that runs until it is stopped. */
  readonly onLog?: (log: Log) => void;
  /** If unset, no port is opened. */
  readonly serving?: { readonly listen: Listen; readonly figures: RuntimeFigures };
}

/**
 * 0: success or a requested stop; 1: failure; 2: an error that the operator must fix; 3: a command found something to do or to fix;
 * 4: `doctor` found only warnings.
 */
export type ExitCode = 0 | 1 | 2 | 3 | 4;
