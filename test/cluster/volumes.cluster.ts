// The volume controller with the binder and the attach/detach controller of a real kube-controller-manager, and with exactly the
// permissions that the command rbac prints: a claim becomes a volume, a pod attaches it, a snapshot becomes another volume, and
// everything is deleted again. Neither a sidecar nor a snapshot-controller runs.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import type { PersistentVolumeClaim, VolumeAttachment } from "../../src/kube/objects.ts";
import { persistentVolumeClaims, persistentVolumes, volumeAttachments } from "../../src/kube/resources.ts";
import { writeKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import type { KeptProcess } from "./rig/kept-process.ts";
import { createKubectl } from "./rig/kubectl.ts";

let plane: ControlPlane;
let controllerManager: KeptProcess;
let cluster: Cluster;
beforeAll(async () => {
  plane = await startControlPlane();
  controllerManager = plane.startControllerManager([
    "persistentvolume-binder-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-protection-controller",
    "persistentvolumeclaim-protection-controller",
    "serviceaccount-controller",
  ]);
});
afterAll(async () => {
  await controllerManager.stop();
  await plane.stop();
});
beforeEach(async () => {
  cluster = await openCluster(plane.kubeconfig);
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

const driver = "csi.fake.example";
const manager = "fairlead-volumes";

const startManager = async (): Promise<KeptProcess> => {
  const flags = ["--controllers=*,volume", "--secure-port=0"];
  const printed = cluster.manager({ flags: ["rbac", "--set", `user=${manager}`, ...flags] });
  await printed.exited;
  const kubectl = createKubectl(cluster.kubeconfig, cluster.folder);
  await kubectl("apply", "-f", cluster.file("rbac.yaml", printed.output()));
  const user = { name: manager, server: plane.server, ...plane.issue(manager, []) };
  return cluster.manager({ kubeconfig: cluster.file("manager", writeKubeconfig(plane.ca, [user])), flags });
};

const objects = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: fake }
provisioner: ${driver}
allowVolumeExpansion: true
---
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: { name: ${driver} }
spec: { attachRequired: true }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data, namespace: default }
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fake
  resources: { requests: { storage: 2Gi } }
`;

const podOn = (node: string): string => `
apiVersion: v1
kind: Pod
metadata: { name: app, namespace: default }
spec:
  nodeName: ${node}
  automountServiceAccountToken: false
  containers: [{ name: app, image: app, volumeMounts: [{ name: data, mountPath: /data }] }]
  volumes: [{ name: data, persistentVolumeClaim: { claimName: data } }]
`;

const claim = (): Promise<PersistentVolumeClaim> =>
  cluster.api.get(persistentVolumeClaims, { name: "data", namespace: "default" });

const attachments = async (): Promise<readonly VolumeAttachment[]> =>
  await cluster.api.list(volumeAttachments);

test("a claim becomes a volume, which a pod attaches, and which is expanded, detached and deleted [N22 S10]", async () => {
  const kubectl = createKubectl(cluster.kubeconfig, cluster.folder);
  const running = await startManager();
  const nodes = ["worker-1", "worker-2", "worker-3"];
  for (const node of nodes) {
    cluster.cloud.machines.add(node);
    await cluster.join(node);
    await cluster.initialized(node);
    await kubectl("annotate", "node", node, "volumes.kubernetes.io/controller-managed-attach-detach=true");
  }
  await kubectl("apply", "-f", cluster.file("objects.yaml", objects));
  await cluster.until("the claim is bound", async () => (await claim()).status?.phase === "Bound");
  const [volume] = cluster.cloud.volumes.list();
  expect(volume).toMatchObject({ size: 2, machine: null });
  const { spec } = await cluster.api.get(persistentVolumes, { name: (await claim()).spec?.volumeName ?? "" });
  expect(spec?.csi?.volumeHandle).toBe(volume?.id ?? "");
  const inZone = cluster.cloud.machines.list().find(({ zone }) => zone === volume?.zone);
  const node = inZone?.name ?? "";

  await kubectl("apply", "-f", cluster.file("pod.yaml", podOn(node)));
  await cluster.until("attached", async () => (await attachments())[0]?.status?.attached === true);
  expect(cluster.cloud.volumes.get(volume?.id ?? "").machine).toBe(inZone?.id ?? "");

  const larger = '{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}';
  await kubectl("patch", "pvc", "data", "-p", larger);
  await cluster.until("expanded", async () =>
    (await claim()).status?.conditions?.some(({ type }) => type === "FileSystemResizePending"),
  );
  expect(cluster.cloud.volumes.get(volume?.id ?? "").size).toBe(3);

  await kubectl("delete", "pod", "app", "--force", "--grace-period=0");
  await cluster.until("detached", async () => (await attachments()).length === 0);
  expect(cluster.cloud.volumes.get(volume?.id ?? "").machine).toBeNull();
  await kubectl("delete", "pvc", "data");
  await cluster.until("deleted", async () => {
    const left = await cluster.api.list(persistentVolumes);
    return left.length === 0 && cluster.cloud.volumes.list().length === 0;
  });
  // Events may be written later than the objects.
  await cluster.until("all events are written", async () => {
    const text = await kubectl("get", "events", "-o", "custom-columns=REASON:.reason", "--no-headers");
    const reasons = text.split("\n").map((line) => line.trim());
    return ["Provisioning", "ProvisioningSucceeded", "Resizing", "FileSystemResizeRequired"].every((reason) =>
      reasons.includes(reason),
    );
  });
  expect(running.output()).not.toMatch(/\b403\b|permission missing/);
});

const snapshotGroup = "snapshot.storage.k8s.io";

/** Accepts any content: Fairlead ships no CRDs, and those of external-snapshotter are not available here. */
const definitionOf = (kind: string, scope: "Namespaced" | "Cluster") => {
  const singular = kind.toLowerCase();
  const plural = singular.endsWith("s") ? `${singular}es` : `${singular}s`;
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${snapshotGroup}`,
      annotations: { "api-approved.kubernetes.io": "unapproved, for tests" },
    },
    spec: {
      group: snapshotGroup,
      scope,
      names: { plural, singular, kind, listKind: `${kind}List` },
      versions: [{ name: "v1", served: true, storage: true, subresources: { status: {} }, schema }],
    },
  };
};

