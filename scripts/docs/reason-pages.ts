// Generates the runbooks of reasons: one page for each group, with a heading for each reason, to which events and alerts link.

import { commonReasons, meaningsOf } from "../../src/provider/reasons.ts";
import { documentedClouds } from "./documented-clouds.ts";
import { ofTheCloud, onLeases } from "./reasons/all.ts";
import { onNodes } from "./reasons/nodes.ts";
import type { Reason, Reasons } from "./reasons/reason.ts";
import { inNetworkConditions, inRouteLog, onRouteLease, onRoutes } from "./reasons/routes.ts";
import { onServiceLease, onServices } from "./reasons/services.ts";
import { inVolumeLog, onVolumeLease, onVolumes } from "./reasons/volumes.ts";

/** The reasons that appear in one place. */
export interface Place {
  readonly title: string;
  readonly note: string;
  readonly reasons: Reasons;
  /** The objects that `fairlead_problems` counts while a warning applies. */
  readonly objects?: string;
}

export interface Group {
  /** The page's name. */
  readonly name: string;
  readonly title: string;
  readonly commands: readonly string[];
  readonly places: readonly Place[];
}

const events = "kubectl get events -A --field-selector reason=REASON";
const explainNode = "kubectl fairlead explain node NAME";
const explainService = "kubectl fairlead explain service NAMESPACE/NAME";
const log = "grep REASON LOG";
const onTheLease = "Events on the Lease, reported by `cloud-controller-manager`.";
const inTheLog = "Logged by the leader, because they concern no single object.";

/**
 * The reasons that providers report, without the responses of the cloud that have the same reason. The meaning
 * includes the remedy.
 */
const ofProvider = (meanings: Readonly<Record<string, string>>): Reasons =>
  Object.fromEntries(
    Object.entries(meanings).flatMap(([name, when]) =>
      name in ofTheCloud ? [] : [[name, { type: "Warning", when }]],
    ),
  );

/** Two providers may declare the same reason. */
function ofSingleProviders(): Reasons {
  const found = documentedClouds.flatMap(({ title, folder, provider }) =>
    Object.entries(meaningsOf(provider.reasons)).map(
      ([name, meaning]) => [name, `On [${title}](../clouds/${folder}.md): ${meaning}`] as const,
    ),
  );
  const byName = Map.groupBy(found, ([name]) => name);
  return ofProvider(
    Object.fromEntries([...byName].map(([name, texts]) => [name, texts.map(([, text]) => text).join(" ")])),
  );
}

