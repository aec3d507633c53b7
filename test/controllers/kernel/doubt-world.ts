// A cluster and its cloud for the table of doubt: a whole manager with one Lease, with Nodes, routes, Services and
// claims. The cloud can hide or lose objects, and its credentials can become those of another project.

import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import type { RemovalKind } from "../../../src/controllers/kernel/removal-kinds.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Condition, Node } from "../../../src/kube/objects.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { VolumeWorld } from "../../support/volume-world.ts";

export interface Size {
  readonly nodes?: number;
  readonly services?: number;
  readonly claims?: number;
}

const controllers: Readonly<Record<RemovalKind, string>> = {
  nodes: "cloud-node,cloud-node-lifecycle",
  "load-balancers": "service",
  routes: "node-route",
  volumes: "volume",
};
const flags = ["--leader-elect=true", "--cluster-cidr=10.0.0.0/8", "--route-reconciliation-period=60s"];

/** Names from `prefix-0` on. */
export const names = (prefix: string, count: number, from = 0): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${from + index}`);

export class DoubtWorld extends VolumeWorld {
  readonly otherProject: FakeCloud;
  /** The project that the credentials belong to. */
  project: "own" | "other" = "own";
  /** Hidden objects by id, and routes by destination. */
  readonly #hidden = { balancers: new Set<string>(), routes: new Set<string>(), volumes: new Set<string>() };
  #rangeOfNext = 0;

  constructor(nodes: number, kinds: readonly RemovalKind[]) {
    super({ nodes, controllers: kinds.map((kind) => controllers[kind]).join(",") });
    this.otherProject = new FakeCloud({ clock: this.clock, latency: milliseconds(20) });
    // No id exists in both projects.
    for (let count = 0; count < 100; count += 1)
      this.otherProject.volumes.remove(this.otherProject.volumes.create({ name: "former" }).id);
    const receive = this.cloud.receive.bind(this.cloud);
    this.cloud.receive = (request) =>
      this.project === "own" ? receive(request) : this.otherProject.receive(request);
    // A second load balancer of a Service must not fail because of its name.
    this.cloud.balancers.hasUniqueNames = false;
    const { balancers, routes, volumes } = this.#hidden;
    this.cloud.view = {
      ...trueView,
      balancers: (all) => all.filter(({ id }) => !balancers.has(id)),
      routes: (all) => all.filter(({ destination }) => !routes.has(destination)),
      volumes: (all) => all.filter(({ id }) => !volumes.has(id)),
    };
    for (const node of this.nodes()) this.#initialize(node.metadata.name);
  }

  override async start(...more: readonly string[]): Promise<void> {
    await super.start(...flags, ...more);
    await this.until(() => this.manager.leads(), "it to lead");
  }

  /** Another process takes over the Lease of a process that died. */
  async handOver(): Promise<void> {
    this.crash();
    await this.start();
  }

  nodes(): readonly Node[] {
    return this.server.store.list("nodes") as unknown as readonly Node[];
  }

  hasNode(name: string): boolean {
    return this.server.store.get("nodes", undefined, name) !== undefined;
  }

  /** A Node joins with its machine, range and provider id, as another program would initialize it. */
  join(...joining: readonly string[]): void {
    for (const name of joining) {
      this.addNode(name);
      this.#initialize(name);
    }
  }

  #initialize(name: string): void {
    const number = this.#rangeOfNext++;
    const podCIDR = `10.244.${number}.0/24`;
    this.changeNode(name, (node) => ({ ...node, spec: { ...node.spec, podCIDR, podCIDRs: [podCIDR] } }));
    this.setZone(name);
    this.setReady(name, "True");
  }

  rangeOf(name: string): string {
    const [range = ""] = this.nodes().find(({ metadata }) => metadata.name === name)?.spec.podCIDRs ?? [];
    return range;
  }

  /** Keeps the other conditions, as a kubelet does. */
  override setReady(name: string, status: "True" | "False" | "Unknown"): void {
    this.changeNode(name, (node) => {
      const others = (node.status.conditions ?? []).filter(({ type }) => type !== "Ready");
      const ready: Condition = { type: "Ready", status };
      return { ...node, status: { ...node.status, conditions: [...others, ready] } };
    });
  }

  /** Machines disappear from the cloud, and their kubelets stop. */
  loseMachines(...lost: readonly string[]): void {
    for (const name of lost) {
      this.cloud.machines.remove(name);
      this.setReady(name, "Unknown");
    }
  }

  /** Answers lack the load balancers of these Services. */
  hideBalancers(...services: readonly string[]): void {
    for (const name of services) this.#hidden.balancers.add(this.balancerOf(name).id);
  }

  hideRoutes(...ranges: readonly string[]): void {
    for (const range of ranges) this.#hidden.routes.add(range);
  }

  /** Answers lack the volumes of these claims. */
  hideVolumes(...claims: readonly string[]): void {
    for (const claim of claims) this.#hidden.volumes.add(this.handleOf(claim));
  }

  showAll(): void {
    for (const hidden of Object.values(this.#hidden)) hidden.clear();
  }

  /** An older etcd is restored: these Nodes and Services are missing in the next list, without a watch event. */
  async vanish(nodes: readonly string[], services: readonly string[]): Promise<void> {
    const { faults } = this.server;
    faults.intercept = (_, { verb, plural }) =>
      verb === "watch" && (plural === "nodes" || plural === "services") ? "drop" : undefined;
    // The open watches end after at most five minutes.
    await this.pass(300);
    this.removeUnseen(nodes, services);
    this.server.compact();
    faults.intercept = undefined;
    await this.pass(60);
  }

  /** The API server lacks these objects, which never had a deletion timestamp. */
  removeUnseen(nodes: readonly string[], services: readonly string[]): void {
    for (const name of nodes) this.removeNode(name);
    for (const name of services) {
      const service = this.server.store.get("services", "default", name);
      if (service !== undefined) this.server.store.remove(resourceNamed("services"), service);
    }
  }

  balancerOf(service: string) {
    const { uid } = this.get(service).metadata;
    const found = this.cloud.balancers.list().find(({ labels }) => labels["owner-uid"] === uid);
    if (found === undefined) throw new Error(`The Service ${service} has no load balancer.`);
    return found;
  }

  handleOf(claim: string): string {
    return this.volumeOf(claim).spec?.csi?.volumeHandle ?? "";
  }

  /** The distinct target counts of load balancers. */
  targetCounts(): readonly number[] {
    return [...new Set(this.cloud.balancers.list().map(({ targets }) => targets.length))];
  }

  /** Lists the cloud now, and lets the time of a proof pass. */
  async relist(time = 150): Promise<void> {
    this.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
    await this.pass(time);
  }

  held(kind: RemovalKind): readonly string[] {
    return this.manager.removals.held(kind);
  }

  /** The held objects of every kind. */
  get allHeld(): readonly string[] {
    return (Object.keys(controllers) as readonly RemovalKind[]).flatMap((kind) => this.held(kind));
  }

  /** Releases a hold like an operator with kubectl. */
  release(kind: RemovalKind | "all"): void {
    this.annotateLease({ "fairlead.dev/release-hold": kind });
  }

  /** Requests in both projects that would have changed something. */
  get cloudChanges(): readonly string[] {
    const seen = [...this.cloud.seen, ...this.otherProject.seen];
    return seen.flatMap(({ operation }) => (operation.startsWith("GET ") ? [] : operation));
  }

  get log(): string {
    return this.logged.join("\n");
  }

  override forget(): void {
    super.forget();
    this.otherProject.seen.length = 0;
  }

  /** The existing objects by name, in the cloud and in Kubernetes. */
  inventory() {
    const { balancers, routes, volumes } = this.cloud;
    const of = (resource: string) => this.server.store.list(resource).map(({ metadata }) => metadata.name);
    return {
      nodes: of("nodes"),
      services: this.services().map(({ metadata }) => metadata.name),
      addresses: this.services().map(({ metadata }) => this.addressesOf(metadata.name)),
      persistentVolumes: of("persistentvolumes"),
      attachments: of("volumeattachments"),
      balancers: balancers.list().map(({ id, targets }) => ({ id, targets })),
      routes: routes.list(),
      volumes: volumes.list().map(({ id, machine }) => ({ id, machine })),
    };
  }
}

/** A settled cluster: everything exists in the cloud, and nothing is left to do. */
export async function settled(
  { nodes = 1, services = 0, claims = 0 }: Size,
  kinds: readonly RemovalKind[],
): Promise<DoubtWorld> {
  const w = new DoubtWorld(nodes, kinds);
  await w.start();
  for (const name of names("web", services)) w.create(name);
  for (const name of names("data", claims)) w.claim(name);
  const isSettled = () =>
    names("web", services).every((name) => w.addressesOf(name).length === 1) &&
    names("data", claims).every((name) => w.isBound(name)) &&
    (!kinds.includes("routes") || w.cloud.routes.list().length === nodes);
  await w.until(isSettled, "the load balancers, routes and volumes");
  await w.pass(60);
  w.forget();
  return w;
}
