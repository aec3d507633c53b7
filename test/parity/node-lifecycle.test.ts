import { afterEach, describe, expect, test } from "bun:test";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { planNode } from "../../src/controllers/node/plan.ts";
import { nodeDefaults } from "../../src/controllers/node/settings.ts";
import { identityOf } from "../../src/controllers/node-facts.ts";
import type { LifecycleSettings } from "../../src/controllers/node-lifecycle/settings.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { toNode } from "../support/api-server-nodes.ts";
import { NodeControllers } from "../support/node-controllers.ts";
import { machine, outage } from "../support/scripted-source.ts";
import { U } from "../support/upstream-nodes.ts";

// Rows of upstream's controllers/nodelifecycle/node_lifecycle_controller_test.go. V1 and V2 are one contract here
// (docs/decisions/0001-provider-contract.md), so the two halves of Test_NodesDeleted are one.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

/** One negative answer is sufficient, as in upstream. The other half of each changed row is Fairlead's default. */
const asUpstream: Partial<LifecycleSettings> = {
  confirmAfter: milliseconds(0),
  removalLimit: "off",
  minAge: milliseconds(0),
};

interface Row {
  readonly ready: "True" | "False" | "Unknown";
  readonly exists: boolean;
  readonly fails?: boolean;
  readonly stopped?: boolean;
  readonly providerID?: string;
}