export const reasonGroups: readonly Group[] = [
  {
    name: "nodes",
    title: "Nodes",
    commands: [events, explainNode],
    places: [
      {
        title: "Events on Nodes",
        note: "Reported by `cloud-node-controller` and `cloud-node-lifecycle-controller`, as in upstream.",
        reasons: onNodes,
        objects: "Nodes",
      },
    ],
  },
  {
    name: "services",
    title: "Services",
    commands: [events, explainService],
    places: [
      {
        title: "Events and conditions of Services",
        note: "Reported by `service-controller`.",
        reasons: onServices,
        objects: "Services",
      },
      { title: "Services on the Lease", note: onTheLease, reasons: onServiceLease },
    ],
  },
  {
    name: "routes",
    title: "Routes",
    commands: [events, explainNode, log],
    places: [
      {
        title: "Events about routes on Nodes",
        note: "Reported by `route_controller`, as in upstream.",
        reasons: onRoutes,
        objects: "Nodes",
      },
      {
        title: "The condition NetworkUnavailable",
        note: "Reasons of the condition on Nodes where routes are managed. They do not appear as events.",
        reasons: inNetworkConditions,
      },
      { title: "Routes on the Lease", note: onTheLease, reasons: onRouteLease },
      { title: "Routes in the log", note: inTheLog, reasons: inRouteLog, objects: "route tables" },
    ],
  },
  {
    name: "volumes",
    title: "Volumes",
    commands: [events, "kubectl fairlead explain pvc NAMESPACE/NAME", log],
    places: [
      {
        title: "Events on claims, PersistentVolumes and VolumeAttachments",
        note: "Reported by `volume-controller`, with `--controllers=*,volume` ([volumes.md](../volumes.md)).",
        reasons: onVolumes,
        objects: "claims, PersistentVolumes and VolumeAttachments",
      },
      { title: "Volumes on the Lease", note: onTheLease, reasons: onVolumeLease },
      { title: "Volumes in the log", note: inTheLog, reasons: inVolumeLog },
    ],
  },
  {
    name: "clouds",
    title: "Clouds",
    commands: [events, explainNode, explainService],
    places: [
      {
        title: "Answers of the cloud",
        note: "Events on joining Nodes, by kind of error. A Service gets the event `SyncLoadBalancerFailed` or `DeleteLoadBalancerFailed` with the cloud's answer, and one of these reasons on its condition.",
        reasons: ofTheCloud,
        objects: "Nodes",
      },
      {
        title: "Findings of all providers",
        note: "Problems that a provider finds with an instance, a load balancer or a route. The command `schema` lists all provider reasons under `$defs.problemReasons`.",
        reasons: ofProvider(commonReasons),
        objects: "Nodes and Services",
      },
      {
        title: "Findings of single providers",
        note: "Each entry names the cloud.",
        reasons: ofSingleProviders(),
        objects: "Nodes and Services",
      },
    ],
  },
  {
    name: "manager",
    title: "The manager",
    commands: [events, "kubectl fairlead doctor"],
    places: [{ title: "Events on the Lease", note: onTheLease, reasons: onLeases }],
  },
];

/** The link to a reason from a page in docs. */
export const linkTo = ({ name: page }: Group, reason: string): string =>
  `runbooks/${page}.md#${reason.toLowerCase()}`;

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!]$/.test(text) ? "" : "."}`;

/** The metric that counts the objects with this reason; empty without such a metric. */
function metricOf(name: string, { type, uncounted }: Reason, objects: string | undefined): string {
  if (type === "Warning" && uncounted === undefined && objects !== undefined)
    return ` Metric: \`fairlead_problems{reason="${name}"}\`.`;
  if (uncounted !== "hold" || objects !== "Nodes") return "";
  const metric = name.startsWith("OutOfService")
    ? `fairlead_nodes_out_of_service{state="${name.endsWith("Held") ? "held" : "observed"}"}`
    : `fairlead_node_deletions_held{reason="${name}"}`;
  return ` Metric: \`${metric}\`.`;
}

function section(name: string, reason: Reason, { objects }: Place): string {
  const { type, when, whatToDo } = reason;
  const kind = type === "Normal" ? "Information" : "Warning";
  const act = whatToDo === undefined ? "" : ` **What to do:** ${sentence(whatToDo)}`;
  return `### ${name}\n\n${kind}: ${sentence(when)}${act}${metricOf(name, reason, objects)}\n`;
}

function placeText(place: Place): string {
  const { title, note, objects, reasons } = place;
  const counted =
    objects === undefined ? "" : ` The metric of an entry counts the ${objects} with that reason.`;
  const sections = Object.entries(reasons).map(([name, reason]) => section(name, reason, place));
  return `## ${title}\n\n${note}${counted}\n\n${sections.join("\n")}`;
}

const pageOf = ({ title, commands, places }: Group): string => `# Runbook: ${title}

Generated by \`npm run docs\` from \`scripts/docs/reasons\`. Do not edit this page. The message of an event or condition gives the values and says
what Fairlead does in the meantime. [kubectl fairlead](../commands.md#kubectl-fairlead) is Fairlead's kubectl plugin.

\`\`\`sh
${commands.join("\n")}
\`\`\`

${places.map(placeText).join("\n")}`;

/** Pages by name. */
export const reasonPages = (): Readonly<Record<string, string>> =>
  Object.fromEntries(reasonGroups.map((group) => [group.name, pageOf(group)]));
