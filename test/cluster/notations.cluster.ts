// Names and addresses that API servers accept or used to accept: Services whose names begin with a
// digit, and objects from before Kubernetes 1.36 whose addresses and ranges have leading zeros.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { type BalancedServices, balancedServices } from "./rig/balanced-services.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import { createKubectl } from "./rig/kubectl.ts";

/** Locked since 1.37, and off in 1.35. */
const relaxedNames = "RelaxedServiceNameValidation=true";

/** A separate control plane, because it is restarted with other feature gates. */
let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane({ apiServerFlags: [`--feature-gates=${relaxedNames}`] });
});
afterAll(async () => {
  await plane.stop();
});
let cluster: Cluster;
let services: BalancedServices;
beforeEach(async () => {
  cluster = await openCluster(plane.kubeconfig);
  services = balancedServices(cluster);
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

test("a Service whose name begins with a digit gets a load balancer, which is deleted with the Service [F26 F27]", async () => {
  await services.target("worker-1");
  cluster.manager({ flags: ["--leader-elect=false"] });
  await services.create("1shop");
  await services.served("1shop");
  await services.delete("1shop");
  await cluster.until("the deletion", async () => (await services.get("1shop")) === undefined);
  expect(cluster.cloud.balancers.list()).toEqual([]);
});

test("reads addresses and ranges with leading zeros as decimal, and leaves them unchanged if nothing changes [F26 F58]", async () => {
  const restart = async (isStrict: boolean): Promise<void> => {
    await plane.killServer();
    await plane.startServer([`--feature-gates=StrictIPCIDRValidation=${isStrict},${relaxedNames}`]);
  };
  await restart(false);
  const { id } = cluster.cloud.machines.add("worker-1");
  const podCIDR = "010.244.001.0/24";
  await cluster.join("worker-1", { providerID: `fake://${id}`, taints: [], podCIDR, podCIDRs: [podCIDR] });
  await services.create("old", { loadBalancerSourceRanges: ["010.001.0.0/16"] });
  const flags = ["--leader-elect=false", "--cluster-cidr=10.244.0.0/16"];
  const first = cluster.manager({ flags });
  const { balancer } = await services.served("old");
  expect(balancer.sources).toEqual(["10.1.0.0/16"]);
  await cluster.until("the route", () => cluster.cloud.routes.list().length === 1);
  expect(cluster.cloud.routes.list()).toMatchObject([{ destination: "10.244.1.0/24", machine: id }]);
  first.signal("SIGTERM");
  await first.exited;

  const spelled = balancer.ip
    .split(".")
    .map((octet) => octet.padStart(3, "0"))
    .join(".");
  const kubectl = createKubectl(cluster.kubeconfig, cluster.folder);
  const status = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip: spelled }] } } });
  await kubectl("patch", "service", "old", "--subresource=status", "--type=merge", `--patch=${status}`);
  const before = await services.get("old");
  const calls = cluster.cloud.seen.length;

  await restart(true);
  cluster.manager({ flags });
  const { id: another } = cluster.cloud.machines.add("worker-2");
  await cluster.join("worker-2", { providerID: `fake://${another}`, taints: [] });
  await cluster.until("the second target", () => cluster.cloud.balancers.list()[0]?.targets.length === 2);
  const after = await services.get("old");
  expect(after?.status.loadBalancer?.ingress).toEqual(before?.status.loadBalancer?.ingress);
  const changes = cluster.cloud.seen.slice(calls).map(({ operation }) => operation);
  expect(changes.filter((operation) => !operation.startsWith("GET "))).toEqual(["PATCH /balancers/{id}"]);
});
