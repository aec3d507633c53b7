// Claims and the pods that use them: what users, the scheduler, the attach/detach controller of kube-controller-manager and kubelets do
// about volumes. A kubelet that is cut off from the API server keeps its mounts, so that its machine goes on writing.

import { perMachine } from "../../providers/fake/simulator/volumes.ts";
import { isReady } from "../../src/controllers/node-facts.ts";
import { seconds } from "../../src/core/brand.ts";
import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeAttachment,
} from "../../src/kube/objects.ts";
import { type Random, seededRandom } from "../../src/platform/random.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { driver, json, stored, VolumeBinder } from "../support/volume-binder.ts";
import type { World } from "./world.ts";

interface Pod {
  readonly claim: string;
  readonly node: string;
  readonly volume: string;
  readonly handle: string;
  /** Since when it has no volume. */
  waitsSince: number;
  /** When its deletion began. */
  leavingSince?: number;
}

/** A file system that a machine may write to. */
export interface Mount {
  readonly claim: string;
  readonly handle: string;
  readonly node: string;
  readonly machine: string;
}

const nodes = resourceNamed("nodes");
const protection = "kubernetes.io/pvc-protection";
const selectedNode = "volume.kubernetes.io/selected-node";
/** kube-controller-manager detaches by force from a Node that is not Ready after this long. */
const forceAfter = 360_000;
/** A user deletes a pod by force that does not end. */
const patience = 240_000;
/** A user deletes a pod that does not start. */
const longPatience = 600_000;

export class VolumePods {
  readonly binder: VolumeBinder;
  readonly #world: World;
  readonly #random: Random;
  readonly #pods = new Map<string, Pod>();
  /** The ids of volumes by PersistentVolume, also of those that have vanished. */
  readonly #handles = new Map<string, string>();
  /** Since when each VolumeAttachment is not needed, by name. */
  readonly #unneeded = new Map<string, number>();
  #mounts: readonly Mount[] = [];
  #cancel: () => void = () => undefined;

  constructor(world: World, seed: number) {
    this.#world = world;
    this.#random = seededRandom(seed ^ 0xd15c);
    this.binder = new VolumeBinder(world.server);
    for (const [name, volumeBindingMode] of Object.entries({
      soon: "Immediate",
      late: "WaitForFirstConsumer",
    })) {
      world.server.objects.create(
        stored.classes,
        "",
        json({
          apiVersion: "storage.k8s.io/v1",
          kind: "StorageClass",
          metadata: { name },
          provisioner: driver,
          reclaimPolicy: "Delete",
          allowVolumeExpansion: true,
          volumeBindingMode,
        }),
      );
    }
    this.#schedule();
  }

  stop(): void {
    this.#cancel();
  }

  get mounts(): readonly Mount[] {
    return this.#mounts;
  }

  get pods(): Iterable<Pod> {
    return this.#pods.values();
  }

  attachments(): readonly VolumeAttachment[] {
    return this.#world.server.store.list("volumeattachments") as unknown as readonly VolumeAttachment[];
  }

  claim(name: string): PersistentVolumeClaim | undefined {
    return this.binder.claims().find(({ metadata }) => metadata.name === name);
  }

  volumeOf(claim: PersistentVolumeClaim | undefined): PersistentVolume | undefined {
    return this.binder.volumes().find(({ metadata }) => metadata.name === claim?.spec?.volumeName);
  }

  /** The volume id of a PersistentVolume, even if the PersistentVolume has vanished. */
  handleOf(volume: string): string | undefined {
    return this.#handles.get(volume);
  }

