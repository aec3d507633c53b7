// The executable as an operating system service: with exactly the permissions of deploy/rbac.yaml, outside the cluster,
// notifying systemd, and stopped by signals.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { KubernetesObject } from "@kubernetes/client-node";
import { holderOf } from "../../src/kube/leader-election/lease-record.ts";
import { writeKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { openDatagramSocket } from "../support/datagram-socket.ts";
import { balancedServices } from "./rig/balanced-services.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import { startProcess } from "./rig/kept-process.ts";
import { createKubectl } from "./rig/kubectl.ts";

/** A separate control plane, because it issues certificates. */
let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(async () => {
  await plane.stop();
});
let cluster: Cluster;
beforeEach(async () => {
  cluster = await openCluster(plane.kubeconfig);
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly subjects?: readonly unknown[];
}
const user = "fairlead-on-a-host";

/** Creates the shipped roles, bound to a user instead of the service account. */
const grant = async (): Promise<void> => {
  const text = readFileSync(resolve(import.meta.dir, "../../deploy/rbac.yaml"), "utf8");
  for (const manifest of Bun.YAML.parse(text) as readonly Manifest[]) {
    if (!/^(Cluster)?Role(Binding)?$/.test(manifest.kind)) continue;
    const subject = { kind: "User", name: user, apiGroup: "rbac.authorization.k8s.io" };
    await cluster.api.objects.create({
      ...manifest,
      ...(manifest.subjects !== undefined && { subjects: [subject] }),
    } as KubernetesObject);
  }
};
const kubeconfig = (): string =>
  cluster.file(
    "kubeconfig",
    writeKubeconfig(plane.ca, [{ name: "fairlead", server: plane.server, ...plane.issue(user, []) }]),
  );

test("the API server accepts the manifests in deploy/ with strict validation [S7]", async () => {
  const kubectl = createKubectl(cluster.kubeconfig, cluster.folder);
  // Pods need the account, and no kube-controller-manager creates it.
  await kubectl("create", "serviceaccount", "default", "--namespace=kube-system");
  for (const name of ["rbac.yaml", "static-pod.yaml", "daemonset.yaml"]) {
    const manifest = resolve(import.meta.dir, "../../deploy", name);
    // Strict: unknown fields are errors.
    const output = await kubectl("create", "--dry-run=server", "--validate=strict", "-f", manifest);
    expect(output).toContain("created (server dry run)");
  }
});

test("the shipped roles suffice for a leader outside the cluster to initialize and delete Nodes [F74 F79]", async () => {
  await grant();
  const manager = cluster.manager({
    kubeconfig: kubeconfig(),
    flags: [
      "--leader-elect-resource-name=cloud-controller-manager",
      "--absence-confirmation=2s",
      "--secure-port=0",
    ],
  });
  for (const name of ["rights-1", "rights-2"]) {
    cluster.cloud.machines.add(name);
    await cluster.join(name);
    await cluster.initialized(name);
  }
  await cluster.until("the event of the node", async () =>
    (await cluster.eventsOf("rights-1")).some(({ reason }) => reason === "Synced"),
  );
  cluster.cloud.machines.setStatus("rights-1", "stopped");
  await cluster.ready("rights-1", false);
  await cluster.until("the shutdown taint", async () =>
    ((await cluster.node("rights-1"))?.spec.taints ?? []).some(({ key }) => key.endsWith("/shutdown")),
  );
  cluster.cloud.machines.remove("rights-2");
  await cluster.ready("rights-2", false);
  await cluster.until("the deletion of the Node", async () => (await cluster.node("rights-2")) === undefined);
  manager.signal("SIGTERM");
  expect(await manager.exited).toBe(0);
  // Matches whole words, because 403 may be part of the process id.
  expect(manager.output()).not.toMatch(/\b403\b|forbidden/);
});

test("systemd is notified of the start, the watchdog and the stop, and its credentials are read [F74 N16]", async () => {
  const path = `${cluster.folder}/notify`;
  using listener = openDatagramSocket(path);
  const messages: string[] = [];
  const receives = (text: string) =>
    cluster.until(`the notification ${text}`, () => {
      messages.push(...listener.read());
      return messages.some((message) => message.includes(text));
    });
  cluster.file("kubeconfig", readFileSync(plane.kubeconfig, "utf8"));
  cluster.file("FAKE_ENDPOINT", "http://127.0.0.1:9\n");
  const executable = process.env["FAIRLEAD_TEST_EXECUTABLE"] ?? "";
  const manager = startProcess(
    [executable, `--leader-elect-resource-name=${cluster.leaseName}`, "--secure-port=0"],
    {
      cwd: cluster.folder,
      env: { NOTIFY_SOCKET: path, WATCHDOG_USEC: "400000", CREDENTIALS_DIRECTORY: cluster.folder },
    },
  );
  try {
    await receives("READY=1");
    await receives(`STATUS=Leader of Lease ${cluster.leaseName}`);
    const watchdogCount = () => messages.filter((message) => message === "WATCHDOG=1").length;
    const before = watchdogCount();
    await cluster.until("watchdog notifications", () => {
      messages.push(...listener.read());
      return watchdogCount() > before + 2;
    });
    // A paused process sends nothing, so systemd restarts it.
    manager.signal("SIGSTOP");
    listener.read();
    await Bun.sleep(1000);
    expect(listener.read()).toEqual([]);
    manager.signal("SIGCONT");
    manager.signal("SIGTERM");
    expect(await manager.exited).toBe(0);
    await receives("STOPPING=1");
  } finally {
    await manager.stop(1);
  }
  const lease = await cluster.lease();
  expect(lease && holderOf(lease)).toBe("");
});

test.each([
  ["SIGTERM", 143],
  ["SIGINT", 130],
] as const)("a second %s ends a draining process with exit code %p [N16]", async (name, code) => {
  // The request hangs, so the reconcile is in progress during the drain.
  cluster.cloud.faults.add({ kind: "hang", operation: "POST /balancers", calls: 1000 });
  const manager = cluster.manager({ flags: ["--drain-timeout=60s", "--secure-port=0"] });
  await cluster.until("the replica to lead", () => manager.output().includes("Acquired leadership"));
  await balancedServices(cluster).create(`slow-${name.toLowerCase()}`);
  await cluster.until("the request for the load balancer", () =>
    cluster.cloud.seen.some(({ operation }) => operation === "POST /balancers"),
  );
  manager.signal(name);
  await Bun.sleep(500);
  expect(manager.exitCode()).toBeNull();
  manager.signal(name);
  expect(await manager.exited).toBe(code);
});
