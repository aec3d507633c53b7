// The out-of-service taint with the controllers of a real kube-controller-manager: they evict the pod
// of a stopped machine, and release its volume, which belongs to another driver. The kubelet has not
// unmounted the volume; without the taint the controllers would wait 6 minutes.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { outOfServiceTaint } from "../../src/controllers/well-known.ts";
import type { VolumeAttachment } from "../../src/kube/objects.ts";
import { volumeAttachments } from "../../src/kube/resources.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import type { KeptProcess } from "./rig/kept-process.ts";
import { createKubectl, type Kubectl } from "./rig/kubectl.ts";

let plane: ControlPlane;
let controllerManager: KeptProcess;
let cluster: Cluster;
let kubectl: Kubectl;
beforeAll(async () => {
  plane = await startControlPlane();
  controllerManager = plane.startControllerManager([
    "persistentvolume-binder-controller",
    "persistentvolume-attach-detach-controller",
    // The eviction controller needs an index that only this controller creates.
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "pod-garbage-collector-controller",
    "serviceaccount-controller",
  ]);
});
afterAll(async () => {
  await controllerManager.stop();
  await plane.stop();
});
beforeEach(async () => {
  cluster = await openCluster(plane.kubeconfig);
  kubectl = createKubectl(cluster.kubeconfig, cluster.folder);
  // Pods need it.
  await cluster.until("the service account", async () => (await kubectl("get", "sa", "default")) !== "");
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

const driver = "csi.other.example";
const workers = ["worker-1", "worker-2", "worker-3", "worker-4", "worker-5"];
const [first = "", second = ""] = workers;

const objectsOn = (node: string): string => `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: { name: ${driver} }
spec: { attachRequired: true }
---
apiVersion: v1
kind: PersistentVolume
metadata: { name: data }
spec:
  capacity: { storage: 1Gi }
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  claimRef: { namespace: default, name: data }
  csi: { driver: ${driver}, volumeHandle: vol-1 }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data, namespace: default }
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ""
  volumeName: data
  resources: { requests: { storage: 1Gi } }
---
apiVersion: v1
kind: Pod
metadata: { name: app, namespace: default }
spec:
  nodeName: ${node}
  automountServiceAccountToken: false
  containers: [{ name: app, image: app, volumeMounts: [{ name: data, mountPath: /data }] }]
  volumes: [{ name: data, persistentVolumeClaim: { claimName: data } }]
`;

const attachments = async (): Promise<readonly VolumeAttachment[]> =>
  await cluster.api.list(volumeAttachments);

/** A pod on the Node whose volume is attached and in use: the test acts as the attacher and the kubelet. */
const attachedTo = async (node: string): Promise<void> => {
  await kubectl("annotate", "node", node, "volumes.kubernetes.io/controller-managed-attach-detach=true");
  await kubectl("apply", "-f", cluster.file("objects.yaml", objectsOn(node)));
  const name = await cluster.until("a VolumeAttachment", async () => (await attachments())[0]?.metadata.name);
  const patchStatus = async (what: string, object: string, status: object) =>
    kubectl("patch", what, object, "--subresource=status", "--type=merge", "-p", JSON.stringify({ status }));
  await patchStatus("volumeattachment", name, { attached: true });
  const inUse = `kubernetes.io/csi/${driver}^vol-1`;
  await patchStatus("node", node, { volumesInUse: [inUse] });
  await cluster.until("the volume to be attached", async () => {
    const attached = await kubectl("get", "node", node, "-o", "jsonpath={.status.volumesAttached[*].name}");
    return attached.includes(inUse);
  });
};

const joined = async (): Promise<void> => {
  for (const name of workers) {
    cluster.cloud.machines.add(name);
    await cluster.join(name);
  }
  for (const name of workers) {
    await cluster.initialized(name);
    await cluster.ready(name, true);
  }
};

const hasTaint = async (name: string): Promise<boolean> =>
  ((await cluster.node(name))?.spec.taints ?? []).some(({ key }) => key === outOfServiceTaint);

test("releases the volume of a pod on a stopped machine within a minute, and removes the taint when the machine starts [F106]", async () => {
  cluster.manager({ flags: ["--out-of-service-taint=enforce"] });
  await joined();
  await attachedTo(first);
  cluster.cloud.machines.setStatus(first, "stopped");
  await cluster.ready(first, false);
  await cluster.until("the release", async () => (await attachments()).length === 0, { seconds: 60 });
  expect(await hasTaint(first)).toBe(true);
  await cluster.until("the eviction", async () => (await kubectl("get", "pods", "-o", "name")) === "");

  cluster.cloud.machines.setStatus(first, "running");
  await cluster.ready(first, true);
  await cluster.until("no taint", async () => !(await hasTaint(first)));
  await cluster.until("the events", async () => {
    const reasons = (await cluster.eventsOf(first)).map(({ reason }) => reason);
    return ["NodeOutOfService", "NodeBackInService"].every((reason) => reasons.includes(reason));
  });
});

test("a cloud that shows all machines as stopped releases no volume and evicts no pod [F106]", async () => {
  cluster.manager({ flags: ["--out-of-service-taint=enforce", "--absence-confirmation=2s"] });
  await joined();
  await attachedTo(second);
  for (const name of workers) cluster.cloud.machines.setStatus(name, "stopped");
  await cluster.ready(second, false);
  await cluster.until("the hold", async () =>
    (await cluster.eventsOf(second)).some(({ reason }) => reason === "OutOfServiceHeld"),
  );
  const asked = () => cluster.cloud.seen.filter(({ operation }) => operation === "GET /machines").length;
  const before = asked();
  await cluster.until("two more answers", () => asked() >= before + 2);
  expect(await hasTaint(second)).toBe(false);
  expect(await attachments()).toHaveLength(1);
  expect(await kubectl("get", "pods", "-o", "jsonpath={.items[*].metadata.deletionTimestamp}")).toBe("");
  expect(await kubectl("get", "pods", "-o", "name")).toBe("pod/app");
});
