// The alert rules, which the chart and the kustomize component contain.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { generated } from "./static-files.ts";

const source = "deploy/monitoring/alerts.yaml";

/** A Prometheus rules file, which is also the spec of a PrometheusRule. */
export function alertRules(): string {
  const rules = readFileSync(resolve(import.meta.dir, "../..", source), "utf8");
  return `# ${generated} The source is ${source}.\n${rules}`;
}
