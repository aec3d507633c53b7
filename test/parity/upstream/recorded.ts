// Upstream's names and defaults at the recorded version, with which Fairlead's tables are compared.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface RecordedMetric {
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

export interface RecordedNames {
  /** The version of k8s.io/cloud-provider. */
  readonly version: string;
  /** Flags with their defaults. */
  readonly flags: Readonly<Record<string, string>>;
  /** Feature gates with stage, default and lock. */
  readonly gates: Readonly<Record<string, string>>;
  readonly metrics: Readonly<Record<string, RecordedMetric>>;
  /** Paths of members of /configz. */
  readonly configz: readonly string[];
  /** Reasons of events. */
  readonly events: readonly string[];
}

export const recordedPath = join(import.meta.dir, "recorded.json");

export const recordedNames = JSON.parse(readFileSync(recordedPath, "utf8")) as RecordedNames;