  create(
    name: string,
    {
      size = "1Gi",
      storageClass,
      ...source
    }: { readonly size?: string; readonly storageClass?: "soon" | "late"; readonly dataSource?: object } = {},
  ): void {
    if (this.claim(name) !== undefined) return;
    const storageClassName = storageClass ?? (this.#random.fraction() < 0.5 ? "soon" : "late");
    this.#world.history.log(`the claim ${name} is created (${storageClassName})`);
    const draft = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name, namespace: "default", finalizers: [protection] },
      spec: {
        accessModes: ["ReadWriteOnce"],
        volumeMode: "Filesystem",
        storageClassName,
        resources: { requests: { storage: size } },
        ...source,
      },
      status: { phase: "Pending" },
    };
    this.#world.server.objects.create(stored.claims, "default", json(draft));
  }

  /** Deletes the pod, which is then started on another Node if there is one. */
  move(claim: string): void {
    const pod = this.#pods.get(claim);
    if (pod === undefined || pod.leavingSince !== undefined) return;
    this.#world.history.log(`the pod of ${claim} leaves ${pod.node}`);
    pod.leavingSince = this.#world.clock.monotonic();
  }

  delete(name: string): void {
    if (this.claim(name) === undefined) return;
    this.#world.history.log(`the claim ${name} is deleted`);
    this.#world.server.objects.delete(stored.claims, "default", name);
    this.move(name);
  }

  grow(name: string): void {
    const { spec, status } = this.claim(name) ?? {};
    const request = spec?.resources?.requests?.["storage"];
    if (request === undefined || status?.phase !== "Bound") return;
    const storage = `${Number.parseInt(request, 10) + 1}Gi`;
    this.#world.history.log(`the claim ${name} asks for ${storage}`);
    this.binder.changeClaim(name, (claim) => ({
      ...claim,
      spec: { ...claim.spec, resources: { requests: { storage } } },
    }));
  }

  #schedule(): void {
    this.#cancel = this.#world.clock.after(seconds(2), () => {
      this.#schedule();
      for (const { metadata, spec } of this.binder.volumes())
        this.#handles.set(metadata.name, spec?.csi?.volumeHandle ?? "");
      this.#runKubelets();
      this.#attachAndDetach();
      this.#runPods();
    });
  }

  #node(name: string): Node | undefined {
    return this.#world.node(name);
  }

  /** The machine id of a Node that can run pods. */
  #machineOf(name: string): string | undefined {
    const node = this.#node(name);
    const machine = this.#world.machineNamed(name);
    const isUp = machine?.status === "running" && node?.spec.providerID === `fake://${machine.id}`;
    return isUp && isReady(node) ? machine.id : undefined;
  }

  #needs({ claim, handle, node }: Mount): boolean {
    const pod = this.#pods.get(claim);
    return pod?.node === node && pod.handle === handle && pod.leavingSince === undefined;
  }

  #runKubelets(): void {
    const { cloud, silent } = this.#world;
    this.#mounts = this.#mounts.filter((mount) => {
      const machine = cloud.machines.get(mount.machine);
      if (machine === undefined || machine.status === "stopped") return false;
      return silent.has(mount.node) || this.#needs(mount);
    });
    for (const { metadata, status } of this.#world.nodes())
      this.#runKubelet(metadata.name, status.volumesInUse);
  }

  /** Reports a volume before it mounts it, and until it has unmounted it. */
  #runKubelet(node: string, reported: readonly string[] = []): void {
    const { cloud, silent } = this.#world;
    const machine = this.#world.machineNamed(node);
    if (machine?.status !== "running" || silent.has(node)) return;
    const starting = [...this.#pods.values()].flatMap(({ claim, handle, volume, ...pod }) => {
      if (pod.node !== node || pod.leavingSince !== undefined) return [];
      return { claim, handle, volume, node, machine: machine.id };
    });
    const mounted = this.#mounts.filter((mount) => mount.machine === machine.id);
    const inUse = [...new Set([...mounted, ...starting].map(({ handle }) => nameInUse(handle)))].toSorted();
    if (inUse.join() !== reported.join())
      this.#world.server.objects.patch(nodes, "", node, "status", (now) => ({
        ...now,
        status: { ...(now["status"] as object), volumesInUse: inUse },
      }));
    for (const mount of starting) {
      const isMounted = mounted.some(({ handle }) => handle === mount.handle);
      const attachment = this.attachments().find(({ metadata }) => metadata.name === attachmentName(mount));
      const isAttached =
        attachment?.status?.attached === true && attachment.metadata.deletionTimestamp === undefined;
      const hasDevice = cloud.volumes.list().find(({ id }) => id === mount.handle)?.machine === machine.id;
      if (!isMounted && isAttached && hasDevice && reported.includes(nameInUse(mount.handle)))
        this.#mounts = [...this.#mounts, mount];
      if (isMounted) this.#growFileSystem(mount.claim);
    }
  }

  #growFileSystem(name: string): void {
    const claim = this.claim(name);
    if (claim?.status?.allocatedResourceStatuses?.["storage"] !== "NodeResizePending") return;
    const capacity = this.volumeOf(claim)?.spec?.capacity;
    this.binder.changeClaim(
      name,
      (now) => {
        const { allocatedResourceStatuses: _, ...status } = now.status ?? {};
        return { ...now, status: { ...status, capacity, conditions: [] } };
      },
      "status",
    );
  }

  #attachAndDetach(): void {
    const { server, clock } = this.#world;
    const needed = new Set<string>();
    for (const { volume, node, leavingSince } of this.#pods.values()) {
      if (leavingSince !== undefined) continue;
      const name = attachmentName({ volume, node });
      needed.add(name);
      const exists = server.store.get("volumeattachments", "", name) !== undefined;
      if (exists || this.#node(node) === undefined) continue;
      const source = { persistentVolumeName: volume };
      const draft = { apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", metadata: { name } };
      const spec = { attacher: driver, nodeName: node, source };
      server.objects.create(stored.attachments, "", json({ ...draft, spec }));
    }
    const now = clock.monotonic();
    for (const { metadata, spec } of this.attachments()) {
      const { name } = metadata;
      if (needed.has(name)) this.#unneeded.delete(name);
      if (needed.has(name) || metadata.deletionTimestamp !== undefined) continue;
      const since = this.#unneeded.get(name) ?? now;
      this.#unneeded.set(name, since);
      const node = this.#node(spec.nodeName);
      const handle = this.#handles.get(spec.source.persistentVolumeName ?? "") ?? "";
      const isInUse = node?.status.volumesInUse?.includes(nameInUse(handle)) === true;
      const isForced = now - since > forceAfter && node !== undefined && !isReady(node);
      if (isInUse && !isForced) continue;
      if (isForced) this.#world.history.log(`kube-controller-manager detaches ${name} by force`);
      server.objects.delete(stored.attachments, "", name);
    }
  }

  #runPods(): void {
    const { clock } = this.#world;
    const now = clock.monotonic();
    for (const pod of [...this.#pods.values()]) {
      const isStuck = this.#machineOf(pod.node) === undefined && this.#random.fraction() < 0.02;
      if (isStuck) this.move(pod.claim);
      const isMounted = this.#mounts.some(({ claim, node }) => claim === pod.claim && node === pod.node);
      if (isMounted) pod.waitsSince = now;
      else if (now - pod.waitsSince > longPatience) this.move(pod.claim);
      if (pod.leavingSince === undefined) continue;
      // For longer than kubelets need to notice.
      if (now - pod.leavingSince < 20_000) continue;
      const isOver = !isMounted || this.#node(pod.node) === undefined || now - pod.leavingSince > patience;
      if (isOver) this.#pods.delete(pod.claim);
    }
    for (const { metadata, spec } of this.binder.claims()) {
      const { name, finalizers = [], deletionTimestamp } = metadata;
      if (this.#pods.has(name)) continue;
      if (deletionTimestamp === undefined)
        this.#start(name, spec?.volumeName ?? "", metadata.annotations ?? {});
      else if (finalizers.includes(protection))
        this.binder.changeClaim(name, (claim) => ({
          ...claim,
          metadata: {
            ...claim.metadata,
            finalizers: claim.metadata.finalizers?.filter((each) => each !== protection),
          },
        }));
    }
  }

  /** The volumes of pods and of VolumeAttachments, as the scheduler counts them. */
  #volumesOf(node: string): ReadonlySet<string | undefined> {
    const ofPods = [...this.#pods.values()].filter((pod) => pod.node === node).map(({ volume }) => volume);
    const attached = this.attachments().filter(({ spec }) => spec.nodeName === node);
    return new Set([...ofPods, ...attached.map(({ spec }) => spec.source.persistentVolumeName)]);
  }

  #start(claim: string, volumeName: string, annotations: Readonly<Record<string, string>>): void {
    const { cloud, clock } = this.#world;
    const zone = cloud.volumes.list().find(({ name }) => name === volumeName)?.zone;
    if (volumeName !== "" && zone === undefined) return;
    const eligible = this.#world
      .nodes()
      .map(({ metadata }) => metadata.name)
      .filter((name) => this.#machineOf(name) !== undefined)
      .filter((name) => zone === undefined || this.#world.machineNamed(name)?.zone === zone)
      .filter((name) => this.#volumesOf(name).size < perMachine);
    const node = eligible[Math.floor(this.#random.fraction() * eligible.length)];
    if (node === undefined) return;
    if (volumeName !== "") {
      const handle = this.#handles.get(volumeName);
      if (handle === undefined) return;
      this.#world.history.log(`a pod of ${claim} starts on ${node}`);
      this.#pods.set(claim, { claim, node, volume: volumeName, handle, waitsSince: clock.monotonic() });
    } else if (
      this.claim(claim)?.spec?.storageClassName === "late" &&
      annotations[selectedNode] === undefined
    ) {
      this.binder.changeClaim(claim, ({ metadata, ...rest }) => ({
        ...rest,
        metadata: { ...metadata, annotations: { ...metadata.annotations, [selectedNode]: node } },
      }));
    }
  }
}

const attachmentName = ({ volume, node }: Pick<Pod, "volume" | "node">): string => `csi-${volume}-${node}`;

export const nameInUse = (handle: string): string => `kubernetes.io/csi/${driver}^${handle}`;
