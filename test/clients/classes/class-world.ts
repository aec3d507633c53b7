// A real control plane, a cloud, and the managers: the Go manager of the cloud for Services without
// a class, and, in one of two worlds, Fairlead for Services of one class.

import { readFileSync } from "node:fs";
import type { State } from "../../../scripts/rehearse/state.ts";
import { buildInto } from "../../../scripts/test-runs.ts";
import type { Service, Taint } from "../../../src/kube/objects.ts";
import { nodes, services } from "../../../src/kube/resources.ts";
import { writeKubeconfig } from "../../../src/testing/apiserver/serving/https-server.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/rig/control-plane.ts";
import { type KeptProcess, startProcess } from "../../cluster/rig/kept-process.ts";
import { kubeletNode } from "../../cluster/rig/kubelet-objects.ts";
import { until } from "../../cluster/rig/until.ts";
import { OfficialClient, orUndefined } from "../../support/official-client.ts";
import { type Family, type ModelService, type SimpleChange, shop, specOf, type Variants } from "./changes.ts";

const namespace = "default";
const isUninitialized = ({ key }: Taint): boolean => key === "node.cloudprovider.kubernetes.io/uninitialized";
const excluded = "node.kubernetes.io/exclude-from-external-load-balancers";

export const managerNames = ["go", "fairlead"] as const;
export type ManagerName = (typeof managerNames)[number];

/** A manager's access to the cloud. */
export interface CloudAccess {
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The requests that changed the cloud since the last call, with all ids and names. */
  takeChanges(): readonly string[];
}

/** A cloud that two managers reach at two addresses. */
export interface ClassCloud extends AsyncDisposable {
  /** The variants of Services. Annotations have their prefix. */
  readonly services: Variants;
  readonly families: readonly Family[];
  /** The names of the cloud's machines. */
  readonly nodes: readonly string[];
  /**
   * Annotations in which the Go manager keeps what it has removed. A user removes them before a
   * Service gets a load balancer again.
   */
  readonly stale?: readonly string[];
  accessOf(manager: ManagerName): CloudAccess;
  /** The objects that managers created, by names that refer to Services. */
  read(): Promise<State>;
  /** The value with Service names in place of all ids and addresses that were read so far. */
  readable<T>(value: T): T;
  /** The ports of each Service's load balancers in the read state. */
  portsIn(state: State): Readonly<Record<string, readonly number[]>>;
  /** Faults in what the load balancers of both managers share. */
  faultsIn?(state: State): readonly string[];
}

export interface Programs {
  /** The command line of the Go manager. */
  readonly go: string;
  /** The cloud's name, if Fairlead also runs. */
  readonly fairlead?: string;
}

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource: string; readonly subresource?: string; readonly name?: string };
}

const mergePatch = "application/merge-patch+json";
const ofClass = [
  "--controllers=service",
  `--load-balancer-class=${shop}`,
  "--load-balancer-class-only",
  "--absence-confirmation=2s",
];

export class ClassWorld implements AsyncDisposable {
  readonly cloud: ClassCloud;
  readonly #plane: ControlPlane;
  readonly #api: OfficialClient;
  readonly #managers: KeptProcess[] = [];
  #auditRead = 0;

  private constructor(plane: ControlPlane, cloud: ClassCloud) {
    this.cloud = cloud;
    this.#plane = plane;
    this.#api = OfficialClient.open(plane.kubeconfig);
  }

  /** Creates a Node for each machine. */
  static async open(cloud: ClassCloud, programs: Programs): Promise<ClassWorld> {
    const world = new ClassWorld(await startControlPlane({ audit: true }), cloud);
    world.#start("go", programs.go, []);
    if (programs.fairlead !== undefined)
      world.#start("fairlead", buildInto(world.#plane.folder, programs.fairlead, "ignore"), ofClass);
    for (const name of cloud.nodes) await world.#api.create(nodes, kubeletNode(name));
    await until("the Nodes to be initialized", async () => (await world.#nodesAreReady()) || undefined, {
      explain: () => world.log(),
    });
    return world;
  }