const snapshotObjects = `
apiVersion: ${snapshotGroup}/v1
kind: VolumeSnapshotClass
metadata: { name: fake }
driver: ${driver}
deletionPolicy: Delete
---
apiVersion: ${snapshotGroup}/v1
kind: VolumeSnapshot
metadata: { name: backup, namespace: default }
spec:
  volumeSnapshotClassName: fake
  source: { persistentVolumeClaimName: data }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: restored, namespace: default }
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fake
  dataSource: { apiGroup: ${snapshotGroup}, kind: VolumeSnapshot, name: backup }
  resources: { requests: { storage: 2Gi } }
`;

test("a VolumeSnapshot becomes a snapshot, a claim is restored from it, and both are deleted [N22 S10]", async () => {
  const kubectl = createKubectl(cluster.kubeconfig, cluster.folder);
  const definitions = [
    definitionOf("VolumeSnapshot", "Namespaced"),
    definitionOf("VolumeSnapshotContent", "Cluster"),
    definitionOf("VolumeSnapshotClass", "Cluster"),
  ];
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: definitions });
  await kubectl("apply", "-f", cluster.file("definitions.json", list));
  for (const { metadata } of definitions)
    await kubectl("wait", "--for=condition=Established", `crd/${metadata.name}`, "--timeout=60s");
  const running = await startManager();
  cluster.cloud.machines.add("worker-1");
  await cluster.join("worker-1");
  await cluster.initialized("worker-1");
  await kubectl("apply", "-f", cluster.file("objects.yaml", objects));
  await cluster.until("the claim is bound", async () => (await claim()).status?.phase === "Bound");

  await kubectl("apply", "-f", cluster.file("snapshots.yaml", snapshotObjects));
  const phase = () => kubectl("get", "pvc", "restored", "-o", "jsonpath={.status.phase}");
  await cluster.until("the restored claim is bound", async () => (await phase()) === "Bound");
  const [snapshot] = cluster.cloud.snapshots.list();
  const source = cluster.cloud.volumes.list().find(({ id }) => id === snapshot?.volume);
  expect(source?.name).toBe(`pvc-${(await claim()).metadata.uid}`);
  expect(cluster.cloud.volumes.list()).toHaveLength(2);
  const described = await kubectl("describe", "volumesnapshot", "backup");
  expect(described).toMatch(/Ready To Use: +true/);
  for (const reason of ["CreatingSnapshot", "SnapshotCreated", "SnapshotReady"])
    expect(described).toContain(reason);

  await kubectl("delete", "volumesnapshot", "backup");
  await cluster.until("the snapshot is deleted", () => cluster.cloud.snapshots.list().length === 0);
  expect(await kubectl("get", "volumesnapshotcontents", "-o", "name")).toBe("");
  await kubectl("delete", "pvc", "data", "restored");
  await cluster.until("the volumes are deleted", () => cluster.cloud.volumes.list().length === 0);
  expect(running.output()).not.toMatch(/\b403\b|permission missing/);
});
