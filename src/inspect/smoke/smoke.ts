// Composes a smoke test: its two connections to the cloud under a random name of the cluster, its record, and the trials of its parts.

import { cloudOf, type Operator } from "../../app/operator.ts";
import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import type { Segments } from "../../provider/volumes.ts";
import { BalancerTrial } from "./balancer-trial.ts";
import { RecordFile, type SmokeRecord, smokeName } from "./record.ts";
import { desiredRoute, RouteTrial } from "./route-trial.ts";
import { defaultTimeout, SmokeRun } from "./smoke-run.ts";
import type { Trial, TrialContext } from "./trial.ts";
import { VolumeTrial } from "./volume-trial.ts";

/** Nothing of it may be in the cloud before it is saved. */
export function newRecord({ provider, platform: { clock, random } }: Operator): SmokeRecord {
  return {
    format: 1,
    cloud: provider.name,
    startedAt: new Date(clock.now()).toISOString(),
    uid: random.uuid(),
    open: [],
    facts: {},
  };
}

/** The cloud as the cluster of this record sees it: what has another mark is foreign. */
export function cloudFor(
  operator: Operator,
  record: SmokeRecord,
  access: "read" | "change",
  report: (call: CloudCallReport) => void,
): AnyCloud {
  const { settings } = operator;
  const flags = { ...settings.flags, "cluster-name": smokeName(record) };
  return cloudOf({ ...operator, settings: { ...settings, flags } }, access, record.uid, report);
}

export interface SmokeOptions {
  /** Its signal ends with the process: a removal goes on after Ctrl-C. */
  readonly operator: Operator;
  readonly record: SmokeRecord;
  readonly place: Segments | undefined;
  readonly report: (call: CloudCallReport) => void;
  readonly progress: (text: string) => void;
}

export function composeRun({ operator, record, place, report, progress }: SmokeOptions) {
  const { provider, platform, signal } = operator;
  const work = cloudFor(operator, record, "change", report);
  const check = cloudFor(operator, record, "read", report);
  const file = new RecordFile(platform.files, record);
  const context: TrialContext = { provider, work, check, clock: platform.clock, file, progress };
  const route = desiredRoute(record);
  const { volumeDriver } = provider;
  const trials = record.open.flatMap((part): readonly Trial[] => {
    if (part === "load balancer") return [new BalancerTrial(context)];
    if (part === "route") return route === undefined ? [] : [new RouteTrial(context, route)];
    return volumeDriver === undefined || work.volumes === undefined
      ? []
      : [new VolumeTrial(context, volumeDriver, work.volumes, { place, life: signal })];
  });
  return new SmokeRun(context, trials, operator.settings.flags.timeout ?? defaultTimeout);
}