  #start(name: ManagerName, command: string, more: readonly string[]): void {
    const { ca, server } = this.#plane;
    const { cert, key } = this.#plane.issue(name, ["system:masters"]);
    const kubeconfig = this.#plane.file(name, writeKubeconfig(ca, [{ name, server, cert, key }]));
    const { flags, env } = this.cloud.accessOf(name);
    const common = [`--kubeconfig=${kubeconfig}`, "--leader-elect=false", "--secure-port=0"];
    const all = [...common, "--webhook-secure-port=0", ...flags, ...more];
    this.#managers.push(startProcess(["sh", "-c", `exec ${command} "$@"`, "sh", ...all], { env }));
  }

  async #nodesAreReady(): Promise<boolean> {
    const all = await this.#api.list(nodes);
    return all.every(
      ({ spec }) => spec.providerID !== undefined && !(spec.taints ?? []).some(isUninitialized),
    );
  }

  /** `was`: the Service before the change. */
  async apply(change: SimpleChange, was: ModelService | undefined): Promise<void> {
    if (change.kind === "put") return this.#put(change.service, was?.isOfClass === true);
    if (change.kind === "delete") return this.#api.delete(services, { namespace, name: change.name });
    const name = this.cloud.nodes[change.node] ?? "";
    if (change.kind === "join") await this.#api.create(nodes, kubeletNode(name));
    else if (change.kind === "leave") await this.#api.delete(nodes, { name });
    else {
      const labels = { [excluded]: change.kind === "exclude" ? "" : null };
      await this.#api.patch(nodes, { name }, { contentType: mergePatch, body: { metadata: { labels } } });
    }
  }

  async #put(service: ModelService, wasOfClass: boolean): Promise<void> {
    const { name, family, variant } = service;
    const { services: variants } = this.cloud;
    const { annotations = {} } = variants[variant] ?? {};
    const spec = specOf(service, variants);
    const found = await orUndefined(this.#api.get(services, { namespace, name }));
    if (found === undefined) {
      const draft = { metadata: { name, namespace, annotations }, spec, status: {} } as Service;
      await this.#api.create(services, draft);
      return;
    }
    const known = family.flatMap((one) => Object.keys(variants[one]?.annotations ?? {}));
    const isStale = found.spec.type === "ClusterIP" && service.isBalanced && !wasOfClass;
    const removed = [...known, ...(isStale ? (this.cloud.stale ?? []) : [])];
    const none = Object.fromEntries(removed.map((key) => [key, null]));
    const body = { metadata: { annotations: { ...none, ...annotations } }, spec };
    await this.#api.patch(services, { namespace, name }, { contentType: mergePatch, body });
  }

  async services(): Promise<readonly Service[]> {
    const all = await this.#api.list(services);
    return all.filter(({ metadata }) => metadata.name !== "kubernetes");
  }

  /** A manager's writes since the last call, such as `patch services/status web-001`. */
  takeWrites(): readonly (readonly [manager: ManagerName, write: string])[] {
    const lines = readFileSync(this.#plane.auditLog, "utf8").slice(this.#auditRead).split("\n");
    const rest = lines.pop() ?? "";
    this.#auditRead = readFileSync(this.#plane.auditLog, "utf8").length - rest.length;
    return lines.flatMap((line) => {
      const { verb, user, objectRef } = JSON.parse(line) as AuditEvent;
      const { resource = "", subresource, name = "" } = objectRef ?? {};
      const isWrite = ["create", "update", "patch", "delete"].includes(verb);
      const manager = managerNames.find((one) => one === user.username);
      const path = subresource === undefined ? resource : `${resource}/${subresource}`;
      return isWrite && manager !== undefined ? [[manager, `${verb} ${path} ${name}`] as const] : [];
    });
  }

  log(): string {
    return this.#managers.map((one) => one.output().slice(-6000)).join("\n\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#managers.map((one) => one.stop(20)));
    await this.#plane.stop();
    await this.cloud[Symbol.asyncDispose]();
  }
}
