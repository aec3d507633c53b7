// Composes a smoke test: its two connections to the cloud under a random cluster name, its record, and the trials of its parts.

import { createHash } from "node:crypto";
import { readConfig } from "../../app/configuration/cloud-settings.ts";
import { cloudOf, type Operator } from "../../app/operator.ts";
import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import type { Segments } from "../../provider/volumes.ts";
import { BalancerTrial } from "./balancer-trial.ts";
import { type Part, RecordFile, type SmokeRecord, smokeName, smokeUID } from "./record.ts";
import { desiredRoute, RouteTrial } from "./route-trial.ts";
import { defaultTimeout, SmokeRun } from "./smoke-run.ts";
import { SmokeFailure, type Trial, type TrialContext } from "./trial.ts";
import { VolumeTrial } from "./volume-trial.ts";

/** Nothing may be created in the cloud before the record is saved. */
export function newRecord(operator: Operator): SmokeRecord {
  const { clock, random } = operator.platform;
  const uid = smokeUID(random.uuid());
  return {
    format: 1,
    cloud: operator.provider.name,
    startedAt: new Date(clock.now()).toISOString(),
    uid,
    settings: settingsHash(operator, uid),
    open: [],
    facts: {},
  };
}

/** Too short to guess a password from. */
function settingsHash({ provider, settings: { cloud }, platform }: Operator, uid: string): string {
  const { raw } = readConfig(provider, { environment: platform.environment, ...cloud });
  const files = [...(cloud.inputFiles ?? [])].map(([path, content]) => [path, content.reveal()]);
  const text = JSON.stringify([uid, Object.entries(raw).toSorted(), files.toSorted()]);
  return createHash("sha256").update(text).digest("hex").slice(0, 6);
}

/** The cloud as seen by this record's cluster: objects with another mark are foreign. */
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
  /** Its signal lasts as long as the process, so that a removal continues after Ctrl-C. */
  readonly operator: Operator;
  readonly record: SmokeRecord;
  readonly place: Segments | undefined;
  readonly report: (call: CloudCallReport) => void;
  readonly progress: (text: string) => void;
}

/** A part that these settings cannot list, so it counts as a leftover. */
const withoutTrial = (part: Part, record: SmokeRecord): Trial => ({
  part,
  steps: [],
  searchFor: `a ${part} with the name ${smokeName(record)}`,
  find: () =>
    Promise.reject(new SmokeFailure("NotInCloud", `With these settings, the cloud has no ${part}s.`)),
});

export function composeRun({ operator, record, place, report, progress }: SmokeOptions) {
  const { provider, platform, signal } = operator;
  const changes = { accepted: 0, failed: 0 };
  const work = cloudFor(operator, record, "change", (call) => {
    if (call.mutates) changes[call.failure === undefined ? "accepted" : "failed"] += 1;
    report(call);
  });
  const check = cloudFor(operator, record, "read", report);
  const file = new RecordFile(platform.files, record);
  const context: TrialContext = { provider, work, check, clock: platform.clock, file, progress };
  const route = desiredRoute(record);
  const { volumeDriver } = provider;
  const trials = record.open.map((part): Trial => {
    if (part === "load balancer") return new BalancerTrial(context);
    if (part === "route" && route !== undefined) return new RouteTrial(context, route);
    return part === "route" || volumeDriver === undefined || work.volumes === undefined
      ? withoutTrial(part, record)
      : new VolumeTrial(context, volumeDriver, work.volumes, { place, life: signal });
  });
  const hasOtherSettings = record.settings !== settingsHash(operator, record.uid);
  const timeout = operator.settings.flags.timeout ?? defaultTimeout;
  return new SmokeRun(context, trials, { timeout, hasOtherSettings, changes });
}
