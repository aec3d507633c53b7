// What a process talks through: its output, whoever started it, those who ask it, and how it ends.

import type { Listen } from "../platform/listener.ts";
import type { RuntimeFigures } from "../platform/runtime-figures.ts";
import type { ReloadRequests } from "./configuration/reload-requests.ts";
import type { Systemd } from "./systemd.ts";

export interface Console {
  readonly out: (text: string) => unknown;
  readonly err: (text: string) => void;
  readonly pid?: number;
  /** Told how this process is, where one listens. */
  readonly service?: Systemd;
  /** Wishes to read the configuration again. */
  readonly reloads?: ReloadRequests;
  /** The way in for those who ask us; without it, no port is opened. */
  readonly inward?: { readonly listen: Listen; readonly figures: RuntimeFigures };
}

export type ExitCode = 0 | 1 | 2;
