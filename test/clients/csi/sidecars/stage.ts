// One side of the comparison: a control plane with the controllers that bind and attach, a simulated cloud, and the program
// for its volumes: upstream's sidecars with `csi-controller`, or the manager's volume controller.

import { join } from "node:path";
import { fake } from "../../../../providers/fake/index.ts";
import { FakeCloud } from "../../../../providers/fake/simulator/fake-cloud.ts";
import { type ServedCloud, serveFakeCloud } from "../../../../providers/fake/simulator/http.ts";
import { runProgram } from "../../../../src/app/run.ts";
import { systemPlatform } from "../../../../src/app/system-platform.ts";
import { milliseconds } from "../../../../src/core/brand.ts";
import type { Draft } from "../../../../src/kube/client/api.ts";
import type {
  Event,
  KubeObject,
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeAttachment,
} from "../../../../src/kube/objects.ts";
import {
  events,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  type Resource,
  storageClasses,
  volumeAttachments,
} from "../../../../src/kube/resources.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import type { AnyProvider } from "../../../../src/provider/provider.ts";
import { type ControlPlane, startControlPlane } from "../../../cluster/rig/control-plane.ts";
import { type KeptProcess, startProcess } from "../../../cluster/rig/kept-process.ts";
import { kubeletNode } from "../../../cluster/rig/kubelet-objects.ts";
import type { State } from "../../../differential/rig/compared-state.ts";
import { OfficialClient } from "../../../support/official-client.ts";
import { type CloudCall, recordCloudCalls } from "./cloud-calls.ts";
import { installDefinitions, SnapshotObjects } from "./snapshots.ts";
import { stateOf } from "./state.ts";

export const driver = "csi.fake.example";
export const zoneKey = "topology.fake.example/zone";
const namespace = "default";
const raw = <T extends KubeObject>(object: T): T => object;
const storage = { group: "storage.k8s.io", version: "v1", namespaced: false, slim: raw } as const;
const csiDrivers: Resource<KubeObject> = { ...storage, plural: "csidrivers", kind: "CSIDriver" };
const csiNodes: Resource<KubeObject> = { ...storage, plural: "csinodes", kind: "CSINode" };
const pods: Resource<KubeObject> = {
  group: "",
  version: "v1",
  namespaced: true,
  plural: "pods",
  kind: "Pod",
  slim: raw,
};

/** The API server's objects. */
export interface Seen {
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
  readonly attachments: readonly VolumeAttachment[];
  readonly events: readonly Event[];
}

export type Program = "sidecars" | "volume controller";

/** Flags that make the sidecars faster, and change nothing else. */
const speed = [
  ...["--kube-api-qps=500", "--kube-api-burst=1000"],
  ...["--retry-interval-start=500ms", "--retry-interval-max=2s"],
];
const socketFlag = (socket: string): readonly string[] => [`--csi-address=${socket}`, "--timeout=60s"];
/** In the order of `CSI_SIDECARS`. */
const sidecarFlags: readonly ((socket: string) => readonly string[])[] = [
  (socket) => [...socketFlag(socket), "--extra-create-metadata", "--default-fstype=ext4"],
  (socket) => [...socketFlag(socket), "--default-fstype=ext4"],
  // The volumes can be expanded while they are attached.
  (socket) => [...socketFlag(socket), "--resize-timeout=60s", "--handle-volume-inuse-error=false"],
  socketFlag,
  // The snapshot-controller serves all drivers.
  () => [],
];
const pathsIn = (name: string): readonly string[] => (process.env[name] ?? "").split(",");

const kubernetesControllers = [
  "persistentvolume-binder-controller",
  "persistentvolume-attach-detach-controller",
  "persistentvolume-protection-controller",
  "persistentvolumeclaim-protection-controller",
  "serviceaccount-controller",
];

