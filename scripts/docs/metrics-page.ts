// docs/metrics.md from the declarations of the metrics, so that the page cannot say anything else than the program.

import { createManagerMetrics } from "../../src/app/metrics/manager-metrics.ts";
import { createProcessWideMetrics } from "../../src/app/metrics/process-wide-metrics.ts";
import { createHealthMetrics } from "../../src/app/metrics/serving-metrics.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemFigures } from "../../src/platform/runtime-figures.ts";
import type { MetricDeclaration } from "../../src/telemetry/metrics.ts";

const cell = (text: string): string => text.replaceAll("|", "\\|");

function row({ name, type, labels, help, buckets }: MetricDeclaration): string {
  const bounds = buckets === undefined ? "" : ` Buckets: ${buckets.join(", ")}.`;
  const named = labels.map((label) => `\`${label}\``).join(", ");
  return `| \`${name}\` | ${type} | ${named} | ${cell(help)}${bounds} |`;
}

function table(metrics: readonly MetricDeclaration[]): string {
  return ["| Name | Type | Labels | Meaning |", "|---|---|---|---|", ...metrics.map(row)].join("\n");
}

export function metricsPage(): string {
  const manager = createManagerMetrics(systemClock);
  // Declared once there is a cloud to look at.
  manager.watch([], { sources: [] }, {});
  const lasting = createProcessWideMetrics(systemClock, systemFigures);
  const sorted = [...manager.declarations, ...lasting.declarations].toSorted((a, b) =>
    a.name.localeCompare(b.name),
  );
  const isOurs = ({ name }: MetricDeclaration): boolean => name.startsWith("fairlead_");
  return `# Metrics

Made by \`npm run docs\`. They are served on \`/metrics\` of the secure port, which needs leave to \`get\` the non-resource URL
\`/metrics\`. A metric without any value yet shows its name and help only. At most 1000 series of each are kept; what comes beyond is
counted under the label value \`other\`.

## By upstream's names

Names, labels and buckets are those of the Go managers, so that dashboards and alerts work as they are. \`rest_client_requests_total\` has
the label \`resource\` in addition.

${table(sorted.filter((each) => !isOurs(each)))}

## Ours

${table(sorted.filter(isOurs))}

## On /metrics/slis

${table(createHealthMetrics().declarations)}
`;
}
