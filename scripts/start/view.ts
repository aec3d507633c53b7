// What the terminal shows, as lines made from the state of the world, no wider and no more than it has room for. Pure: it
// asks nothing and moves no cursor.

import type { Node, Service } from "../../src/kube/objects.ts";
import type { JournalEntry } from "../../src/runtime/journal.ts";
import { type Cell, type Colour, cut, fit, inColumns, paint } from "./screen.ts";

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

const shortTaint = (key: string): string => key.replace(/^.*\//, "");

export function stateOf(node: Node): { readonly text: string; readonly colour: Colour } {
  const taints = (node.spec.taints ?? []).map(({ key }) => shortTaint(key));
  if (taints.includes("uninitialized")) return { text: "joining", colour: "yellow" };
  if (taints.includes("shutdown")) return { text: "switched off", colour: "dim" };
  const isReady = node.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  if (node.spec.unschedulable === true) return { text: "cordoned", colour: "yellow" };
  return isReady ? { text: "schedulable", colour: "green" } : { text: "not ready", colour: "red" };
}

function nodeCells(node: Node, machine: string | undefined): readonly Cell[] {
  const address = node.status.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "-";
  // One key may be there with several effects; it is the same news.
  const taints = new Set((node.spec.taints ?? []).map(({ key }) => shortTaint(key)));
  return [
    `  ${node.metadata.name}`,
    stateOf(node),
    node.spec.providerID ?? "-",
    address,
    machine ?? "gone",
    { text: [...taints].join(" "), colour: "dim" },
  ];
}

function serviceCells({ metadata, status }: Service): readonly Cell[] {
  const address = status.loadBalancer?.ingress?.[0]?.ip;
  const state: Cell =
    metadata.deletionTimestamp !== undefined
      ? { text: "going", colour: "dim" }
      : address === undefined
        ? { text: "pending", colour: "yellow" }
        : { text: "served", colour: "green" };
  return [`  ${metadata.name}`, state, address ?? "-"];
}

/** The widest words that a state may have, so that columns stay where they are while it changes. */
function heading(...names: readonly string[]): readonly Cell[] {
  return names.map((text) => ({ text: text === "STATE" ? text.padEnd(12) : text, colour: "dim" }));
}

/** A patch in words, by the most telling of the paths that it changes. */
const words: readonly (readonly [string, string])[] = [
  ["/spec/providerID", "initialised"],
  ["/spec/taints", "taints changed"],
  ["/metadata/labels", "labels changed"],
  ["/status/addresses", "addresses written"],
  ["merge conditions", "condition written"],
];

/** The reason comes first: where a line has to be cut, what was done can be guessed from it, and not the other way round. */
function journalCells(entry: JournalEntry): readonly Cell[] {
  const action = words.find(([path]) => entry.action.includes(path))?.[1] ?? entry.action;
  const outcome = entry.outcome === "done" ? "" : ` [${entry.outcome}]`;
  return [
    { text: `  ${new Date(entry.at).toISOString().slice(11, 19)}`, colour: "dim" },
    cut(entry.object.replace(/^(node|service\/default|balancer)\//, ""), 14),
    `${entry.why}: ${action}${outcome}`,
  ];
}

function summaryOf(nodes: readonly Node[]): string {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const { text } = stateOf(node);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => `${count} ${text}`).join(", ");
}

const mostServices = 5;
const mostHistory = 12;
const leastHistory = 3;

export function linesOf(
  scene: Scene,
  { rows, columns }: { readonly rows: number; readonly columns: number },
): readonly string[] {
  const calls = Object.entries(scene.cloudCalls);
  const total = calls.reduce((sum, [, count]) => sum + count, 0);
  const [nodeHead = "", ...nodes] = inColumns([
    heading("  NODE", "STATE", "PROVIDER ID", "ADDRESS", "MACHINE", "TAINTS"),
    ...scene.nodes.map((node) => nodeCells(node, scene.machines.get(node.metadata.name))),
  ]);
  const [serviceHead = "", ...services] = inColumns([
    heading("  SERVICE", "STATE", "ADDRESS"),
    ...scene.services.map(serviceCells),
  ]);
  const head = [
    `${paint("Fairlead", "bold")}  ${(scene.elapsedMs / 1000).toFixed(1)} s   ${scene.chapter}`,
    scene.waitsFor === undefined
      ? paint("  everything has settled; Ctrl-C ends it", "green")
      : `  waits for ${scene.waitsFor}`,
    "",
    nodeHead,
  ];
  const served = services.length === 0 ? [] : ["", serviceHead, ...fit(services, mostServices)];
  const sums = [
    "",
    `${paint("Routes", "bold")}       ${scene.routes} to the pods of nodes`,
    `${paint("Cloud calls", "bold")}  ${total} in all${calls.length === 0 ? "" : `: ${calls.map(([name, count]) => `${name} ${count}`).join(", ")}`}`,
    "",
    paint("What happened last, and why", "bold"),
  ];
  const command = `export KUBECONFIG=${scene.kubeconfig}`;
  const whole = `  in another terminal: ${command}`;
  // A path that is cut leads nowhere: this line alone may wrap.
  const last = whole.length < columns ? whole : command;
  const room = rows - head.length - served.length - sums.length - Math.ceil(last.length / columns);
  const shown = fit(nodes, Math.max(1, room - leastHistory), `; in all ${summaryOf(scene.nodes)}`);
  const history = Math.min(mostHistory, Math.max(0, room - shown.length));
  const recent = history === 0 ? [] : scene.journal.slice(-history);
  const lines = [...head, ...shown, ...served, ...sums, ...inColumns(recent.map(journalCells))].map((line) =>
    cut(line, columns - 1),
  );
  // Of a terminal that is lower still, the top is what is shown.
  return [...lines, paint(last, "dim")].slice(0, rows);
}
