import { expect, test } from "bun:test";
import { configz } from "../../../src/app/endpoints/configz.ts";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { createMigration, defaultMigration } from "../../../src/app/leadership/leader-migration.ts";

test("configz contains the pod CIDR and sync settings, and no leader migration by default", () => {
  const { flags } = readFlags([]);
  const { Generic, KubeCloudShared } = configz(flags, "fake", undefined)[
    "cloudcontrollermanager.config.k8s.io"
  ];
  expect(Generic.LeaderMigration).toEqual({ leaderName: "", resourceLock: "", controllerLeaders: null });
  expect(KubeCloudShared).toMatchObject({
    AllocateNodeCIDRs: false,
    CIDRAllocatorType: "RangeAllocator",
    NodeSyncPeriod: "0s",
  });
});

test("configz contains the settings of the node lifecycle controller where upstream has them since 1.37", () => {
  const { flags } = readFlags(["--concurrent-node-lifecycle-syncs=3"]);
  const { KubeCloudShared, NodeLifecycleController } = configz(flags, "fake", undefined)[
    "cloudcontrollermanager.config.k8s.io"
  ];
  expect(NodeLifecycleController).toEqual({ NodeMonitorPeriod: "5s", ConcurrentNodeLifecycleSyncs: 3 });
  expect(Object.keys(KubeCloudShared)).not.toContain("NodeMonitorPeriod");
});

test("configz contains the effective leader migration", () => {
  const { flags } = readFlags([
    "--enable-leader-migration",
    "--allocate-node-cidrs",
    "--node-sync-period=1m",
  ]);
  const { Generic, KubeCloudShared } = configz(flags, "fake", createMigration(defaultMigration))[
    "cloudcontrollermanager.config.k8s.io"
  ];
  expect(Generic).toMatchObject({
    LeaderMigrationEnabled: true,
    LeaderMigration: {
      leaderName: "cloud-provider-extraction-migration",
      resourceLock: "leases",
      controllerLeaders: [
        { name: "route-controller", component: "*" },
        { name: "service-controller", component: "*" },
        { name: "cloud-node-lifecycle-controller", component: "*" },
      ],
    },
  });
  expect(KubeCloudShared).toMatchObject({ AllocateNodeCIDRs: true, NodeSyncPeriod: "1m0s" });
});