/** The state after this many seconds: the Node's taints, or that it was deleted. */
const after = async (row: Row, settings: Partial<LifecycleSettings>, amountInSeconds: number) => {
  const at = new NodeControllers({ script: { scheme: "" }, lifecycle: settings });
  world = at;
  if (row.exists) {
    at.cloud.put(machine("node0", { names: ["node0"], state: row.stopped === true ? "stopped" : "running" }));
  }
  if (row.fails === true) at.cloud.failure = { error: outage() };
  at.nodes.add({
    name: "node0",
    spec: row.providerID === undefined ? {} : { providerID: row.providerID },
    status: { conditions: [{ type: "Ready", status: row.ready }] },
  });
  at.start("lifecycle");
  await at.pass(amountInSeconds);
  const node = at.nodes.get("node0");
  return {
    is: node === undefined ? "deleted" : "kept",
    taints: (node?.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`),
    providerID: node?.spec.providerID,
    calls: at.cloud.calls.length,
  };
};

const deleted = { is: "deleted", taints: [] };
const kept = { is: "kept", taints: [] };
const marked = { is: "kept", taints: ["node.cloudprovider.kubernetes.io/shutdown:NoSchedule"] };

const rows: readonly [string, Row, object, object][] = [
  ["Test_NodesDeleted 1, not Ready and gone", { ready: "False", exists: false }, deleted, kept],
  [
    "Test_NodesDeleted 2, not Ready and the cloud fails",
    { ready: "False", exists: true, fails: true, providerID: "node0" },
    kept,
    kept,
  ],
  [
    "Test_NodesDeleted 3, not Ready and running",
    { ready: "False", exists: true, providerID: "node0" },
    kept,
    kept,
  ],
  ["Test_NodesDeleted 4, Unknown and gone", { ready: "Unknown", exists: false }, deleted, kept],
  ["Test_NodesDeleted 5, Unknown and running", { ready: "Unknown", exists: true }, kept, kept],
  [
    "Test_NodesDeleted 6, Ready and gone",
    { ready: "True", exists: false, providerID: "node0" },
    { ...kept, calls: 0 },
    { ...kept, calls: 0 },
  ],
  [
    "Test_NodesShutdown 1, not Ready and stopped [F19]",
    { ready: "False", exists: true, stopped: true, providerID: "node0" },
    marked,
    marked,
  ],
  [
    "Test_NodesShutdown 2, not Ready and stopped, without provider id",
    { ready: "False", exists: true, stopped: true },
    { ...marked, providerID: undefined },
    { ...marked, providerID: undefined },
  ],
  ["Test_NodesShutdown 3, not Ready and gone", { ready: "False", exists: false }, deleted, kept],
  [
    "Test_NodesShutdown 4, not Ready and the cloud fails",
    { ready: "False", exists: true, fails: true, stopped: true },
    kept,
    kept,
  ],
  ["Test_NodesShutdown 5, not Ready and gone, repeated", { ready: "False", exists: false }, deleted, kept],
  [
    "Test_NodesShutdown 6, not Ready, stopped and gone",
    { ready: "False", exists: false, stopped: true, providerID: "node0" },
    deleted,
    kept,
  ],
  [
    "Test_NodesShutdown 7, not Ready and gone, with provider id",
    { ready: "False", exists: false, providerID: "node0" },
    deleted,
    kept,
  ],
  [
    "Test_NodesShutdown 8, Ready and stopped",
    { ready: "True", exists: true, stopped: true, providerID: "node0" },
    kept,
    kept,
  ],
  [
    "Test_NodesShutdown 9, Unknown, stopped and gone",
    { ready: "Unknown", exists: false, stopped: true, providerID: "node0" },
    deleted,
    kept,
  ],
];

describe("node lifecycle with upstream's settings", () => {
  test.each(rows)("%s: one cloud answer decides", async (_, row, expected) => {
    expect(await after(row, asUpstream, 5)).toMatchObject(expected);
  });
});

describe("node lifecycle with Fairlead's defaults", () => {
  test.each(rows)("%s: one cloud answer deletes nothing [F21]", async (_, row, __, expected) => {
    expect(await after(row, {}, 5)).toMatchObject(expected);
  });

  const gone = rows.filter(([, { exists, ready }]) => !exists && ready !== "True");
  test.each(gone)(
    "%s: the Node is deleted once proven gone, without provider id after ten minutes [F18 F25]",
    async (_, row) => {
      const [early, late] = row.providerID === undefined ? [599, 640] : [29, 35];
      expect((await after(row, {}, early)).is).toBe("kept");
      await world?.stop();
      expect((await after(row, {}, late)).is).toBe("deleted");
    },
  );
});

describe("Test_GetProviderID", () => {
  const planned = (providerID?: string) => {
    const node = toNode({
      name: "node0",
      spec: { taints: [U], ...(providerID !== undefined && { providerID }) },
    });
    const instance = machine("12345", { names: ["node0"] });
    return planNode({ node, instance, ownPrefixes: [], settings: nodeDefaults }).providerID;
  };
  test.each([1, 2])("Test_GetProviderID %d: an existing provider id is used", () => {
    const spec = { providerID: "fake://12345" };
    expect(identityOf(toNode({ name: "node0", spec })).providerID as string | undefined).toBe("fake://12345");
    expect(planned("fake://12345")).toBeUndefined();
  });
  test.each([3, 4])("Test_GetProviderID %d: a missing provider id comes from the cloud", () => {
    expect(planned() as string | undefined).toBe("fake://12345");
  });
  // The contract has no machine without id (decision 0001). An empty id on the Node counts as none.
  test("Test_GetProviderID 5: an empty provider id counts as missing", () => {
    expect(identityOf(toNode({ name: "node0", spec: { providerID: "" } }))).not.toHaveProperty("providerID");
  });
  // Not found is an answer rather than an error (decision 0001).
  test("Test_GetProviderID 6: a machine that is not found is gone", async () => {
    const at = new NodeControllers();
    world = at;
    at.inventory.requestListing(0, "refresh");
    await at.pass(1);
    expect(at.inventory.check(identityOf(toNode({ name: "node0" }))).kind).toBe("gone");
  });
});

test.each([
  ["1: five workers are accepted", "5", []],
  ["2: zero workers are refused", "0", ["InvalidFlag"]],
  ["3: a negative number of workers is refused", "-5", ["InvalidFlag"]],
] as const)("TestNewCloudNodeLifecycleController %s", (_, workers, errors) => {
  const { problems } = readFlags([`--concurrent-node-lifecycle-syncs=${workers}`]);
  const found = problems.filter(({ severity }) => severity === "error").map(({ reason }) => reason);
  expect(found).toEqual([...errors]);
});

describe("the metrics of node lifecycle", () => {
  const name = "cloud_node_lifecycle_controller_cloud_provider_calls_total";
  const countsOf = (at: NodeControllers): readonly string[] =>
    at.metrics.text().match(/(?<=^cloud_node_lifecycle_controller_\w+(_total|_count)).*/gm) ?? [];
  const withNodes = (...states: readonly ("True" | "False")[]): NodeControllers => {
    const at = new NodeControllers({ script: { scheme: "" } });
    world = at;
    for (const [index, status] of states.entries()) {
      at.cloud.put(machine(`node${index}`, { names: [`node${index}`] }));
      const spec = { providerID: `node${index}` };
      at.nodes.add({ name: `node${index}`, spec, status: { conditions: [{ type: "Ready", status }] } });
    }
    return at;
  };

  test("TestMonitorNodesMetrics: only the NotReady Node is counted, once for its existence and once for its state", async () => {
    const at = withNodes("True", "True", "False");
    at.start("lifecycle");
    await at.pass(5);
    expect(at.metrics.text()).toContain(`\n${name}{operation="instance_exists",result="success"} 1\n`);
    expect(countsOf(at)).toEqual([
      " 1",
      '{operation="instance_exists",result="success"} 1',
      '{operation="instance_shutdown",result="success"} 1',
    ]);
  });

  test("an unanswered query counts as an error, and an absent instance as not found", async () => {
    const failing = withNodes("False");
    failing.cloud.failure = { error: outage() };
    failing.start("lifecycle");
    await failing.pass(1);
    expect(countsOf(failing)).toEqual([" 1", '{operation="instance_exists",result="error"} 1']);
    await failing.stop();
    const gone = withNodes("False");
    gone.cloud.machines.clear();
    gone.start("lifecycle");
    await gone.pass(1);
    expect(countsOf(gone)).toEqual([" 1", '{operation="instance_exists",result="instance_not_found"} 1']);
  });
});
