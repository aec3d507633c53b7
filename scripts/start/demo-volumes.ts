// The steps of the demo about volumes: a claim gets a volume, the volume is attached, and node-volumes mounts it for a pod. The
// script does the work of kube-controller-manager and the kubelet.

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PersistentVolume, PersistentVolumeClaim, VolumeAttachment } from "../../src/kube/objects.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { VolumeDriver } from "../../src/provider/volumes.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { nodeService } from "../../src/volumes/csi/node-service.ts";
import type { DemoStep } from "./demo-steps.ts";
import { FolderMachine } from "./folder-machine.ts";
import type { Sandbox } from "./sandbox.ts";

const node = "node-1";
const claimName = "data";
const attachmentName = "data-on-node-1";
const bytes = 10 * 2 ** 30;

class DemoVolume {
  readonly #sandbox: Sandbox;
  readonly #driver: VolumeDriver;
  /** Undefined until the pod has written its file; then the content that it has read. */
  written: string | undefined;
  problem: string | undefined;

  constructor(sandbox: Sandbox, driver: VolumeDriver) {
    this.#sandbox = sandbox;
    this.#driver = driver;
  }

  #create(plural: string, namespace: string, object: object): void {
    this.#sandbox.server.objects.create(resourceNamed(plural), namespace, object as JsonObject);
  }

  #change(plural: string, name: string, change: (now: object) => object, subresource = ""): void {
    const namespace = plural === "persistentvolumeclaims" ? "default" : "";
    this.#sandbox.server.objects.patch(
      resourceNamed(plural),
      namespace,
      name,
      subresource,
      (now) => change(now) as JsonObject,
    );
  }

  volume(): PersistentVolume | undefined {
    const all = this.#sandbox.server.store.list(
      "persistentvolumes",
    ) as unknown as readonly PersistentVolume[];
    return all.find(({ spec }) => spec?.claimRef?.name === claimName);
  }

  claim(): void {
    this.#create("storageclasses", "", {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "demo" },
      provisioner: this.#driver.name,
      reclaimPolicy: "Delete",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    const annotations = {
      "volume.kubernetes.io/storage-provisioner": this.#driver.name,
      "volume.kubernetes.io/selected-node": node,
    };
    this.#create("persistentvolumeclaims", "default", {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: claimName, namespace: "default", annotations },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: "demo",
        volumeMode: "Filesystem",
        resources: { requests: { storage: "10Gi" } },
      },
      status: { phase: "Pending" },
    });
  }

  /** Does the work of kube-controller-manager. */
  bind({ metadata: { name: volumeName }, spec }: PersistentVolume): void {
    const bound = { status: { phase: "Bound", capacity: spec?.capacity, accessModes: spec?.accessModes } };
    this.#change(
      "persistentvolumes",
      volumeName,
      (now) => ({ ...now, status: { phase: "Bound" } }),
      "status",
    );
    this.#change("persistentvolumeclaims", claimName, (now) => {
      const { spec: asked } = now as PersistentVolumeClaim;
      return { ...now, spec: { ...asked, volumeName } };
    });
    this.#change("persistentvolumeclaims", claimName, (now) => ({ ...now, ...bound }), "status");
  }

  attach(): void {
    this.#create("volumeattachments", "", {
      apiVersion: "storage.k8s.io/v1",
      kind: "VolumeAttachment",
      metadata: { name: attachmentName },
      spec: {
        attacher: this.#driver.name,
        nodeName: node,
        source: { persistentVolumeName: this.volume()?.metadata.name },
      },
    });
  }

  attached(): Readonly<Record<string, string>> | undefined {
    const found = this.#sandbox.server.store.get("volumeattachments", undefined, attachmentName);
    const { status } = (found ?? {}) as unknown as Partial<VolumeAttachment>;
    return status?.attached === true ? (status.attachmentMetadata ?? {}) : undefined;
  }

  /** Does the work of the kubelet, and then that of the pod. */
  async mount(): Promise<void> {
    const folder = mkdtempSync(join(this.#sandbox.folder, "volume-"));
    const { disks, files } = new FolderMachine(folder, bytes);
    const identity = { id: "", limit: 1, topology: undefined };
    const warn = (): void => undefined;
    const { handlers } = nodeService({
      driver: this.#driver,
      identity,
      disks,
      files,
      clock: systemClock,
      warn,
    });
    const [stagingTargetPath, targetPath] = [join(folder, "staged"), join(folder, "pod")];
    const { csi } = this.volume()?.spec ?? {};
    const volume = {
      volumeID: csi?.volumeHandle ?? "",
      publishContext: this.attached() ?? {},
      secrets: {},
      volumeContext: csi?.volumeAttributes ?? {},
      stagingTargetPath,
      volumeCapability: {
        accessMode: { mode: "SINGLE_NODE_WRITER" as const },
        block: undefined,
        mount: { fsType: csi?.fsType ?? "", mountFlags: [], volumeMountGroup: "" },
      },
    };
    const call = { signal: new AbortController().signal };
    await handlers.NodeStageVolume?.(volume, call);
    await handlers.NodePublishVolume?.({ ...volume, targetPath, readonly: false }, call);
    writeFileSync(join(targetPath, "hello"), "written by a pod");
    const text = readFileSync(join(targetPath, "hello"), "utf8");
    this.written = `${targetPath}/hello: "${text}" (volume ${volume.volumeID})`;
  }
}

/** Empty for a cloud without volumes. */
export function volumeSteps(sandbox: Sandbox): readonly DemoStep[] {
  const { driver } = sandbox;
  if (driver === undefined) return [];
  const demo = new DemoVolume(sandbox, driver);
  let isBound = false;
  return [
    {
      title: "The claim data requests a volume of 10Gi",
      start: () => demo.claim(),
      waitingFor: () => {
        const volume = demo.volume();
        if (volume === undefined) return "its PersistentVolume";
        if (!isBound) demo.bind(volume);
        isBound = true;
        return undefined;
      },
      result: () => `PersistentVolume ${demo.volume()?.metadata.name}`,
    },
    {
      title: `The volume is attached to ${node} for a pod`,
      start: () => demo.attach(),
      waitingFor: () => (demo.attached() === undefined ? "the VolumeAttachment" : undefined),
      result: () => Object.values(demo.attached() ?? {}).join(", "),
    },
    {
      title: "node-volumes formats and mounts it (a folder stands for the disk), and the pod writes a file",
      start: () =>
        void demo.mount().catch((error: unknown) => {
          demo.problem = String(error);
        }),
      waitingFor: () => (demo.written === undefined ? (demo.problem ?? "the mount") : undefined),
      result: () => demo.written,
    },
  ];
}
