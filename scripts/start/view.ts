// The live view of the demo: turns the state of the sandbox into lines that fit the terminal. Pure.

import type { Node, Service } from "../../src/kube/objects.ts";
import type { JournalEntry } from "../../src/runtime/journal.ts";
import { type Cell, type Color, cut, fit, inColumns, paint, plain, wrap, wrapText } from "./screen.ts";

export interface Scene {
  readonly step: string;
  readonly waitingFor: string | undefined;
  /** A shell script with the variables of kubectl and of Fairlead's commands. */
  readonly variablesFile: string;
  readonly statusURL: string;
  readonly cloudURL: string;
  readonly elapsedMs: number;
  readonly nodes: readonly Node[];
  readonly machines: ReadonlyMap<string, string>;
  readonly services: readonly Service[];
  /** Undefined if the cloud has no routes. */
  readonly routes: number | undefined;
  readonly cloudRequests: Readonly<Record<string, number>>;
  readonly journal: readonly JournalEntry[];
}

const shortTaint = (key: string): string => key.replace(/^.*\//, "");

export function stateOf(node: Node): { readonly text: string; readonly color: Color } {
  const taints = (node.spec.taints ?? []).map(({ key }) => shortTaint(key));
  if (taints.includes("uninitialized")) return { text: "joining", color: "yellow" };
  if (taints.includes("shutdown")) return { text: "shut down", color: "dim" };
  const isReady = node.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
  if (node.spec.unschedulable === true) return { text: "cordoned", color: "yellow" };
  return isReady ? { text: "schedulable", color: "green" } : { text: "not ready", color: "red" };
}

function nodeCells(node: Node, machine: string | undefined): readonly Cell[] {
  const address = node.status.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "-";
  // A key may occur with several effects; it is shown once.
  const taints = new Set((node.spec.taints ?? []).map(({ key }) => shortTaint(key)));
  return [
    `  ${node.metadata.name}`,
    stateOf(node),
    node.spec.providerID ?? "-",
    address,
    machine ?? "gone",
    { text: [...taints].join(" "), color: "dim" },
  ];
}

function serviceCells({ metadata, status }: Service): readonly Cell[] {
  const { ip, hostname } = status.loadBalancer?.ingress?.[0] ?? {};
  const address = ip ?? hostname;
  const state: Cell =
    metadata.deletionTimestamp !== undefined
      ? { text: "deleting", color: "dim" }
      : address === undefined
        ? { text: "pending", color: "yellow" }
        : { text: "ready", color: "green" };
  return [`  ${metadata.name}`, state, address ?? "-"];
}

/** The STATE column has the width of its longest value, so that columns do not move when a state changes. */
function heading(...names: readonly string[]): readonly Cell[] {
  return names.map((text) => ({ text: text === "STATE" ? text.padEnd(12) : text, color: "dim" }));
}

/** Summaries of patches, by a path that they change; the first match is used. */
const summaries: readonly (readonly [string, string])[] = [
  ["/spec/providerID", "initialized"],
  ["/spec/taints", "taints changed"],
  ["/metadata/labels", "labels changed"],
  ["/status/addresses", "addresses updated"],
  ["merge conditions", "condition updated"],
  ["patch status", "status updated"],
];

/** The reason comes first, because it matters most when the line is cut. */
function journalCells(entry: JournalEntry): readonly Cell[] {
  const action = summaries.find(([path]) => entry.action.includes(path))?.[1] ?? entry.action;
  const outcome = entry.outcome === "done" ? "" : ` [${entry.outcome}]`;
  return [
    { text: `  ${new Date(entry.at).toISOString().slice(11, 19)}`, color: "dim" },
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

const inNaturalOrder = new Intl.Collator("en", { numeric: true }).compare;

/** The Nodes in the order of their names. If not all fit, those that the demo is about, or that are not settled, come first. */
function ordered({ nodes, machines, step, waitingFor }: Scene, room: number): readonly Node[] {
  const sorted = nodes.toSorted((one, other) => inNaturalOrder(one.metadata.name, other.metadata.name));
  if (sorted.length <= room) return sorted;
  const named = new Set(`${step} ${waitingFor ?? ""}`.match(/[\w-]+/g));
  const isOfInterest = (node: Node): boolean => {
    const { name } = node.metadata;
    return (
      named.has(name) || stateOf(node).text !== "schedulable" || (machines.get(name) ?? "gone") !== "running"
    );
  };
  return [...sorted.filter(isOfInterest), ...sorted.filter((node) => !isOfInterest(node))];
}

const maxServices = 5;
const maxHistory = 12;
const minHistory = 3;
/** On a smaller terminal, the requests are only counted, and long lines are cut. */
const minRowsForDetails = 20;

/** "machines GET 12", "balancers GET 5 POST 2": the number of requests by collection and method. */
function requestsByCollection(cloudRequests: Scene["cloudRequests"]): readonly string[] {
  const collections = new Map<string, Map<string, number>>();
  for (const [operation, count] of Object.entries(cloudRequests)) {
    const [method = "", path = ""] = operation.split(" ");
    // Operations of SOAP have no path.
    const [, collection = path] = path.split("/");
    const name = path === "/" ? path : collection;
    const methods = collections.get(name) ?? new Map<string, number>();
    collections.set(name, methods.set(method, (methods.get(method) ?? 0) + count));
  }
  return [...collections].map(([collection, methods]) =>
    [collection, ...[...methods].map(([method, count]) => `${method} ${count}`)].join(" ").trimStart(),
  );
}

function requestLines({ cloudRequests }: Scene, { rows, columns }: Size): readonly string[] {
  const total = Object.values(cloudRequests).reduce((sum, count) => sum + count, 0);
  const title = "Cloud requests";
  const head = `${title}           ${total}`;
  if (total === 0 || rows < minRowsForDetails) return [head.replace(title, paint(title, "bold"))];
  const [first = "", ...more] = requestsByCollection(cloudRequests);
  return wrap([`${head}: ${first}`, ...more], columns - 1).map((line) =>
    line.replace(title, paint(title, "bold")),
  );
}

interface Size {
  readonly rows: number;
  readonly columns: number;
}

/** The current step, and the condition that it waits for. */
function headLines({ step, waitingFor, elapsedMs }: Scene, { rows, columns }: Size): readonly string[] {
  const name = `${paint("Fairlead demo", "bold")}  ${(elapsedMs / 1000).toFixed(1)}s`;
  const title = `${name}  ${step}`;
  const status =
    waitingFor === undefined
      ? paint("  All steps are done. Press Ctrl-C to quit.", "green")
      : `  Waiting for ${waitingFor}`;
  const isCut = (line: string): boolean => rows >= minRowsForDetails && plain(line).length >= columns;
  return [
    ...(isCut(title) ? [name, ...wrapText(step, columns - 1)] : [title]),
    ...(isCut(status) ? wrapText(status.trim(), columns - 1) : [status]),
  ];
}

const nodeHeading = heading("  NODE", "STATE", "PROVIDER ID", "ADDRESS", "MACHINE", "TAINTS");

export function linesOf(scene: Scene, size: Size): readonly string[] {
  const { rows, columns } = size;
  const [serviceHead = "", ...services] = inColumns([
    heading("  SERVICE", "STATE", "ADDRESS"),
    ...scene.services.map(serviceCells),
  ]);
  const head = [...headLines(scene, size), ""];
  const served = services.length === 0 ? [] : ["", serviceHead, ...fit(services, maxServices)];
  const totals = [
    "",
    ...(scene.routes === undefined ? [] : [`${paint("Pod routes in the cloud", "bold")}  ${scene.routes}`]),
    ...requestLines(scene, size),
    `${paint("Status page", "bold")}${" ".repeat(columns < 64 ? 2 : 14)}${scene.statusURL}`,
    // A small terminal has room only for the recent changes.
    ...(rows < 30
      ? []
      : [`${paint("Cloud API", "bold")}${" ".repeat(columns < 64 ? 4 : 16)}${scene.cloudURL}`]),
    paint("Recent changes", "bold"),
  ];
  const command = `. ${scene.variablesFile}`;
  const whole = `  To look around, run in another terminal: ${command}`;
  // Only this line may wrap, because a cut path is useless.
  const last = whole.length < columns ? whole : command;
  const room = rows - head.length - 1 - served.length - totals.length - Math.ceil(last.length / columns);
  // If not all Nodes fit, the changes get half of the room, because they show the progress.
  const half = Math.max(Math.ceil(room / 2), room - maxHistory);
  const roomForNodes = Math.max(1, scene.nodes.length <= room - minHistory ? scene.nodes.length : half);
  const [nodeHead = "", ...nodes] = inColumns([
    nodeHeading,
    ...ordered(scene, roomForNodes).map((node) => nodeCells(node, scene.machines.get(node.metadata.name))),
  ]);
  const shown = fit(nodes, roomForNodes, `; total: ${summaryOf(scene.nodes)}`);
  const history = Math.min(maxHistory, Math.max(0, room - shown.length));
  const recent = history === 0 ? [] : scene.journal.slice(-history);
  const lines = [
    ...head,
    nodeHead,
    ...shown,
    ...served,
    ...totals,
    ...inColumns(recent.map(journalCells)),
  ].map((line) => cut(line, columns - 1));
  // A smaller terminal shows only the top.
  return [...lines, paint(last, "dim")].slice(0, rows);
}
