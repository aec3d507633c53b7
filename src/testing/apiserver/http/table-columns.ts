// The columns of each resource; resources without an entry show name and age.

import {
  entryOfType,
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  textAt,
  valueAt,
} from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";

interface Column {
  readonly name: string;
  readonly isWide: boolean;
  readonly cell: (object: KubeObject, now: number) => Json;
}

function column(name: string, cell: Column["cell"], isWide = false): Column {
  return { name, cell, isWide };
}
const wide = (name: string, cell: Column["cell"]): Column => column(name, cell, true);

const none = "<none>";
const unknown = "<unknown>";

/** An age as kubectl prints it: 59s, 2m3s, 4h5m, 3d, 2y. */
export function humanDuration(elapsed: number): string {
  const total = Math.floor(elapsed / 1000);
  if (total < 0) return "0s";
  const [minutes = 0, hours = 0, days = 0] = [60, 3600, 86_400].map((unit) => Math.floor(total / unit));
  const two = (big: number, bigUnit: string, small: number, smallUnit: string): string =>
    `${big}${bigUnit}${small === 0 ? "" : `${small}${smallUnit}`}`;
  if (total < 120) return `${total}s`;
  if (minutes < 10) return two(minutes, "m", total % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  if (days < 8) return two(days, "d", hours % 24, "h");
  return days < 730 ? `${days}d` : two(Math.floor(days / 365), "y", days % 365, "d");
}

function since(time: string, now: number): string {
  return time === "" ? unknown : humanDuration(now - Date.parse(time));
}
const name = column("Name", ({ metadata }) => metadata.name);
const age = column("Age", ({ metadata }, now) => since(metadata.creationTimestamp, now));
function text(...path: string[]) {
  return (object: KubeObject): Json => textAt(object, ...path);
}
function textOr(fallback: string, ...path: string[]) {
  return (object: KubeObject): Json => textAt(object, ...path) || fallback;
}
function nodeStatus(node: KubeObject): string {
  const ready = entryOfType(listAt(node, "status", "conditions"), "Ready");
  const status = ready === undefined ? "Unknown" : textAt(ready, "status") === "True" ? "Ready" : "NotReady";
  return node.spec?.["unschedulable"] === true ? `${status},SchedulingDisabled` : status;
}

function nodeRoles(node: KubeObject): string {
  const prefix = "node-role.kubernetes.io/";
  const labels = node.metadata.labels ?? {};
  const roles = Object.keys(labels).flatMap((key) =>
    key.startsWith(prefix) ? [key.slice(prefix.length)] : [],
  );
  const role = labels["kubernetes.io/role"];
  return [...roles, ...(role === undefined ? [] : [role])].sort().join(",") || none;
}

function nodeAddress(type: string) {
  return (node: KubeObject): string =>
    textAt(entryOfType(listAt(node, "status", "addresses"), type), "address") || none;
}

function externalAddress(service: KubeObject): string {
  const own = listAt(service, "spec", "externalIPs").map(String);
  switch (textAt(service, "spec", "type")) {
    case "LoadBalancer": {
      const ingress = listAt(service, "status", "loadBalancer", "ingress").map(
        (each) => textAt(each, "ip") || textAt(each, "hostname"),
      );
      return [...ingress, ...own].join(",") || "<pending>";
    }
    case "ExternalName":
      return textAt(service, "spec", "externalName");
    default:
      return own.join(",") || none;
  }
}

function servicePorts(service: KubeObject): string {
  const texts = listAt(service, "spec", "ports").map((port) => {
    const nodePort = valueAt(port, "nodePort");
    const number = nodePort === undefined ? valueAt(port, "port") : `${valueAt(port, "port")}:${nodePort}`;
    return `${number}/${textAt(port, "protocol")}`;
  });
  return texts.join(",") || none;
}

function pairs(map: JsonObject): string {
  const texts = Object.entries(map).map(([key, value]) => `${key}=${value}`);
  return texts.join(",") || none;
}

function eventObject(event: KubeObject): string {
  return `${textAt(event, "involvedObject", "kind").toLowerCase()}/${textAt(event, "involvedObject", "name")}`;
}

/** The age according to the first of these timestamps that the Event has. */
function sinceFirst(...paths: readonly (readonly string[])[]) {
  return (event: KubeObject, now: number): string =>
    since(paths.map((path) => textAt(event, ...path)).find((time) => time !== "") ?? "", now);
}

export const tableColumns: Readonly<Record<string, readonly Column[]>> = {
  nodes: [
    name,
    column("Status", nodeStatus),
    column("Roles", nodeRoles),
    age,
    column("Version", text("status", "nodeInfo", "kubeletVersion")),
    wide("Internal-IP", nodeAddress("InternalIP")),
    wide("External-IP", nodeAddress("ExternalIP")),
    wide("OS-Image", textOr(unknown, "status", "nodeInfo", "osImage")),
    wide("Kernel-Version", textOr(unknown, "status", "nodeInfo", "kernelVersion")),
    wide("Container-Runtime", textOr(unknown, "status", "nodeInfo", "containerRuntimeVersion")),
  ],
  services: [
    name,
    column("Type", text("spec", "type")),
    column("Cluster-IP", textOr(none, "spec", "clusterIP")),
    column("External-IP", externalAddress),
    column("Port(s)", servicePorts),
    age,
    wide("Selector", (service) => pairs(objectAt(service, "spec", "selector"))),
  ],
  events: [
    column("Last Seen", sinceFirst(["series", "lastObservedTime"], ["lastTimestamp"], ["eventTime"])),
    column("Type", text("type")),
    column("Reason", text("reason")),
    column("Object", eventObject),
    wide("Subobject", text("involvedObject", "fieldPath")),
    wide("Source", (event) => textAt(event, "source", "component") || textAt(event, "reportingComponent")),
    column("Message", text("message")),
    wide("First Seen", sinceFirst(["firstTimestamp"], ["eventTime"])),
    wide("Count", (event) => String(valueAt(event, "series", "count") ?? valueAt(event, "count") ?? 1)),
    wide("Name", ({ metadata }) => metadata.name),
  ],
  leases: [name, column("Holder", text("spec", "holderIdentity")), age],
  namespaces: [name, column("Status", text("status", "phase")), age],
};

export const plainColumns: readonly Column[] = [name, age];
