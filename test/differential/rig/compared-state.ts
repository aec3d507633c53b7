// The compared state: one line for each member of an object, without random values of the control plane and the cloud, such as
// uids, addresses and node ports.

import type { SimulatedBalancer } from "../../../providers/fake/simulator/balancers.ts";
import type { Event, Node, Service } from "../../../src/kube/objects.ts";
import { type CloudCall, nameOfRoute, ownerLabel } from "./cloud-calls.ts";
import type { World } from "./world.ts";

/** `Node a: providerID` → `fake://1`. Unset members have no line. */
export type State = ReadonlyMap<string, string>;

type Line = readonly [member: string, value: unknown];

interface StatusCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

/** Heartbeats of kubelets are not compared. */
const ofKubelets = new Set(["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]);

/** Controllers of kube-controller-manager and the API server, whose events depend on when they started. */
const ofKubernetes = /^(node-controller|cidrAllocator|.*-repair-controller)$/;

const map = (kind: string, entries: Readonly<Record<string, string>> = {}): readonly Line[] =>
  Object.entries(entries).map(([key, value]) => [`${kind} ${key}`, value]);

const conditionLines = (conditions: readonly StatusCondition[] = []): readonly Line[] =>
  conditions
    .filter(({ type }) => !ofKubelets.has(type))
    .map(({ type, status, reason, message }) => [`condition ${type}`, `${status} ${reason}: ${message}`]);

const nodeLines = ({ metadata, spec, status }: Node): readonly Line[] => [
  ["exists", metadata.deletionTimestamp === undefined ? "yes" : "until its finalizers are removed"],
  ["providerID", spec.providerID],
  ["finalizers", metadata.finalizers],
  ["addresses", status.addresses?.map(({ type, address }) => `${type} ${address}`)],
  ...map("label", metadata.labels),
  ...map("annotation", metadata.annotations),
  ...(spec.taints ?? []).map(({ key, value = "", effect }): Line => [`taint ${key}:${effect}`, value]),
  ...conditionLines(status.conditions),
];

const serviceLines = ({ metadata, status }: Service): readonly Line[] => [
  ["exists", metadata.deletionTimestamp === undefined ? "yes" : "until its finalizers are removed"],
  ["finalizers", metadata.finalizers],
  ["ingress", status.loadBalancer?.ingress],
  ...map("label", metadata.labels),
  ...map("annotation", metadata.annotations),
  ...conditionLines(status.conditions as readonly StatusCondition[] | undefined),
];

const eventLine = ({ type, reason, message, source, reportingComponent }: Event): Line => [
  // Removes the duration of a call.
  `event ${type} ${reason}: ${message?.replace(/ after [\d.]+[µm]?s:/, ":")}`,
  source?.component ?? reportingComponent,
];

const balancerLines = (balancer: SimulatedBalancer): readonly Line[] => [
  ["exists", "yes"],
  ["name", balancer.name],
  ["families", balancer.families],
  ["sources", balancer.sources.toSorted()],
  ["algorithm", balancer.algorithm],
  [
    "listeners",
    balancer.listeners.map((one) => `${one.protocol} ${one.port} to ${one.target_port}`).toSorted(),
  ],
  ["targets", balancer.targets.toSorted()],
  ["draining", balancer.draining],
  ...map("label", balancer.labels),
];

/** Replaces words that are random by their meaning. */
class Meanings {
  readonly #byWord = new Map<string, string>();

  add(word: string | number | undefined | null, meaning: string): void {
    if (word !== undefined && word !== null) this.#byWord.set(String(word), meaning);
  }

  in(text: string): string {
    return text.replace(/[\w.:-]*\w/g, (word) => this.#byWord.get(word) ?? word);
  }
}

/** A rejected call may be repeated at any time, so rejected calls are not counted. */
function callLines(calls: readonly CloudCall[]): ReadonlyMap<string, string> {
  const found = new Map<string, number>();
  for (const { about, what } of calls) {
    const line = `${about}: call ${what}`;
    found.set(line, (found.get(line) ?? 0) + 1);
  }
  return new Map([...found].map(([line, count]) => [line, line.endsWith(")") ? "some" : String(count)]));
}

/** The part of the world that is compared. */
type Compared = Pick<
  World,
  | "nodes"
  | "services"
  | "events"
  | "cloud"
  | "calls"
  | "clusterUID"
  | "serviceNames"
  | "allocated"
  | "hasControllerManager"
>;

export async function stateOf(world: Compared): Promise<State> {
  const [nodes, services, events] = await Promise.all([world.nodes(), world.services(), world.events()]);
  const { balancers, machines, routes } = world.cloud;
  const meanings = new Meanings();
  meanings.add(world.clusterUID, "uid-of-the-cluster");
  for (const { metadata, spec } of services) {
    world.serviceNames.set(metadata.uid, metadata.name);
    for (const { name, port, nodePort } of spec.ports ?? [])
      if (nodePort !== undefined) world.allocated.set(String(nodePort), `nodePort-${name ?? port}`);
  }
  for (const [uid, name] of world.serviceNames) {
    meanings.add(uid, name);
    meanings.add(`a${uid.replaceAll("-", "")}`.slice(0, 32), `default-name-of-${name}`);
  }
  for (const { metadata, spec } of nodes) {
    meanings.add(metadata.uid, `uid-of-${metadata.name}`);
    // Without kube-controller-manager, the scenario chooses the ranges.
    const allocated = world.hasControllerManager ? (spec.podCIDRs ?? []) : [];
    for (const [index, range] of allocated.entries())
      world.allocated.set(range.split("/")[0] ?? range, `range-${index + 1}-of-${metadata.name}`);
  }
  for (const [word, meaning] of world.allocated) meanings.add(word, meaning);
  for (const { id, ip, ipv6, labels } of balancers.list()) {
    const owner = world.serviceNames.get(labels[ownerLabel] ?? "") ?? id;
    meanings.add(id, `id-of-${owner}`);
    meanings.add(ip, `IPv4-of-${owner}`);
    meanings.add(ipv6, `IPv6-of-${owner}`);
  }
  const state = new Map<string, string>();
  const add = (object: string, lines: readonly Line[]): void => {
    for (const [member, value] of lines) {
      if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
      const text = typeof value === "string" ? value : JSON.stringify(value);
      state.set(meanings.in(`${object}: ${member}`), meanings.in(text));
    }
  };
  for (const node of nodes) add(`Node ${node.metadata.name}`, nodeLines(node));
  for (const service of services) add(`Service ${service.metadata.name}`, serviceLines(service));
  for (const event of events) {
    const { kind, name } = event.involvedObject;
    if (ofKubernetes.test(event.source?.component ?? event.reportingComponent ?? "")) continue;
    if (kind === "Node" || kind === "Service") add(`${kind} ${name}`, [eventLine(event)]);
  }
  for (const balancer of balancers.list()) {
    const targets = balancer.targets.map((id) => machines.find(id)[0]?.name ?? id);
    add(`load balancer of ${balancer.labels[ownerLabel]}`, balancerLines({ ...balancer, targets }));
  }
  for (const route of routes.list()) {
    add(nameOfRoute(world.cloud, route), [["exists", "yes"], ...map("label", route.labels)]);
  }
  for (const [line, count] of callLines(world.calls)) state.set(meanings.in(line), count);
  return state;
}
