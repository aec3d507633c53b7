// A `ServiceWorld` whose manager runs the volume controller, and the parts of kube-controller-manager and of kubelets that volumes need:
// it binds claims and releases volumes, and kubelets report which volumes they use.

import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeAttachment,
} from "../../src/kube/objects.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { ServiceWorld } from "./service-world.ts";
import type { ServiceWorldOptions } from "./service-world-options.ts";
import { driver, json, stored, VolumeBinder } from "./volume-binder.ts";

export { driver };
export const zoneKey = "topology.fake.example/zone";

export interface ClaimDraft {
  readonly size?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: JsonObject;
}

export class VolumeWorld extends ServiceWorld {
  readonly #binder: VolumeBinder;

  constructor(options: ServiceWorldOptions = {}) {
    super({ controllers: "volume", actionTime: 300, nodes: 4, ...options });
    const { nodes = 4 } = options;
    for (let index = 0; index < nodes; index += 1) this.setZone(`node-${index}`);
    this.#binder = new VolumeBinder(this.server);
    this.createClass("fake", {});
  }

  /** The labels that the node controller sets. */
  setZone(node: string): void {
    const [machine] = this.cloud.machines.find(this.machineOf(node));
    const zone = machine?.zone ?? "";
    this.changeNode(node, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, labels: { ...metadata.labels, "topology.kubernetes.io/zone": zone } },
    }));
  }

  createClass(name: string, fields: JsonObject): void {
    const draft = { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name } };
    const all = {
      ...draft,
      provisioner: driver,
      reclaimPolicy: "Delete",
      allowVolumeExpansion: true,
      ...fields,
    };
    this.server.objects.create(stored.classes, "", json(all));
  }

  claim(name: string, { size = "1Gi", annotations = {}, spec = {} }: ClaimDraft = {}): void {
    const draft = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name, namespace: "default", annotations },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "fake",
        volumeMode: "Filesystem",
        resources: { requests: { storage: size } },
        ...spec,
      },
      status: { phase: "Pending" },
    };
    this.server.objects.create(stored.claims, "default", json(draft));
  }

  deleteClaim(name: string): void {
    this.server.objects.delete(stored.claims, "default", name);
  }

  changeClaim(name: string, change: (claim: PersistentVolumeClaim) => unknown, subresource = ""): void {
    this.#binder.changeClaim(name, change, subresource);
  }

  findClaim(name: string): PersistentVolumeClaim | undefined {
    return this.server.store.get("persistentvolumeclaims", "default", name) as unknown as
      | PersistentVolumeClaim
      | undefined;
  }

  getClaim(name: string): PersistentVolumeClaim {
    const found = this.findClaim(name);
    if (found === undefined) throw new Error(`There is no claim ${name}.`);
    return found;
  }

  volumes(): readonly PersistentVolume[] {
    return this.#binder.volumes();
  }

  /** The volume of a bound claim. */
  volumeOf(claim: string): PersistentVolume {
    const { spec } = this.getClaim(claim);
    const found = this.volumes().find(({ metadata }) => metadata.name === spec?.volumeName);
    if (found === undefined) throw new Error(`The claim ${claim} is not bound.`);
    return found;
  }

  createVolume(name: string, fields: { readonly metadata?: JsonObject; readonly spec: JsonObject }): void {
    const draft = {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name, ...fields.metadata },
      spec: {
        accessModes: ["ReadWriteOnce"],
        capacity: { storage: "1Gi" },
        persistentVolumeReclaimPolicy: "Delete",
        ...fields.spec,
      },
    };
    this.server.objects.create(stored.volumes, "", json(draft));
  }

  changeVolume(name: string, change: (volume: PersistentVolume) => unknown, subresource = ""): void {
    this.#binder.changeVolume(name, change, subresource);
  }

  /** The Nodes that can use the volume of a claim, of which the first one is used first. */
  nodesFor(claim: string): readonly [string, string] {
    const handle = this.volumeOf(claim).spec?.csi?.volumeHandle ?? "";
    const { zone } = this.cloud.volumes.get(handle);
    const names = (this.server.store.list("nodes") as unknown as readonly Node[])
      .filter(({ metadata }) => metadata.labels?.["topology.kubernetes.io/zone"] === zone)
      .map(({ metadata }) => metadata.name);
    const [one = "", other = ""] = names;
    return [one, other];
  }

  isBound(claim: string): boolean {
    return this.findClaim(claim)?.status?.phase === "Bound";
  }

  /** Attaches a volume as the attach/detach controller does for a pod. */
  attach(claim: string, node: string, name = `attach-${claim}-${node}`): string {
    const source = { persistentVolumeName: this.volumeOf(claim).metadata.name };
    const draft = { apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", metadata: { name } };
    const spec = { attacher: driver, nodeName: node, source };
    this.server.objects.create(stored.attachments, "", json({ ...draft, spec }));
    return name;
  }

  detach(name: string): void {
    this.server.objects.delete(stored.attachments, "", name);
  }

  attachment(name: string): VolumeAttachment | undefined {
    return this.server.store.get("volumeattachments", undefined, name) as unknown as
      | VolumeAttachment
      | undefined;
  }

  isAttached(name: string): boolean {
    return this.attachment(name)?.status?.attached === true;
  }

  /** Reports the volumes in use, as the Node's kubelet does. */
  setInUse(node: string, claims: readonly string[]): void {
    const volumesInUse = claims.map(
      (claim) => `kubernetes.io/csi/${driver}^${this.volumeOf(claim).spec?.csi?.volumeHandle}`,
    );
    this.changeNode(node, (now) => ({ ...now, status: { ...now.status, volumesInUse } }));
  }

  machineOf(node: string): string {
    const found = this.server.store.get("nodes", undefined, node) as unknown as {
      spec: { providerID: string };
    };
    return found.spec.providerID.replace("fake://", "");
  }

  /** The Lease of a running sidecar. */
  renewSidecar(name: string, namespace = "kube-system"): void {
    const renewTime = new Date(this.clock.now()).toISOString().replace("Z", "000Z");
    const spec = { holderIdentity: "provisioner-1", leaseDurationSeconds: 15, renewTime };
    const found = this.server.store.get("leases", namespace, name);
    if (found !== undefined) this.server.store.put(stored.leases, { ...found, spec });
    else
      this.server.objects.create(stored.leases, namespace, {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name, namespace },
        spec,
      });
  }

  /** Whether kube-controller-manager works. */
  set binds(binds: boolean) {
    this.#binder.binds = binds;
  }

  bindAll(): void {
    this.#binder.bindAll();
  }
}
