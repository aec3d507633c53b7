import { describe, expect, test } from "bun:test";
import { isReady } from "../../src/controllers/node-facts.ts";
import {
  isEligible,
  isExcluded,
  isRelevantNodeChange,
  targetsOf,
  upstreamNodeChange,
} from "../../src/controllers/service/targets/candidate-targets.ts";
import type { Condition, Node, Taint } from "../../src/kube/objects.ts";
import { toNode } from "../support/api-server-nodes.ts";
import { isSameNodeSet } from "../support/upstream-services.ts";

// Rows of upstream's controllers/service/controller_test.go: which Nodes are targets, and which of their changes
// matter. A row with a deliberate difference appears twice.

const exclusion = "node.kubernetes.io/exclude-from-external-load-balancers";
const autoscaler: Taint = {
  key: "ToBeDeletedByClusterAutoscaler",
  value: "1700000000",
  effect: "NoSchedule",
};
const ready = (status: string): Condition => ({ type: "Ready", status });

interface NodeFields {
  readonly name?: string;
  readonly ready?: string | undefined;
  readonly providerID?: string | undefined;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly conditions?: readonly Condition[];
  readonly deletionTimestamp?: string;
}

/** A Ready Node with a provider id and without taints, as in upstream's tests. */
const node = (fields: NodeFields = {}): Node => {
  const { name = "node0", labels, taints, conditions = [], deletionTimestamp } = fields;
  const status = "ready" in fields ? fields.ready : "True";
  const providerID = "providerID" in fields ? fields.providerID : "providerID";
  return toNode({
    name,
    ...(labels !== undefined && { labels }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    spec: { ...(providerID !== undefined && { providerID }), ...(taints !== undefined && { taints }) },
    status: { conditions: [...(status === undefined ? [] : [ready(status)]), ...conditions] },
  });
};
const excluded = (value: string) => ({ labels: { [exclusion]: value } });
const tainted = { taints: [autoscaler] };
const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z" };

describe("Test_respectsPredicates", () => {
  const cases: readonly [number, string, NodeFields, boolean][] = [
    [1, "empty object", { ready: undefined, providerID: undefined }, false],
    [2, "ready, providerID", {}, true],
    [3, "ready, no providerID", { providerID: undefined }, true],
    [4, "not ready", { ready: "False" }, false],
    [5, "empty label map", { labels: {} }, true],
    [6, "exclude label empty", excluded(""), false],
    [7, "exclude label false", excluded("false"), true],
    [8, "exclude label true", excluded("true"), false],
    [9, "exclude label foo", excluded("foo"), false],
    [10, "autoscaler taint", tainted, false],
  ];
  test.each(cases)(
    "Test_respectsPredicates %d: %s, combined with readiness, which only upstream's test requires",
    (_, _name, fields, expected) => {
      expect(isEligible(node(fields)) && isReady(node(fields))).toBe(expected);
    },
  );
  test.each(cases)(
    "Test_respectsPredicates %d: %s, without readiness, as upstream runs it",
    (number, _name, fields, expected) => {
      expect(isEligible(node(fields))).toBe(expected || number === 1 || number === 4);
    },
  );
  test("Test_respectsPredicates 10 (Fairlead): a Node with the autoscaler taint drains", () => {
    expect(targetsOf([node(tainted)], () => undefined)).toMatchObject([{ draining: true }]);
  });
});

describe("TestListWithPredicate", () => {
  const nodes = Array.from({ length: 5 }, (_, index) =>
    node({ name: `node${index}`, ...(index % 2 === 0 && excluded("true")) }),
  );
  const names = (some: readonly Node[]) => some.map(({ metadata }) => metadata.name);
  const targetNames = (some: readonly Node[]) =>
    targetsOf(some, () => undefined).map(({ node: name }) => `${name}`);
  test("TestListWithPredicate 1: returns the matching Nodes in order", () => {
    expect(targetNames(nodes)).toEqual(["node1", "node3"]);
  });
  test("TestListWithPredicate 2: leaves out exactly the other Nodes", () => {
    expect(names(nodes.filter((each) => !isEligible(each)))).toEqual(["node0", "node2", "node4"]);
  });
  test("TestListWithPredicate 3: returns nothing when no Node matches", () => {
    expect(targetNames(nodes.filter((each) => !isEligible(each)))).toEqual([]);
  });
});

type Change = readonly [number, string, NodeFields, NodeFields, upstream: boolean, fairlead?: boolean];

const checkChanges = (group: string, changes: readonly Change[]): void => {
  const same = changes.filter((change) => change[5] === undefined);
  const changed = changes.filter((change) => change[5] !== undefined);
  test.each(same)(`${group} %d: %s`, (_, _name, before, after, expected) => {
    expect(upstreamNodeChange(node(before), node(after))).toBe(expected);
    expect(isRelevantNodeChange(node(before), node(after))).toBe(expected);
  });
  test.each(changed)(`${group} %d (upstream): %s`, (_, _name, before, after, expected) => {
    expect(upstreamNodeChange(node(before), node(after))).toBe(expected);
  });
  test.each(changed)(`${group} %d (Fairlead): %s`, (_, _name, before, after, _upstream, expected) => {
    expect(isRelevantNodeChange(node(before), node(after))).toBe(expected as boolean);
  });
};

describe("Test_shouldSyncUpdatedNode_individualPredicates", () => {
  const other = { taints: [{ key: "other", effect: "NoSchedule" }] };
  const label = { labels: { other: "" } };
  const pressure = (status: string): NodeFields => ({
    ready: "False",
    conditions: [{ type: "DiskPressure", status }],
  });
  const condition = (status: string): NodeFields => ({ conditions: [{ type: "Other", status }] });
  checkChanges("Test_shouldSyncUpdatedNode_individualPredicates", [
    [1, "nothing", {}, {}, false],
    [2, "exclude label appears", {}, excluded(""), true],
    [3, "exclude label disappears", excluded(""), {}, true],
    [4, "exclude label unchanged", excluded(""), excluded(""), false],
    [5, "other taint added", {}, other, false],
    [6, "other taint removed", other, {}, false],
    [7, "other label added", {}, label, false],
    [8, "other label removed", label, {}, false],
    [9, "not ready stays", { ready: "False" }, { ready: "False" }, false],
    [10, "not ready, then no condition", { ready: "False" }, { ready: undefined }, false],
    [11, "no condition, then not ready", { ready: undefined }, { ready: "False" }, false],
    [12, "no condition stays", { ready: undefined }, { ready: undefined }, false],
    [13, "not ready, disk pressure appears", pressure("False"), pressure("True"), false],
    [14, "not ready, disk pressure disappears", pressure("True"), pressure("False"), false],
    [15, "ready, other condition appears", condition("False"), condition("True"), false],
    [16, "ready, other condition disappears", condition("True"), condition("False"), false],
    [17, "deletionTimestamp set", {}, deleted, false, true],
    [18, "providerID set", { providerID: "" }, {}, true],
    [19, "a repeated row with providerID set", { providerID: undefined }, {}, true],
    [20, "providerID emptied", {}, { providerID: "" }, true],
    [21, "providerID changed", {}, { providerID: "providerID-2" }, true],
  ]);
});

describe("Test_shouldSyncUpdatedNode_compoundedPredicates", () => {
  const both = (
    constant: NodeFields,
    before: NodeFields,
    after: NodeFields,
  ): readonly [NodeFields, NodeFields] => [
    { ...constant, ...before },
    { ...constant, ...after },
  ];
  const out = excluded("");
  const none = { providerID: "" };
  const second = { providerID: "providerID-2" };
  const down = { ready: "False" };
  checkChanges("Test_shouldSyncUpdatedNode_compoundedPredicates", [
    [1, "tainted, exclusion appears", ...both(tainted, {}, out), true],
    [2, "tainted, exclusion disappears", ...both(tainted, out, {}), true],
    [3, "tainted, providerID set", ...both(tainted, none, {}), true],
    [4, "tainted, providerID emptied", ...both(tainted, {}, none), true],
    [5, "tainted, providerID changed", ...both(tainted, {}, second), true],
    [6, "tainted, becomes ready", ...both(tainted, down, {}), false],
    [7, "tainted, becomes not ready", ...both(tainted, {}, down), false],
    [8, "excluded, taint appears", ...both(out, {}, tainted), false],
    [9, "excluded, taint disappears", ...both(out, tainted, {}), false],
    [10, "excluded, becomes ready", ...both(out, down, {}), false],
    [11, "excluded, becomes not ready", ...both(out, {}, down), false],
    [12, "excluded, providerID set", ...both(out, none, {}), true],
    [13, "excluded, providerID emptied", ...both(out, {}, none), true],
    [14, "providerID empty, readiness reported to change", ...both(out, {}, second), true],
    [15, "not ready, taint appears", ...both(down, {}, tainted), false, true],
    [16, "not ready, taint disappears", ...both(down, tainted, {}), false, true],
    [17, "not ready, exclusion appears", ...both(down, {}, out), true],
    [18, "not ready, exclusion disappears", ...both(down, out, {}), true],
    [19, "not ready, providerID set", ...both(down, none, {}), true],
    [20, "not ready, providerID emptied", ...both(down, {}, none), true],
    [21, "not ready, providerID changed", ...both(down, {}, second), true],
    [22, "providerID empty, exclusion appears", ...both(none, {}, out), true],
    [23, "providerID empty, exclusion disappears", ...both(none, out, {}), true],
    [24, "providerID empty, readiness reported to change", ...both(none, {}, {}), false],
    [25, "providerID empty, becomes not ready", ...both(none, {}, down), false],
    [26, "providerID empty, taint disappears", ...both(none, tainted, {}), false, true],
    [27, "providerID empty, taint appears", ...both(none, {}, tainted), false, true],
  ]);
});

/** The targets that load balancers are updated to, or undefined without an update. */
const updateTo = (before: readonly Node[], after: readonly Node[], policy: "drop" | "drain") => {
  const isCounted = (each: Node) => (policy === "drop" ? isEligible(each) : !isExcluded(each));
  const [old = [], now = []] = [before, after].map((nodes) => nodes.filter(isCounted));
  if (isSameNodeSet(old, now)) return undefined;
  return targetsOf(after, () => undefined)
    .filter(({ draining }) => policy === "drain" || !draining)
    .map(({ node: name, draining }) => (draining ? `${name} draining` : `${name}`));
};

describe("TestNodeChangesForStableNodeSetEnabled, node set", () => {
  const n = (number: number, fields: NodeFields = {}) => node({ name: `n${number}`, ...fields });
  const [n1, n2, n3] = [n(1), n(2), n(3)];
  const cases: readonly [number, string, readonly Node[], readonly Node[], string | undefined, string?][] = [
    [1, "equal Nodes are not a change", [n1, n2, n3], [n3, n2, n1], undefined],
    [2, "a new Node is added", [n1, n2], [n1, n2, n3], "n1 n2 n3"],
    [4, "a Node that is not Ready stays", [n1, n2, n3], [n1, n(2, { ready: "False" }), n3], undefined],
    [
      5,
      "a Node with the autoscaler's taint leaves or drains",
      [n1, n2, n3],
      [n1, n(2, tainted), n3],
      "n1 n3",
      "n1 n2 draining n3",
    ],
    [6, "a Node that is Ready again stays", [n1, n(2, { ready: "False" })], [n1, n2], undefined],
    [7, "an excluded Node is removed", [n1, n2, n3], [n1, n(2, excluded("")), n3], "n1 n3"],
    [8, "a deleted Node is removed", [n1, n2, n3], [n1, n2], "n1 n2"],
    [
      9,
      "a Node being deleted leaves or drains",
      [n1, n2, n3],
      [n1, n(2, deleted), n3],
      "n1 n3",
      "n1 n2 draining n3",
    ],
    [
      10,
      "a Node with a foreign taint stays",
      [n1, n2, n3],
      [n1, n(2, { taints: [{ key: "Other", effect: "NoSchedule" }] }), n3],
      undefined,
    ],
  ];
  test.each(cases)(
    "TestNodeChangesForStableNodeSetEnabled %d: %s",
    (_, _name, before, after, upstream, fairlead = upstream) => {
      expect(updateTo(before, after, "drop")?.join(" ")).toBe(upstream as string);
      expect(updateTo(before, after, "drain")?.join(" ")).toBe(fairlead as string);
    },
  );
});

describe("TestNodesNotEqual, node set", () => {
  const [one, two, three] = ["n1", "n2", "n3"].map((name) => node({ name })) as [Node, Node, Node];
  const moved = node({ name: "n1", providerID: "cumulus/1" });
  const movedToo = node({ name: "n2", providerID: "cumulus/2" });
  const cases: readonly [number, string, readonly Node[], readonly Node[], boolean][] = [
    [1, "other provider ids differ", [one, two], [moved, movedToo], false],
    [2, "equal Nodes are equal", [moved, two], [moved, two], true],
    [3, "another Node differs", [moved, two], [moved, three], false],
  ];
  test.each(cases)("TestNodesNotEqual %d: %s", (_, _name, before, after, expected) => {
    expect(isSameNodeSet(before, after)).toBe(expected);
    expect(isSameNodeSet(after, before)).toBe(expected);
  });
});
