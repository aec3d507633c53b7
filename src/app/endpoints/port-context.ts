// The context that the serving ports share.

import type { AnnotationTable } from "../../controllers/service/annotations/annotations.ts";
import type { Fields } from "../../core/settings.ts";
import type { Listen } from "../../platform/listener.ts";
import type { RuntimeFigures } from "../../platform/memory.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Flags } from "../flags/flag-table.ts";
import type { Manager } from "../manager/manager.ts";
import type { ProcessMetrics } from "../metrics/process-metrics.ts";
import type { ManagerPlatform } from "../system-platform.ts";

/** The part of the context that the process provides. */
export interface ServingOptions {
  readonly flags: Flags;
  readonly platform: ManagerPlatform;
  readonly listen: Listen;
  readonly figures: RuntimeFigures;
  readonly log: Log;
  readonly program: string;
  readonly provider: AnyProvider;
  /** The annotations with the operator's defaults. */
  readonly annotations: AnnotationTable<Fields>;
  readonly setVerbosity: (level: number) => void;
}

export interface PortContext extends ServingOptions {
  readonly manager: Manager;
  readonly metrics: ProcessMetrics;
  /** Aborted when the ports close. */
  readonly signal: AbortSignal;
}
