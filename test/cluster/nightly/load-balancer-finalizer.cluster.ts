// The test of Kubernetes' own end-to-end suite about the finalizer of load balancers. It needs neither pods nor traffic.

import { expect, test } from "bun:test";
import { nodes } from "../../../src/kube/resources.ts";
import { kubernetesTests } from "../kubernetes-e2e/build.ts";
import { balancedServices, changesIn } from "../rig/balanced-services.ts";
import { openCluster } from "../rig/cluster.ts";
import { startControlPlane } from "../rig/control-plane.ts";
import { startProcess } from "../rig/kept-process.ts";

const suite = kubernetesTests();

test.skipIf(suite === undefined)(
  "Kubernetes' own test finds the finalizer on a Service exactly while it has a load balancer",
  async () => {
    const plane = await startControlPlane();
    try {
      plane.startControllerManager([
        "namespace-controller",
        "root-ca-certificate-publisher-controller",
        "serviceaccount-controller",
      ]);
      await using cluster = await openCluster(plane.kubeconfig);
      await balancedServices(cluster).target("target-1");
      await cluster.ready("target-1", true);
      // The API server sets a taint that only the controller of node conditions removes.
      const untainted = {
        contentType: "application/merge-patch+json",
        body: { spec: { taints: null } },
      } as const;
      await cluster.api.patch(nodes, { name: "target-1" }, untainted);
      cluster.manager();
      const tests = startProcess([
        ...[suite ?? "", `--kubeconfig=${plane.kubeconfig}`, "--provider=skeleton", "--ginkgo.no-color"],
        "--ginkgo.focus=should handle load balancer cleanup finalizer for service",
      ]);
      const code = await tests.exited;
      expect(tests.output()).toContain("Ran 1 of ");
      expect([code, tests.output().slice(code === 0 ? Number.POSITIVE_INFINITY : -6000)]).toEqual([0, ""]);
      expect(cluster.cloud.balancers.list()).toEqual([]);
      expect(changesIn(cluster)).toEqual([
        "POST /balancers",
        "DELETE /balancers/{id}",
        "POST /balancers",
        "DELETE /balancers/{id}",
      ]);
    } finally {
      await plane.stop();
    }
  },
  900_000,
);