export class Stage implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly api: OfficialClient;
  readonly cloud = new FakeCloud({ clock: systemClock, actionTime: milliseconds(100) });
  readonly calls: readonly CloudCall[] = recordCloudCalls(this.cloud);
  readonly snapshots: SnapshotObjects;
  /** The objects at the last `state`. */
  seen: Seen = { claims: [], volumes: [], attachments: [], events: [] };
  readonly #served: ServedCloud = serveFakeCloud(this.cloud, 0);
  readonly #controllerManager: KeptProcess;
  #processes: readonly KeptProcess[] = [];
  #inProcess: { readonly life: AbortController; readonly ended: Promise<unknown> } | undefined;
  #lines: string[] = [];

  private constructor(plane: ControlPlane, api: OfficialClient) {
    this.plane = plane;
    this.api = api;
    this.snapshots = new SnapshotObjects(api, driver);
    this.#controllerManager = plane.startControllerManager(kubernetesControllers);
  }

  static async open(): Promise<Stage> {
    const plane = await startControlPlane({ audit: true });
    const stage = new Stage(plane, OfficialClient.open(plane.kubeconfig));
    await stage.api.create(csiDrivers, {
      metadata: { name: driver },
      spec: { attachRequired: true },
    } as Draft<KubeObject>);
    await installDefinitions(stage.api, pathsIn("CSI_SNAPSHOT_CRDS"));
    return stage;
  }

  /** The sidecars elect leaders, as in upstream's manifests. */
  start(program: Program): void {
    const { kubeconfig, folder } = this.plane;
    if (program === "volume controller") {
      const flags = ["--controllers=*,volume", "--leader-elect=false", "--secure-port=0"];
      // A lookup that finds nothing to do is confirmed after this time.
      this.#run([`--kubeconfig=${kubeconfig}`, ...flags, "--absence-confirmation=1s"]);
      return;
    }
    const socket = join(folder, "csi.sock");
    this.#run(["csi-controller", `--csi-endpoint=unix://${socket}`]);
    const paths = pathsIn("CSI_SIDECARS");
    this.#processes = sidecarFlags.map((flags, index) =>
      startProcess([
        ...[paths[index] ?? "", `--kubeconfig=${kubeconfig}`],
        ...["--leader-election", "--leader-election-namespace=kube-system", "-v=4"],
        ...[...flags(socket), ...speed],
      ]),
    );
  }

  /** Runs a command line of the executable. */
  #run(args: readonly string[]): void {
    const life = new AbortController();
    const write = (text: string) => this.#lines.push(text);
    const environment = { FAKE_ENDPOINT: this.#served.url, FAKE_TOKEN: "fake" };
    const ended = runProgram(
      fake as unknown as AnyProvider,
      args,
      { out: write, err: write },
      systemPlatform(environment),
      life.signal,
    );
    this.#inProcess = { life, ended };
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((each) => each.stop()));
    this.#processes = [];
    this.#inProcess?.life.abort();
    await this.#inProcess?.ended;
    this.#inProcess = undefined;
  }

  log(): string {
    const sidecars = this.#processes.map((each) => each.output().slice(-3000));
    return [...this.#lines.slice(-60), ...sidecars].join("\n");
  }

  /** Returns the state, and reads `seen`. */
  async state(): Promise<State> {
    const [claims, volumes, attachments, all] = await Promise.all([
      this.api.list(persistentVolumeClaims),
      this.api.list(persistentVolumes),
      this.api.list(volumeAttachments),
      this.api.list(events),
      this.snapshots.read(),
    ]);
    this.seen = { claims, volumes, attachments, events: all };
    return stateOf(this);
  }

  /** A Node with everything that a kubelet, its plugin and the node controller write; its machine is in the cloud. */
  async join(name: string): Promise<void> {
    const { id, zone } = this.cloud.machines.add(name);
    const draft = kubeletNode(name, { providerID: `fake://${id}`, taints: [] });
    const labels = { ...draft.metadata.labels, [zoneKey]: zone, "topology.kubernetes.io/zone": zone };
    await this.api.create(nodes, { ...draft, metadata: { ...draft.metadata, labels } });
    const drivers = [{ name: driver, nodeID: id, topologyKeys: [zoneKey], allocatable: { count: 8 } }];
    const csiNode = { metadata: { name }, spec: { drivers } };
    await this.api.create(csiNodes, csiNode as Draft<KubeObject>);
  }

  /** The zone of a Node's machine. */
  zoneOf(node: string): string {
    return this.cloud.machines.list().find(({ name }) => name === node)?.zone ?? "";
  }

  async createClass(name: string, fields: object = {}): Promise<void> {
    const draft = { metadata: { name }, provisioner: driver, allowVolumeExpansion: true, ...fields };
    await this.api.create(storageClasses, draft);
  }

  async createClaim(name: string, storageClassName: string, fields: object = {}, annotations = {}) {
    const spec = {
      accessModes: ["ReadWriteOnce"],
      storageClassName,
      resources: { requests: { storage: "2Gi" } },
      ...fields,
    };
    const draft = { metadata: { name, namespace, annotations }, spec } as Draft<PersistentVolumeClaim>;
    await this.api.create(persistentVolumeClaims, draft);
  }

  async createVolume(name: string, spec: object): Promise<void> {
    await this.api.create(persistentVolumes, { metadata: { name }, spec } as never);
  }

  /** Attaches without a pod, which nothing in Kubernetes does. */
  async createAttachment(name: string, persistentVolumeName: string, nodeName: string): Promise<void> {
    const spec = { attacher: driver, nodeName, source: { persistentVolumeName } };
    await this.api.create(volumeAttachments, { metadata: { name }, spec } as never);
  }

  /** A pod that uses the claim with the same name. */
  async createPod(name: string, nodeName: string, claimName = name, isBlock = false): Promise<void> {
    const used = isBlock
      ? { volumeDevices: [{ name: "data", devicePath: "/dev/data" }] }
      : { volumeMounts: [{ name: "data", mountPath: "/data" }] };
    const spec = {
      nodeName,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: "app", image: "app", ...used }],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
    };
    await this.api.create(pods, { metadata: { name, namespace }, spec } as Draft<KubeObject>);
  }

  /** Deletes the pod immediately, without a grace period. */
  async deletePod(name: string): Promise<void> {
    await this.api.delete(pods, { name, namespace });
  }

  async editClaim(name: string, body: object, subresource?: "status"): Promise<void> {
    await this.#patch(persistentVolumeClaims, { name, namespace }, body, subresource);
  }

  async editVolume(name: string, body: object): Promise<void> {
    await this.#patch(persistentVolumes, { name }, body);
  }

  async #patch<T extends KubeObject>(
    resource: Resource<T>,
    key: { readonly name: string; readonly namespace?: string },
    body: object,
    subresource?: "status",
  ): Promise<void> {
    const contentType = "application/merge-patch+json";
    const patch = { contentType, body, ...(subresource && { subresource }) } as const;
    await this.api.patch(resource, key, patch);
  }

  async deleteClaim(name: string): Promise<void> {
    await this.api.delete(persistentVolumeClaims, { name, namespace });
  }

  async deleteVolume(name: string): Promise<void> {
    await this.api.delete(persistentVolumes, { name });
  }

  async deleteAttachment(name: string): Promise<void> {
    await this.api.delete(volumeAttachments, { name });
  }

  async deleteNode(name: string): Promise<void> {
    await this.api.delete(nodes, { name });
    await this.api.delete(csiNodes, { name });
  }

  claim(name: string): PersistentVolumeClaim | undefined {
    return this.seen.claims.find(({ metadata }) => metadata.name === name);
  }

  /** The volume of a claim, even if the claim is gone. */
  volumeOf(claim: string): PersistentVolume | undefined {
    return this.seen.volumes.find(({ spec }) => spec?.claimRef?.name === claim);
  }

  /** A Node whose pods can use the volume of a bound claim. */
  nodeFor(claim: string): string {
    const name = this.volumeOf(claim)?.metadata.name;
    const zone = this.cloud.volumes.list().find((volume) => volume.name === name)?.zone;
    return this.cloud.machines.list().find((machine) => machine.zone === zone)?.name ?? "";
  }

  attachmentOf(claim: string): VolumeAttachment | undefined {
    const name = this.volumeOf(claim)?.metadata.name;
    return this.seen.attachments.find(({ spec }) => spec.source.persistentVolumeName === name);
  }

  attachment(name: string): VolumeAttachment | undefined {
    return this.seen.attachments.find(({ metadata }) => metadata.name === name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#controllerManager.stop();
    await this.plane.stop();
    await this.#served[Symbol.asyncDispose]();
  }
}
