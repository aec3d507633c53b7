import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { testTitles } from "../support/test-titles.ts";

// Every row of upstream's tests of nodes, Services and routes has a test here under upstream's name and number. This
// fails when a row disappears or an upstream test is forgotten.

/** The number of rows of each upstream test. A test without numbers counts as one row. */
const catalog: Readonly<Record<string, number>> = {
  Test_syncNode: 22,
  Test_reconcileNodeLabels: 3,
  TestNodeAddressesChangeDetected: 5,
  TestNodeAddressesNotUpdate: 1,
  TestNodeAddressesNotUpdateV2: 1,
  TestGetInstanceMetadata: 6,
  TestUpdateNodeStatus: 1,
  Test_NodesDeleted: 6,
  Test_NodesShutdown: 9,
  Test_GetProviderID: 6,
  TestNewCloudNodeLifecycleController: 3,
  TestMonitorNodesMetrics: 1,
  TestUpdateNodeStatusReconcilesAdditionalLabels: 6,
  TestReconcileAdditionalLabelsReturnsEarly: 1,
  TestSyncLoadBalancerIfNeeded: 8,
  TestUpdateNodesInExternalLoadBalancer: 7,
  TestNodeChangesForStableNodeSetEnabled: 10,
  TestNodeChangesInExternalLoadBalancer: 5,
  TestNodesNotEqual: 3,
  TestProcessServiceCreateOrUpdate: 2,
  TestProcessServiceCreateOrUpdateK8sError: 2,
  TestSyncService: 2,
  TestProcessServiceDeletion: 3,
  TestNeedsCleanup: 4,
  TestSlowNodeSync: 1,
  TestNeedsUpdate: 15,
  TestServiceCache: 1,
  TestAddFinalizer: 2,
  TestRemoveFinalizer: 2,
  TestPatchStatus: 4,
  Test_respectsPredicates: 10,
  TestListWithPredicate: 3,
  Test_shouldSyncUpdatedNode_individualPredicates: 21,
  Test_shouldSyncUpdatedNode_compoundedPredicates: 27,
  TestServiceQueueDelay: 3,
  TestIsResponsibleForRoute: 1,
  TestReconcile: 17,
  TestHandleNodeUpdate: 4,
  TestUpdateNetworkingCondition: 8,
  TestUpdateNetworkingConditionWithCalicoScenario: 1,
  TestGetLoadBalancerSourceRanges: 4,
  TestAllowAll: 6,
  TestRequestsOnlyLocalTraffic: 7,
  TestNeedsHealthCheck: 5,
  TestHasLBFinalizer: 4,
  TestPatchService: 1,
  Test_getPatchBytes: 1,
  TestLoadBalancerStatusEqual: 9,
  TestAddToNodeAddresses: 4,
  TestGetNodeAddressesFromNodeIP: 14,
  TestTaintExists: 3,
  TestRemoveTaint: 3,
  TestDeleteTaint: 4,
};

/** Upstream's tests of the process and its libraries. Their rows have no numbers, so only their presence is checked. */
const ofTheProcess: readonly string[] = [
  ...["TestDefaultFlags", "TestAddFlags", "TestCreateConfig", "TestCreateConfigWithoutWebHooks"],
  ...["TestCloudControllerManagerAliases", "TestNodeControllerValidation"],
  ...["TestCloudControllerManagerConfigurationDefaults", "TestCloudControllerNamesDeclaration"],
  ...["TestWebhookEnableDisable", "TestIsControllerEnabled", "TestMutableHealthzHandler"],
  ...["TestValidateGenericControllerManagerConfigurationOptions", "TestParseNodeIPAnnotation"],
  ...["TestLeaderMigratorFilterFunc", "TestLeaderMigrationOptions", "TestReadLeaderMigrationConfiguration"],
  ...["TestValidateLeaderMigrationConfiguration", "TestTryAcquireOrRenew", "TestReleaseLease"],
  ...["TestReleaseOnCancellation", "TestReleaseMethodCallsGet", "TestLeaseConversion"],
  ...["TestLeaderElectionConfigValidation", "TestLeaderElectionHealthChecker"],
  ...["TestItemExponentialFailureRateLimiter", "TestItemExponentialFailureRateLimiterOverFlow"],
  ...["TestReleaseRetriesOnConflict", "TestReleaseDoesNotClearAnotherHolder"],
  ...["TestRecoveryReopensGateAfterTransientFailure", "TestWriteGateMethods"],
  ...["TestAddWhileProcessing", "TestDeduping", "TestQueueDrainageUsingShutDownWithDrain"],
];

let titles: readonly string[];
beforeAll(async () => {
  titles = await testTitles("parity", "server");
});

/** "Test_x 1 2: …" is both rows. */
const rowsIn = (all: readonly string[]): ReadonlyMap<string, ReadonlySet<number>> => {
  const rows = new Map<string, Set<number>>();
  for (const title of all) {
    for (const [, name = "", numbers = ""] of title.matchAll(/(Test_?\w+)((?: \d+\b)*)/g)) {
      const known = rows.get(name) ?? new Set<number>();
      for (const number of numbers.trim() === "" ? ["1"] : numbers.trim().split(" "))
        known.add(Number(number));
      rows.set(name, known);
    }
  }
  return rows;
};

test("every row of the catalog has a test with its name and number", async () => {
  const rows = rowsIn(titles);
  const missing = Object.entries(catalog).flatMap(([name, count]) =>
    Array.from({ length: count }, (_, index) => index + 1).flatMap((row) =>
      rows.get(name)?.has(row) === true ? [] : [`${name} ${row}`],
    ),
  );
  expect(missing).toEqual([]);
});

test("every upstream test of the process has a test here", async () => {
  const all = titles.join("\n");
  expect(ofTheProcess.filter((name) => !new RegExp(`\\b${name}\\b`).test(all))).toEqual([]);
});

test("rowsIn reads names and numbers from titles", () => {
  expect(rowsIn(["TestA 1 2: both", "TestA: whole", "TestB (upstream)"])).toEqual(
    new Map([
      ["TestA", new Set([1, 2])],
      ["TestB", new Set([1])],
    ]),
  );
});

/** The last column of docs/differences.md: "`TestA` 1, 2; `TestB`". A name without numbers means all of its rows. */
const changedRows = (): ReadonlyMap<string, readonly string[]> => {
  const page = readFileSync(resolve(import.meta.dir, "../../docs/differences.md"), "utf8");
  const columns = [...page.matchAll(/^\| D\d+ \|.* \| ([^|]*) \|$/gm)].map(([, rows = ""]) => rows);
  const found = new Map<string, readonly string[]>();
  for (const [, name = "", numbers = ""] of columns.join("; ").matchAll(/`(Test\w+)`((?: \d+,?)*)/g)) {
    found.set(name, [...(found.get(name) ?? []), numbers.replaceAll(",", "")]);
  }
  return found;
};

test("every row with another result in Fairlead is listed in docs/differences.md", async () => {
  const known = changedRows();
  const isNamed = (name: string, number: string): boolean =>
    (known.get(name) ?? []).some((numbers) => numbers === "" || numbers.split(" ").includes(number));
  const different = titles.filter((title) => /\(Fairlead\)/.test(title));
  const rows = different.flatMap((title) => {
    const [, name = "", number = ""] = /.*\b(Test_?\w+)(?: (\d+))?/.exec(title) ?? [];
    return name === "" ? [] : [{ name, number, title }];
  });
  expect(rows.length).toBeGreaterThan(12);
  expect(rows.filter(({ name, number }) => !isNamed(name, number)).map(({ title }) => title)).toEqual([]);
});
