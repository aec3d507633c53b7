// `doctor` with a real control plane: with a healthy manager, and with several faults at once.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import type { Diagnosis } from "../../src/inspect/doctor/diagnose.ts";
import { toMicroTime } from "../../src/kube/objects.ts";
import { certificateSigningRequests, leases } from "../../src/kube/resources.ts";
import { writeKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { signingRequest } from "../support/create-signing-request.ts";
import { OfficialClient } from "../support/official-client.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import { createKubectl, type Kubectl } from "./rig/kubectl.ts";

let plane: ControlPlane;
let cluster: Cluster;
let kubectl: Kubectl;
beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(async () => {
  await plane.stop();
});
beforeEach(async () => {
  cluster = await openCluster(plane.kubeconfig);
  kubectl = createKubectl(cluster.kubeconfig, cluster.folder);
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

const doctor = async (...flags: readonly string[]) => {
  const child = cluster.manager({ flags: ["doctor", "--output=json", ...flags] });
  const code = await child.exited;
  // stdout is one JSON document; nothing is written to stderr.
  const { checks } = JSON.parse(child.output()) as Diagnosis;
  const findings = checks.flatMap((check) => check.findings);
  return { code, findings, reasons: findings.map(({ reason }) => reason).toSorted() };
};

/** The resource versions of all objects of these kinds. */
const versions = () =>
  kubectl(
    "get",
    "nodes,leases,services,csr,events,pods,daemonsets",
    "-A",
    "-o=jsonpath={.items[*].metadata.resourceVersion}",
  );

const apply = (name: string, object: object) =>
  kubectl("apply", "--server-side", "-f", cluster.file(name, JSON.stringify(object)));

test("doctor finds no problem with a healthy manager, leaves its permissions unchecked, and changes nothing [N7 S14]", async () => {
  cluster.cloud.machines.add("worker-1");
  await cluster.join("worker-1");
  const manager = cluster.manager();
  await cluster.initialized("worker-1");
  await cluster.until("the events of the start", async () => {
    const reasons = await kubectl("get", "events", "-A", "-o=jsonpath={.items[*].reason}");
    return ["LeaderElection", "Synced"].every((reason) => reasons.includes(reason));
  });
  const before = await versions();
  // The administrator of the cluster runs the command, and no workload names the manager's account.
  const { code, reasons } = await doctor();
  expect({ code, reasons }).toEqual({ code: 4, reasons: ["PermissionsUnchecked"] });
  const withoutLeases = (text: string) => text.split(" ").length;
  expect(withoutLeases(await versions())).toBe(withoutLeases(before));
  await manager.stop();
});

test("doctor finds several faults at once, and changes nothing [N7 S14]", async () => {
  // Without kube-controller-manager there is no default service account, which pods need.
  await kubectl("create", "serviceaccount", "default", "--namespace=kube-system");
  await apply("kcm.json", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "kube-controller-manager-m1",
      namespace: "kube-system",
      labels: { component: "kube-controller-manager" },
    },
    spec: {
      containers: [
        { name: "kcm", image: "kcm", command: ["kube-controller-manager", "--cloud-provider=aws"] },
      ],
    },
  });
  await apply("workload.json", {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "fake-cloud-controller-manager", namespace: "kube-system" },
    spec: {
      selector: { matchLabels: { app: "ccm" } },
      template: {
        metadata: { labels: { app: "ccm" } },
        spec: { serviceAccountName: "fairlead", containers: [{ name: "ccm", image: "ccm" }] },
      },
    },
  });
  // A kubelet without --cloud-provider=external registers without the taint.
  await cluster.join("worker-1", { taints: [] });
  const user = plane.issue("system:node:worker-1", ["system:nodes"]);
  const kubelet = OfficialClient.open(
    cluster.file("kubelet", writeKubeconfig(plane.ca, [{ name: "kubelet", server: plane.server, ...user }])),
  );
  await kubelet.create(certificateSigningRequests, {
    metadata: { name: "csr-worker-1" },
    spec: {
      request: btoa(signingRequest({ commonName: "system:node:worker-1", dnsNames: ["worker-1"] })),
      signerName: "kubernetes.io/kubelet-serving",
      usages: ["digital signature", "server auth"],
    },
  });
  cluster.cloud.faults.add({ kind: "status", operation: "GET /machines", status: 401, calls: 1000 });
  // Another manager holds and renews the Lease.
  const now = () => toMicroTime(Date.now());
  const spec = () => ({
    holderIdentity: "m1_a",
    leaseDurationSeconds: 15,
    renewTime: now(),
    acquireTime: now(),
  });
  const key = { name: cluster.leaseName, namespace: "kube-system" };
  await cluster.api.create(leases, { metadata: key, spec: spec() });
  let isRenewing = true;
  const renewing = (async () => {
    while (isRenewing) {
      await Bun.sleep(500);
      await cluster.api.patch(leases, key, {
        contentType: "application/merge-patch+json",
        body: { spec: spec() },
      });
    }
  })();

  const { code, findings, reasons } = await doctor();
  isRenewing = false;
  await renewing;
  expect(code).toBe(3);
  expect(reasons).toEqual([
    "CloudAuthFailed",
    "ControlPlaneRunsCloudLoops",
    "KubeletWithoutExternalCloud",
    "NoHostNetwork",
    "OptionalPermissionMissing",
    "OtherManagerLeads",
    "PermissionMissing",
    "ServingCertificatesWaiting",
    "TolerationMissing",
    "TolerationMissing",
    "WorkloadNeedsClusterDNS",
    "WorkloadNotReady",
  ]);
  const missing = findings.find(({ reason }) => reason === "PermissionMissing");
  expect(missing?.text).toStartWith("system:serviceaccount:kube-system:fairlead lacks ");
  expect((await cluster.node("worker-1"))?.spec.providerID ?? "").toBe("");
  expect(await kubectl("get", "csr", "csr-worker-1", "-o=jsonpath={.status}")).toBe("{}");

  // Only the roles that the command rbac prints are missing.
  const printed = cluster.manager({ flags: ["rbac"] });
  await printed.exited;
  await kubectl("apply", "-f", cluster.file("rbac.yaml", printed.output()));
  const after = await doctor();
  expect(after.reasons).not.toContain("PermissionMissing");
  expect(after.reasons).not.toContain("OptionalPermissionMissing");
});

test("doctor reports what its kubeconfig may not read as unchecked [N7]", async () => {
  const user = plane.issue("guest", []);
  const kubeconfig = cluster.file(
    "guest",
    writeKubeconfig(plane.ca, [{ name: "guest", server: plane.server, ...user }]),
  );
  const child = cluster.manager({ kubeconfig, flags: ["doctor"] });
  expect(await child.exited).toBe(3);
  expect(child.output()).toContain("guest lacks ");
  for (const what of ["the Nodes", "the pods of kube-system", "the DaemonSets and Deployments"])
    expect(child.output()).toContain(`Cannot read ${what}: The API server returned 403`);
});
