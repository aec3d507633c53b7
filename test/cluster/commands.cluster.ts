// The commands of the executable with a real API server: as a kubectl plugin, with a running manager and offline.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { services } from "../../src/kube/resources.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import { freePort } from "./rig/free-port.ts";
import { startProcess } from "./rig/kept-process.ts";

let plane: ControlPlane;
let cluster: Cluster;
beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(async () => {
  await plane.stop();
});
beforeEach(async () => {
  cluster = await openCluster(plane.kubeconfig);
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

/** Runs `kubectl fairlead …` with the executable as kubectl-fairlead in PATH. */
const kubectlFairlead = async (...args: readonly string[]) => {
  const { folder, kubeconfig, endpoint, leaseName } = cluster;
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const link = join(bin, "kubectl-fairlead");
  if (!(await Bun.file(link).exists())) symlinkSync(process.env["FAIRLEAD_TEST_EXECUTABLE"] ?? "", link);
  const kubectl = join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kubectl");
  const own = [`--config-set=endpoint=${endpoint}`, `--leader-elect-resource-name=${leaseName}`];
  const child = startProcess([kubectl, "fairlead", ...args, ...own], {
    cwd: folder,
    env: { PATH: `${bin}:${process.env["PATH"] ?? ""}`, KUBECONFIG: kubeconfig },
  });
  return { code: await child.exited, output: child.output() };
};

const createService = (name: string, annotations: Readonly<Record<string, string>> = {}) =>
  cluster.api.create(services, {
    metadata: { name, namespace: "default", annotations },
    spec: { type: "LoadBalancer", ports: [{ port: 80, protocol: "TCP" }], selector: { app: name } },
    status: {},
  });

test("kubectl fairlead explain queries the leader, and shows why a Service is pending [F91 N7]", async () => {
  const port = await freePort();
  const folder = join(cluster.folder, "certificates");
  cluster.manager({ flags: [`--secure-port=${port}`, `--cert-dir=${folder}`, "--bind-address=127.0.0.1"] });
  cluster.cloud.machines.add("worker-1");
  await cluster.join("worker-1");
  await cluster.initialized("worker-1");
  await createService("wrong", { "balancer.fake.example/algorithm": "fastest" });
  const ca = join(folder, "cloud-controller-manager-ca.crt");
  const server = [`--server=https://localhost:${port}`, `--server-ca-file=${ca}`];
  const explained = await cluster.until("the explanation", async () => {
    const answer = await kubectlFairlead("explain", "service", "wrong", ...server);
    return answer.output.includes("InvalidAnnotation") && answer;
  });
  expect(explained.code).toBe(3);
  expect(explained.output).toStartWith(
    "Service default/wrong: problem\n  It has no address yet, and gets none until this is corrected. ",
  );
  expect(explained.output.replaceAll(/\s+/g, " ")).toContain(
    'algorithm must be one of round-robin, least-connections, got "fastest".',
  );
  expect(explained.output).toEndWith(", the leader\n");
  const node = await kubectlFairlead("explain", "node", "worker-1", ...server);
  expect(node.output).toContain("  Instance:    worker-1 (1), running");
  expect(node.output).toContain("because the Node joined");
  const untrusted = await kubectlFairlead(
    "explain",
    "node",
    "worker-1",
    `--server=https://localhost:${port}`,
  );
  expect([untrusted.code, untrusted.output]).toEqual([1, expect.stringContaining("set --server-ca-file")]);
});

test("kubectl fairlead explain answers without a running manager, and changes nothing [F91 N7]", async () => {
  cluster.cloud.machines.add("worker-1");
  await cluster.join("worker-1");
  await createService("web");
  const { code, output } = await kubectlFairlead("explain", "svc", "web");
  expect([code, output]).toEqual([3, expect.stringContaining("Fairlead would create balancer")]);
  const typo = await kubectlFairlead("explain", "svc", "wbe");
  expect([typo.code, typo.output]).toEqual([1, expect.stringContaining("did you mean default/web?")]);
  expect(cluster.cloud.balancers.list()).toEqual([]);
  expect(await cluster.lease()).toBeUndefined();
  expect((await cluster.node("worker-1"))?.spec.providerID ?? "").toBe("");
  const help = await kubectlFairlead();
  expect([help.code, help.output]).toEqual([
    0,
    expect.stringContaining("  kubectl fairlead [command] [flags]"),
  ]);
});

test("kubectl completes the words of the plugin [F91 N7]", async () => {
  const bin = join(cluster.folder, "bin");
  mkdirSync(bin, { recursive: true });
  const executable = process.env["FAIRLEAD_TEST_EXECUTABLE"] ?? "";
  for (const name of ["kubectl-fairlead", "kubectl_complete-fairlead"])
    symlinkSync(executable, join(bin, name));
  const kubectl = join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kubectl");
  const complete = async (...words: readonly string[]) => {
    const env = { PATH: `${bin}:${process.env["PATH"] ?? ""}`, KUBECONFIG: cluster.kubeconfig };
    const child = startProcess([kubectl, "__complete", "fairlead", ...words], { cwd: cluster.folder, env });
    await child.exited;
    return child.output();
  };
  // kubectl writes lines about its search to stderr.
  expect(await complete("expl")).toMatch(/^explain\tExplain the state .*\n:4$/m);
  expect(await complete("explain", "ser")).toMatch(/^service\n:4$/m);
});

test("plan shows the changes of a start, the manager then makes them, and plan finds nothing afterwards [F76]", async () => {
  const plan = async () => {
    const child = cluster.manager({ flags: ["plan", "--configure-cloud-routes=false"] });
    return { code: await child.exited, output: child.output() };
  };
  cluster.cloud.machines.add("worker-1");
  await cluster.join("worker-1");
  await createService("web");
  const before = await plan();
  expect(before.code).toBe(3);
  expect(before.output).toContain("create balancer: for default/web: ports 80/TCP to");
  expect(before.output).toContain("    because the Node joined\n");
  expect([cluster.cloud.balancers.list(), await cluster.lease()]).toEqual([[], undefined]);
  const manager = cluster.manager({ flags: ["--configure-cloud-routes=false"] });
  await cluster.initialized("worker-1");
  await cluster.ready("worker-1", true);
  await cluster.until("the address", async () => {
    const { status } = await cluster.api.get(services, { name: "web", namespace: "default" });
    return (status.loadBalancer?.ingress ?? []).length > 0;
  });
  // Runs next to the manager.
  const after = await cluster.until("a plan without changes", async () => {
    const planned = await plan();
    return planned.code === 0 && planned;
  });
  expect(after.output).toBe("Plan: 1 Node and 1 Service of type LoadBalancer: no changes would be made.\n");
  await manager.stop();
});
