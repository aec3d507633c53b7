// A real kubelet mounts a volume of the simulated cloud into pods: the DaemonSet that `manifests --as node-volumes` prints runs
// in a container with the programs of this machine, and the volume's disk is a loop device.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import type { KeptProcess } from "./rig/kept-process.ts";
import { createKubectl, type Kubectl } from "./rig/kubectl.ts";
import { type Kubelet, missingForKubelet, startKubelet, withLibraries } from "./rig/kubelet.ts";

const missing = missingForKubelet();
if (missing !== undefined) process.stdout.write(`SKIPPED the kubelet: ${missing}\n`);

interface Printed {
  readonly kind: string;
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly [{ readonly env: object[] }] } };
  };
}

const node = "kubelet-1";
const executable = process.env["FAIRLEAD_TEST_EXECUTABLE"] ?? "";
const device = "/dev/disk/by-id/fake-v1";

describe.skipIf(missing !== undefined)("a kubelet", () => {
  let plane: ControlPlane;
  let controllers: KeptProcess;
  let cluster: Cluster;
  let kubelet: Kubelet;
  let kubectl: Kubectl;
  let loop = "";
  let machineID = "";
  const folder = mkdtempSync(join(tmpdir(), "volume-"));
  const image = join(folder, "disk");

  const apply = (...objects: readonly object[]) =>
    kubectl(
      "apply",
      "-f",
      cluster.file(
        `${crypto.randomUUID()}.json`,
        JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }),
      ),
    );
  const wait = (what: string, probe: () => Promise<boolean>) =>
    cluster.until(what, probe, { seconds: 180, everyMs: 200, explain: () => kubelet.output().slice(-4000) });

  beforeAll(async () => {
    plane = await startControlPlane();
    controllers = plane.startControllerManager([
      ...["daemonset-controller", "serviceaccount-controller", "persistentvolume-binder-controller"],
      ...["persistentvolume-attach-detach-controller", "persistentvolumeclaim-protection-controller"],
    ]);
    cluster = await openCluster(plane.kubeconfig);
    kubectl = createKubectl(plane.kubeconfig, cluster.folder);
    machineID = cluster.cloud.machines.add(node).id;
    kubelet = await startKubelet(plane, node);
    cluster.manager({ flags: ["--controllers=*,volume"] });
    expect(Bun.spawnSync(["truncate", "-s", "1G", image]).exitCode).toBe(0);
    loop = Bun.spawnSync(["losetup", "-f", "--show", image]).stdout.toString().trim();
    mkdirSync("/dev/disk/by-id", { recursive: true });
    rmSync(device, { force: true });
    symlinkSync(loop, device);
  });
  afterAll(async () => {
    await kubectl?.("delete", "pod", "--all", "--all-namespaces", "--grace-period=1", "--timeout=30s").catch(
      () => undefined,
    );
    await kubelet?.[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
    await controllers?.stop();
    await plane?.stop();
    rmSync(device, { force: true });
    if (loop !== "") Bun.spawnSync(["losetup", "-d", loop]);
    rmSync(folder, { recursive: true, force: true });
  });

  const pod = (name: string, command: string) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      // There is no scheduler and no pod network.
      nodeName: node,
      hostNetwork: true,
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      tolerations: [{ operator: "Exists" }],
      securityContext: { fsGroup: 2000 },
      containers: [
        {
          name: "main",
          image: kubelet.shellImage,
          imagePullPolicy: "Never",
          command: ["/bin/sh", "-c", command],
          volumeMounts: [{ name: "data", mountPath: "/data" }],
        },
      ],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }],
    },
  });
  const phase = (name: string) => kubectl("get", "pod", name, "-o", "jsonpath={.status.phase}");

  test("a kubelet registers node-volumes, which its DaemonSet runs with the programs of the machine [S10]", async () => {
    const program = "usr/local/bin/fairlead";
    const container = await kubelet.addImage("fairlead", withLibraries(executable, program), [`/${program}`]);
    const values = [`--set=image=${container}`, `--set=kubelet-folder=${kubelet.folder}`];
    const printed = Bun.spawnSync([executable, "manifests", "--as=node-volumes", "--v=4", ...values]);
    expect(printed.stderr.toString()).toBe("");
    const { hostname, port } = new URL(plane.server);
    const objects = parseAllDocuments(printed.stdout.toString()).map(
      (document) => document.toJS() as Printed,
    );
    for (const { kind, spec } of objects) {
      if (kind !== "DaemonSet") continue;
      // There is no Service network in this cluster.
      const server = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
      for (const [name, value] of Object.entries(server))
        spec.template.spec.containers[0].env.push({ name, value });
    }
    await kubectl(
      "create",
      "configmap",
      "kube-root-ca.crt",
      "-n",
      "kube-system",
      `--from-file=ca.crt=${cluster.file("ca.crt", plane.ca)}`,
    );
    await apply(...objects);
    await cluster.initialized(node);
    const name = await cluster.until("the pod of the DaemonSet", async () => {
      const found = await kubectl(
        "get",
        "pods",
        "-n",
        "kube-system",
        "-o",
        "jsonpath={.items[*].metadata.name}",
      );
      return found !== "" && found;
    });
    const binding = {
      apiVersion: "v1",
      kind: "Binding",
      metadata: { name },
      target: { apiVersion: "v1", kind: "Node", name: node },
    };
    const path = `/api/v1/namespaces/kube-system/pods/${name}/binding`;
    await kubectl("create", "--raw", path, "-f", cluster.file("binding.json", JSON.stringify(binding)));
    await wait("the registration of the driver", async () =>
      (await kubectl("get", "csinode", node, "-o", "jsonpath={.spec.drivers[*].name}")).includes(
        "csi.fake.example",
      ),
    );
    await wait(
      "a DaemonSet that is ready",
      async () =>
        (await kubectl(
          "get",
          "daemonset",
          "-n",
          "kube-system",
          "-o",
          "jsonpath={.items[0].status.numberReady}",
        )) === "1",
    );
  }, 400_000);

  test("a kubelet mounts the volume of a claim into a pod, grows it, and gives its data to the next pod [S10]", async () => {
    const type = Bun.which("mkfs.xfs") === null ? "ext4" : "xfs";
    await apply(
      {
        apiVersion: "storage.k8s.io/v1",
        kind: "StorageClass",
        metadata: { name: "grows" },
        provisioner: "csi.fake.example",
        allowVolumeExpansion: true,
        volumeBindingMode: "WaitForFirstConsumer",
        parameters: { "csi.storage.k8s.io/fstype": type },
      },
      {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        // Replaces the scheduler.
        metadata: {
          name: "data",
          namespace: "default",
          annotations: { "volume.kubernetes.io/selected-node": node },
        },
        spec: {
          storageClassName: "grows",
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: "1Gi" } },
        },
      },
      pod("writer", "echo precious > /data/file; sync; stat -c 'group %g' /data/file; exec sleep 100000"),
    );
    await wait("the first pod to write", async () => kubelet.logOf("writer").includes("group 2000"));
    expect(cluster.cloud.volumes.list()).toMatchObject([{ id: "v1", size: 1, machine: machineID }]);

    // Without the capability, the kernel cannot grow a mounted ext4.
    if (type === "xfs") {
      const spec = { resources: { requests: { storage: "2Gi" } } };
      await kubectl("patch", "pvc", "data", "--type=merge", "-p", JSON.stringify({ spec }));
      await wait("the volume to grow in the cloud", async () => cluster.cloud.volumes.list()[0]?.size === 2);
      expect(Bun.spawnSync(["truncate", "-s", "2G", image]).exitCode).toBe(0);
      expect(Bun.spawnSync(["losetup", "-c", loop]).exitCode).toBe(0);
      await wait(
        "the file system to grow",
        async () =>
          (await kubectl("get", "pvc", "data", "-o", "jsonpath={.status.capacity.storage}")) === "2Gi",
      );
    }
    await kubectl("delete", "pod", "writer", "--grace-period=1");
    await wait("the volume to be detached", async () => cluster.cloud.volumes.list()[0]?.machine === null);
    await apply(pod("reader", "cat /data/file; df -k /data"));
    await wait("the second pod to end", async () => (await phase("reader")) === "Succeeded");
    expect(kubelet.logOf("reader")).toContain("precious");
    const [, kilobytes = "0"] = / (\d+) +\d+ +\d+ +\d+% \/data/.exec(kubelet.logOf("reader")) ?? [];
    if (type === "xfs") expect(Number(kilobytes)).toBeGreaterThan(1.8 * 2 ** 20);

    await kubectl("delete", "pod", "reader", "--grace-period=1");
    await kubectl("delete", "pvc", "data");
    await wait("the volume to be deleted", async () => cluster.cloud.volumes.list().length === 0);
  }, 400_000);
});
