// What the terminal shows, as lines made from the state of the world. Pure: it asks nothing and moves no cursor.

import type { Node, Service } from "../../src/kube/objects.ts";
import type { JournalEntry } from "../../src/runtime/journal.ts";

export interface Scene {
  readonly chapter: string;
  readonly waitsFor: string | undefined;
  readonly kubeconfig: string;
  readonly elapsedMs: number;
  readonly nodes: readonly Node[];
  readonly machines: ReadonlyMap<string, string>;
  readonly services: readonly Service[];
  readonly routes: number;
  readonly cloudCalls: Readonly<Record<string, number>>;
  readonly journal: readonly JournalEntry[];
}

const colours = { green: 32, yellow: 33, red: 31, dim: 90, bold: 1 } as const;
type Colour = keyof typeof colours;
const paint = (text: string, colour: Colour): string => `\u001B[${colours[colour]}m${text}\u001B[0m`;
const column = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width);

const shortTaint = (key: string): string => key.replace(/^.*\//, "");

export const stateOf = (node: Node): { readonly text: string; readonly colour: Colour } => {
  const taints = (node.spec.taints ?? []).map(({ key }) => shortTaint(key));
  if (taints.includes("uninitialized")) return { text: "joining", colour: "yellow" };
  if (taints.includes("shutdown")) return { text: "switched off", colour: "dim" };
  const isReady = node.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  if (node.spec.unschedulable === true) return { text: "cordoned", colour: "yellow" };
  return isReady ? { text: "schedulable", colour: "green" } : { text: "not ready", colour: "red" };
};

const nodeLine = (node: Node, machine: string | undefined): string => {
  const { text, colour } = stateOf(node);
  const address = node.status.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "-";
  const taints = (node.spec.taints ?? []).map(({ key }) => shortTaint(key)).join(" ");
  return [
    `  ${column(node.metadata.name, 14)}`,
    paint(column(text, 13), colour),
    column(node.spec.providerID ?? "-", 14),
    column(address, 16),
    column(machine ?? "gone", 12),
    paint(taints, "dim"),
  ].join(" ");
};

const serviceLine = ({ metadata, status }: Service): string => {
  const address = status.loadBalancer?.ingress?.[0]?.ip;
  const [text, colour] =
    metadata.deletionTimestamp !== undefined
      ? (["going", "dim"] as const)
      : address === undefined
        ? (["pending", "yellow"] as const)
        : (["served", "green"] as const);
  return `  ${column(metadata.name, 14)} ${paint(column(text, 13), colour)} ${address ?? "-"}`;
};

/** A patch in words, by the most telling of the paths that it changes. */
const words: readonly (readonly [string, string])[] = [
  ["/spec/providerID", "initialised"],
  ["/spec/taints", "taints changed"],
  ["/metadata/labels", "labels changed"],
  ["/status/addresses", "addresses written"],
];

const journalLine = (entry: JournalEntry, width: number): string => {
  const time = new Date(entry.at).toISOString().slice(11, 19);
  const action = words.find(([path]) => entry.action.includes(path))?.[1] ?? entry.action;
  const outcome = entry.outcome === "done" ? "" : ` [${entry.outcome}]`;
  const text = `${column(entry.object.replace(/^(node|service\/default|balancer)\//, ""), 14)} ${action}, because ${entry.why}${outcome}`;
  return `  ${paint(time, "dim")} ${column(text, Math.max(20, width - 14))}`;
};

export const linesOf = (
  scene: Scene,
  size: { readonly rows: number; readonly columns: number },
): readonly string[] => {
  const counts = new Map<string, number>();
  for (const node of scene.nodes) {
    const { text } = stateOf(node);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const summary = [...counts].map(([text, count]) => `${count} ${text}`).join(", ");
  const calls = Object.entries(scene.cloudCalls);
  const total = calls.reduce((sum, [, count]) => sum + count, 0);
  const history = 8;
  const room = Math.max(3, size.rows - history - 14 - scene.services.length);
  const shown = scene.nodes.slice(0, room);
  return [
    `${paint("Fairlead", "bold")}  ${(scene.elapsedMs / 1000).toFixed(1)} s   ${scene.chapter}`,
    scene.waitsFor === undefined
      ? paint("  everything has settled; Ctrl-C ends it", "green")
      : `  waits for ${scene.waitsFor}`,
    "",
    paint(
      `  ${column("NODE", 14)} ${column("STATE", 13)} ${column("PROVIDER ID", 14)} ${column("ADDRESS", 16)} ${column("MACHINE", 12)} TAINTS`,
      "dim",
    ),
    ...shown.map((node) => nodeLine(node, scene.machines.get(node.metadata.name))),
    ...(scene.nodes.length > shown.length
      ? [paint(`  … ${scene.nodes.length - shown.length} more: ${summary}`, "dim")]
      : []),
    ...(scene.services.length === 0
      ? []
      : [
          "",
          paint(`  ${column("SERVICE", 14)} ${column("STATE", 13)} ADDRESS`, "dim"),
          ...scene.services.slice(0, 5).map(serviceLine),
        ]),
    "",
    `${paint("Routes", "bold")}       ${scene.routes} to the pods of nodes`,
    `${paint("Cloud calls", "bold")}  ${total} in all${calls.length === 0 ? "" : `: ${calls.map(([name, count]) => `${name} ${count}`).join(", ")}`}`,
    "",
    paint("What happened last, and why", "bold"),
    ...scene.journal.slice(-history).map((entry) => journalLine(entry, size.columns)),
    "",
    paint(`  another terminal: export KUBECONFIG=${scene.kubeconfig}; kubectl get nodes -w`, "dim"),
  ];
};
