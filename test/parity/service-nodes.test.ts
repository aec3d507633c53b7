import { describe, expect, test } from "bun:test";
import { isReady } from "../../src/controllers/node-facts.ts";
import {
  isEligible,
  isExcluded,
  isRelevantNodeChange,
  targetsOf,
  upstreamNodeChange,
} from "../../src/controllers/service/targets/eligible-nodes.ts";
import type { Condition, Node, Taint } from "../../src/kube/objects.ts";
import { toNode } from "../support/api-server-nodes.ts";
import { isSameNodeSet } from "../support/upstream-services.ts";

// Rows of upstream's test catalogue, upstream's controllers/service/controller_test.go: which Nodes are targets, and which of
// their changes matter. Where ours differs on purpose, the row is there twice.

const exclusion = "node.kubernetes.io/exclude-from-external-load-balancers";
const autoscaler: Taint = {
  key: "ToBeDeletedByClusterAutoscaler",
  value: "1700000000",
  effect: "NoSchedule",
};
const ready = (status: string): Condition => ({ type: "Ready", status });

interface Words {
  readonly name?: string;
  readonly ready?: string | undefined;
  readonly providerID?: string | undefined;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  readonly conditions?: readonly Condition[];
  readonly deletionTimestamp?: string;
}

/** As upstream's: ready, with a provider id, without taints. */
const node = (words: Words = {}): Node => {
  const { name = "node0", labels, taints, conditions = [], deletionTimestamp } = words;
  const status = "ready" in words ? words.ready : "True";
  const providerID = "providerID" in words ? words.providerID : "providerID";
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
  const cases: readonly [number, string, Words, boolean][] = [
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
    "Test_respectsPredicates %d: %s, with readiness, which only upstream's test asks for",
    (_, _name, words, expected) => {
      expect(isEligible(node(words)) && isReady(node(words))).toBe(expected);
    },
  );
  test.each(cases)(
    "Test_respectsPredicates %d: %s, without readiness, as upstream in use",
    (number, _name, words, expected) => {
      expect(isEligible(node(words))).toBe(expected || number === 1 || number === 4);
    },
  );
  test("Test_respectsPredicates 10: autoscaler taint, drains, as we do", () => {
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
  test("TestListWithPredicate 1: those that the predicate takes, in their order", () => {
    expect(targetNames(nodes)).toEqual(["node1", "node3"]);
  });
  test("TestListWithPredicate 2: the others are exactly the rest", () => {
    expect(names(nodes.filter((each) => !isEligible(each)))).toEqual(["node0", "node2", "node4"]);
  });
  test("TestListWithPredicate 3: none, where it takes none", () => {
    expect(targetNames(nodes.filter((each) => !isEligible(each)))).toEqual([]);
  });
});

type Change = readonly [number, string, Words, Words, upstream: boolean, ours?: boolean];

const tellsBoth = (group: string, changes: readonly Change[]): void => {
  const same = changes.filter((change) => change[5] === undefined);
  const changed = changes.filter((change) => change[5] !== undefined);
  test.each(same)(`${group} %d: %s`, (_, _name, before, after, expected) => {
    expect(upstreamNodeChange(node(before), node(after))).toBe(expected);
    expect(isRelevantNodeChange(node(before), node(after))).toBe(expected);
  });
  test.each(changed)(`${group} %d: %s, as upstream`, (_, _name, before, after, expected) => {
    expect(upstreamNodeChange(node(before), node(after))).toBe(expected);
  });
  test.each(changed)(`${group} %d: %s, as we do`, (_, _name, before, after, _upstream, expected) => {
    expect(isRelevantNodeChange(node(before), node(after))).toBe(expected as boolean);
  });
};

describe("Test_shouldSyncUpdatedNode_individualPredicates", () => {
  const other = { taints: [{ key: "other", effect: "NoSchedule" }] };
  const label = { labels: { other: "" } };
  const pressure = (status: string): Words => ({
    ready: "False",
    conditions: [{ type: "DiskPressure", status }],
  });
  const condition = (status: string): Words => ({ conditions: [{ type: "Other", status }] });
  tellsBoth("Test_shouldSyncUpdatedNode_individualPredicates", [
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
    [19, "providerID set, listed twice", { providerID: undefined }, {}, true],
    [20, "providerID emptied", {}, { providerID: "" }, true],
    [21, "providerID changed", {}, { providerID: "providerID-2" }, true],
  ]);
});

describe("Test_shouldSyncUpdatedNode_compoundedPredicates", () => {
  const both = (constant: Words, before: Words, after: Words): readonly [Words, Words] => [
    { ...constant, ...before },
    { ...constant, ...after },
  ];
  const out = excluded("");
  const none = { providerID: "" };
  const second = { providerID: "providerID-2" };
  const down = { ready: "False" };
  tellsBoth("Test_shouldSyncUpdatedNode_compoundedPredicates", [
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
    [14, "excluded, providerID changed", ...both(out, {}, second), true],
    [15, "not ready, taint appears", ...both(down, {}, tainted), false, true],
    [16, "not ready, taint disappears", ...both(down, tainted, {}), false, true],
    [17, "not ready, exclusion appears", ...both(down, {}, out), true],
    [18, "not ready, exclusion disappears", ...both(down, out, {}), true],
    [19, "not ready, providerID set", ...both(down, none, {}), true],
    [20, "not ready, providerID emptied", ...both(down, {}, none), true],
    [21, "not ready, providerID changed", ...both(down, {}, second), true],
    [22, "providerID empty, exclusion appears", ...both(none, {}, out), true],
    [23, "providerID empty, exclusion disappears", ...both(none, out, {}), true],
    [24, "providerID empty, readiness said to change", ...both(none, {}, {}), false],
    [25, "providerID empty, becomes not ready", ...both(none, {}, down), false],
    [26, "providerID empty, taint disappears", ...both(none, tainted, {}), false, true],
    [27, "providerID empty, taint appears", ...both(none, {}, tainted), false, true],
  ]);
});

/** What balancers are updated to, or undefined when they are not: what a controller asks these parts. */
const updateTo = (before: readonly Node[], after: readonly Node[], policy: "drop" | "drain") => {
  const isCounted = (each: Node) => (policy === "drop" ? isEligible(each) : !isExcluded(each));
  const [old = [], now = []] = [before, after].map((nodes) => nodes.filter(isCounted));
  if (isSameNodeSet(old, now)) return undefined;
  return targetsOf(after, () => undefined)
    .filter(({ draining }) => policy === "drain" || !draining)
    .map(({ node: name, draining }) => (draining ? `${name} draining` : `${name}`));
};

describe("TestNodeChangesForStableNodeSetEnabled, the node set", () => {
  const n = (number: number, words: Words = {}) => node({ name: `n${number}`, ...words });
  const [n1, n2, n3] = [n(1), n(2), n(3)];
  const cases: readonly [number, string, readonly Node[], readonly Node[], string | undefined, string?][] = [
    [1, "the same", [n1, n2, n3], [n3, n2, n1], undefined],
    [2, "one more", [n1, n2], [n1, n2, n3], "n1 n2 n3"],
    [4, "n2 not ready", [n1, n2, n3], [n1, n(2, { ready: "False" }), n3], undefined],
    [5, "n2 tainted by the autoscaler", [n1, n2, n3], [n1, n(2, tainted), n3], "n1 n3", "n1 n2 draining n3"],
    [6, "n2 ready again", [n1, n(2, { ready: "False" })], [n1, n2], undefined],
    [7, "n2 excluded", [n1, n2, n3], [n1, n(2, excluded("")), n3], "n1 n3"],
    [8, "n3 gone", [n1, n2, n3], [n1, n2], "n1 n2"],
    [9, "n2 being deleted", [n1, n2, n3], [n1, n(2, deleted), n3], "n1 n3", "n1 n2 draining n3"],
    [
      10,
      "n2 with another taint",
      [n1, n2, n3],
      [n1, n(2, { taints: [{ key: "Other", effect: "NoSchedule" }] }), n3],
      undefined,
    ],
  ];
  test.each(cases)(
    "TestNodeChangesForStableNodeSetEnabled %d: %s",
    (_, _name, before, after, upstream, ours = upstream) => {
      expect(updateTo(before, after, "drop")?.join(" ")).toBe(upstream as string);
      expect(updateTo(before, after, "drain")?.join(" ")).toBe(ours as string);
    },
  );
});

describe("TestNodesNotEqual, the node set", () => {
  const [one, two, three] = ["n1", "n2", "n3"].map((name) => node({ name })) as [Node, Node, Node];
  const moved = node({ name: "n1", providerID: "cumulus/1" });
  const movedToo = node({ name: "n2", providerID: "cumulus/2" });
  const cases: readonly [number, readonly Node[], readonly Node[], boolean][] = [
    [1, [one, two], [moved, movedToo], false],
    [2, [moved, two], [moved, two], true],
    [3, [moved, two], [moved, three], false],
  ];
  test.each(cases)("TestNodesNotEqual %d", (_, before, after, expected) => {
    expect(isSameNodeSet(before, after)).toBe(expected);
    expect(isSameNodeSet(after, before)).toBe(expected);
  });
});
