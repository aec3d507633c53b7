// Generates docs/runbooks: one page per reason, from the list in `reasons/`, and the index of all runbooks. The pages of the alerts
// are written by hand.

import { commonReasons, meaningsOf } from "../../src/provider/reasons.ts";
import { documentedClouds } from "./documented-clouds.ts";
import { inTheLog, ofNetworks, ofTheCloud, onLeases } from "./reasons/all.ts";
import { onNodes } from "./reasons/nodes.ts";
import type { Reason, Reasons } from "./reasons/reason.ts";
import { onServices } from "./reasons/services.ts";
import { onVolumes } from "./reasons/volumes.ts";

/** Where a reason appears, and how to find the objects that have it. */
interface Place {
  readonly where: string;
  readonly reasons: Reasons;
  readonly look: (reason: string) => readonly string[];
  /** The objects that `fairlead_problems` counts while a warning applies. */
  readonly objects?: readonly string[];
}

/** The executable of any cloud. */
const plugin = "kubectl fairlead";

const events = (reason: string): string => `kubectl get events -A --field-selector reason=${reason}`;
const places: readonly Place[] = [
  {
    where: "an event on a Node",
    reasons: onNodes,
    objects: ["Nodes"],
    look: (reason) => [events(reason), `${plugin} explain node NAME`],
  },
  {
    where: "an event on a Node that joins, or the reason of a condition of a Service",
    reasons: ofTheCloud,
    objects: ["Nodes"],
    look: (reason) => [events(reason), `${plugin} explain node NAME`],
  },
  {
    where: "an event or condition of a Service",
    reasons: onServices,
    objects: ["Services"],
    look: (reason) => [events(reason), `${plugin} explain service NAMESPACE/NAME`],
  },
  {
    where: "an event on a claim, a PersistentVolume or a VolumeAttachment",
    reasons: onVolumes,
    objects: ["claims, PersistentVolumes and VolumeAttachments"],
    look: (reason) => [events(reason)],
  },
  { where: "an event on the Lease", reasons: onLeases, look: (reason) => [events(reason)] },
  {
    where: "the condition `NetworkUnavailable` of a Node",
    reasons: ofNetworks,
    look: () => ["kubectl describe node NAME"],
  },
  {
    where: "the log of the leader",
    reasons: inTheLog,
    objects: ["route tables"],
    look: (reason) => [`grep ${reason} LOG`],
  },
];

/** What providers report: the meaning contains what to do. */
const ofProviders: Readonly<Record<string, string>> = commonReasons;

/** A provider does not say whether its reason is about a Node or a Service. */
function ofProvider(name: string, { by, meaning, program }: ProviderReason): string {
  return `Reported by ${by}, on a Node or a Service.

**When, and what to do:** ${meaning}

\`\`\`sh
${events(name)}
${program} explain service NAMESPACE/NAME
${program} explain node NAME
\`\`\`
`;
}

interface ProviderReason {
  readonly by: string;
  readonly meaning: string;
  /** How to start `explain`. */
  readonly program: string;
}

/** Of every provider, by name. */
const providerReasons: readonly (readonly [string, ProviderReason])[] = [
  ...Object.entries(ofProviders).map(
    ([name, meaning]) => [name, { by: "the provider", meaning, program: plugin }] as const,
  ),
  ...documentedClouds.flatMap(({ title, folder, provider }) =>
    Object.entries(meaningsOf(provider.reasons)).map(([name, meaning]) => {
      const by = `the provider of [${title}](../../clouds/${folder}.md)`;
      return [name, { by, meaning, program: `${folder}-cloud-controller-manager` }] as const;
    }),
  ),
];

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!]$/.test(text) ? "" : "."}`;

function entry({ where, look }: Place, name: string, { type, when, whatToDo }: Reason): string {
  const act = whatToDo === undefined ? "Nothing needs to be done." : sentence(whatToDo);
  return `${type === "Normal" ? "Information" : "A warning"}: ${where}.

**When:** ${sentence(when)}

**What to do:** ${act}

\`\`\`sh
${look(name).join("\n")}
\`\`\`
`;
}

/** Names the metric that counts objects with this reason; empty without such a metric. */
function countedAs(name: string): string {
  const isReported = providerReasons.some(([own]) => own === name);
  const objects = places.flatMap(({ reasons, objects: all = [] }) => {
    const { type, uncounted } = reasons[name] ?? {};
    return type === "Warning" && uncounted === undefined ? all : [];
  });
  const counted = [...new Set([...objects, ...(isReported ? ["Nodes", "Services"] : [])])].toSorted();
  const isHeld = onNodes[name]?.uncounted === "hold";
  if (counted.length > 0)
    return ` \`fairlead_problems{reason="${name}"}\` counts the ${counted.join(" and ")} with this\nreason.`;
  const metric = name.startsWith("OutOfService")
    ? `fairlead_nodes_out_of_service{state="${name.endsWith("Held") ? "held" : "observed"}"}`
    : `fairlead_node_deletions_held{reason="${name}"}`;
  return isHeld ? ` \`${metric}\` counts the Nodes with this\nreason.` : "";
}

function pageOf(name: string): string {
  const entries = places.flatMap((place) => {
    const reason = place.reasons[name];
    return reason === undefined ? [] : [entry(place, name, reason)];
  });
  for (const [own, reason] of providerReasons) if (own === name) entries.push(ofProvider(name, reason));
  return `# ${name}

Generated by \`npm run docs\` from \`scripts/docs/reasons\`. Do not edit this page.

${entries.join("\n")}
The message gives the values, and says what Fairlead does in the meantime.${countedAs(name)} [kubectl fairlead](../../commands.md#kubectl-fairlead) is Fairlead's plugin of kubectl. All reasons:
[events.md](../../events.md). All runbooks: [README.md](../README.md).
`;
}

/** By name. */
export function reasonPages(): Readonly<Record<string, string>> {
  const names = [
    ...places.flatMap(({ reasons }) => Object.keys(reasons)),
    ...providerReasons.map(([name]) => name),
  ];
  return Object.fromEntries([...new Set(names)].toSorted().map((name) => [name, pageOf(name)]));
}

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The alerts of deploy/monitoring/alerts.yaml. */
export function alertsIn(text: string): readonly Alert[] {
  const { groups } = Bun.YAML.parse(text) as { groups: readonly { rules: readonly Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

const plainText = (template: string): string =>
  template.replaceAll(/\{\{ \$(?:labels\.)?(\w+)[^}]*\}\}/g, (_, name) =>
    name === "value" ? "N" : `*${name}*`,
  );

export function runbookIndex(alerts: readonly Alert[]): string {
  const rows = alerts.map(
    ({ alert, for: duration, labels, annotations }) =>
      `| [${alert}](alerts/${alert}.md) | ${labels["severity"]} | ${duration} | ${plainText(annotations["summary"] ?? "")} |`,
  );
  const reasons = Object.keys(reasonPages()).map((name) => `[${name}](reasons/${name}.md)`);
  return `# Runbooks

Generated by \`npm run docs\`. Do not edit this page. What to do when an alert fires, or when an object has a reason.

## Alerts

The rules are in \`deploy/monitoring/alerts.yaml\`; [operations.md](../operations.md#alerts) says how to use them.

| Alert | Severity | After | Summary |
|---|---|---|---|
${rows.join("\n")}

## Reasons

${reasons.join(" · ")}
`;
}
