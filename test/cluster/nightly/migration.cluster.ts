// The migration from the cloud controllers of kube-controller-manager: a real one holds the shared Lease, and
// Fairlead does not run the migrated controllers until that Lease is free.

import { expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { holderOf } from "../../../src/kube/leader-election/lease-record.ts";
import { leases } from "../../../src/kube/resources.ts";
import { orUndefined } from "../../support/official-client.ts";
import { balancedServices } from "../rig/balanced-services.ts";
import { openCluster } from "../rig/cluster.ts";
import { startProcess } from "../rig/kept-process.ts";

const election = [
  "--leader-elect-lease-duration=5s",
  "--leader-elect-renew-deadline=4s",
  "--leader-elect-retry-period=500ms",
  "--enable-leader-migration",
];

test("the migrated controllers start when kube-controller-manager releases the shared Lease, and never before [F68]", async () => {
  await using cluster = await openCluster();
  const { api, cloud, until, kubeconfig } = cluster;
  const migration = { namespace: "kube-system", name: "cloud-provider-extraction-migration" };
  const holder = async (): Promise<string> => {
    const lease = await orUndefined(api.get(leases, migration));
    return lease === undefined ? "" : holderOf(lease);
  };
  const old = startProcess([
    join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kube-controller-manager"),
    `--kubeconfig=${kubeconfig}`,
    // With leader migration, kube-controller-manager needs its token controller, which needs a key.
    "--controllers=namespace-controller,serviceaccount-token-controller",
    `--service-account-private-key-file=${join(dirname(kubeconfig), "sa.key")}`,
    "--secure-port=0",
    ...election,
  ]);
  try {
    const first = await until(
      "kube-controller-manager to hold the shared Lease",
      async () => (await holder()) || undefined,
      {
        explain: () => old.output().slice(-4000),
      },
    );
    const services = balancedServices(cluster);
    const manager = cluster.manager({ flags: election });
    // The node controller is not migrated.
    cloud.machines.add("joins");
    await cluster.join("joins");
    await cluster.initialized("joins");
    await services.create("waits");
    await until("the replica to be on standby", () => manager.output().includes(`${first} is the leader`));
    // Longer than the Lease duration: a manager that ignored the Lease would have taken it.
    await Bun.sleep(6000);
    expect(await holder()).toBe(first);
    expect(cloud.balancers.list()).toEqual([]);
    await old.stop();
    await services.served("waits");
    expect(await holder()).not.toBe(first);
  } finally {
    await old.stop();
    await orUndefined(api.delete(leases, migration));
  }
});
