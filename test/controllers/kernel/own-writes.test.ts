// Watch events of the controller's own writes: ignored unless they also contain another writer's change.

import { expect, test } from "bun:test";
import { OwnWrites } from "../../../src/controllers/kernel/own-writes.ts";
import { isRelevantChange } from "../../../src/controllers/node/triggers.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { jsonPatch } from "../../../src/kube/patches/patch.ts";

const node = (resourceVersion: string, labels: Record<string, string> = {}, uid = "u1"): Node => ({
  metadata: { name: "n1", uid, resourceVersion, labels },
  spec: { providerID: "fake://1" },
  status: {},
});

/** The response contains only what the write changed, because most cases here are about watch events. */
const nothing = {
  base: node("1"),
  patch: { contentType: "application/merge-patch+json", body: {} },
} as const;

/** The response to a write arrived before any watch event. */
const answered = (written: Node): OwnWrites<Node> => {
  const own = new OwnWrites<Node>(isRelevantChange);
  own.begin("n1");
  expect(own.end("n1", { ...nothing, written })).toBe(false);
  return own;
};

/** The watch events `reported` arrived before the response to the write; returns whether the Node needs a reconcile. */
const isNewsAfter = (reported: readonly (Node | undefined)[], written: Node | undefined): boolean => {
  const own = new OwnWrites<Node>(isRelevantChange);
  own.begin("n1");
  for (const after of reported) expect(own.isOwnWrite("n1", after)).toBe(true);
  return own.end("n1", { ...nothing, written });
};

test("ignores the watch event of the controller's write only once", () => {
  const own = answered(node("10", { a: "1" }));
  expect(own.isOwnWrite("n1", node("10", { a: "1" }))).toBe(true);
  expect(own.isOwnWrite("n1", node("10", { a: "1" }))).toBe(false);
});

test("ignores watch events that are older than the controller's write, and the event of that write", () => {
  const own = answered(node("100", { a: "1" }));
  expect(own.isOwnWrite("n1", node("99"))).toBe(true);
  expect(own.isOwnWrite("n1", node("100", { a: "1" }))).toBe(true);
});

test("another writer's change that is merged into the written version triggers a reconcile", () => {
  const own = answered(node("10", { a: "1" }));
  expect(own.isOwnWrite("n1", node("10", { a: "1", other: "2" }))).toBe(false);
});

test("a new Node with the same name triggers a reconcile, and so does a deletion", () => {
  expect(answered(node("10")).isOwnWrite("n1", node("11", {}, "u2"))).toBe(false);
  expect(answered(node("10")).isOwnWrite("n1", undefined)).toBe(false);
  expect(new OwnWrites<Node>(isRelevantChange).isOwnWrite("n1", node("1"))).toBe(false);
});

test("ignores and then forgets a watch event from before the response to its write", () => {
  const own = new OwnWrites<Node>(isRelevantChange);
  own.begin("n1");
  expect(own.isOwnWrite("n1", node("10"))).toBe(true);
  expect(own.end("n1", { ...nothing, written: node("10") })).toBe(false);
  expect(own.isOwnWrite("n1", node("11", { a: "1" }))).toBe(false);
});

test("another writer's change during the controller's write triggers a reconcile after the response", () => {
  expect(isNewsAfter([node("10"), node("11", { other: "2" })], node("10"))).toBe(true);
  expect(isNewsAfter([undefined], node("10"))).toBe(true);
  expect(isNewsAfter([node("11", {}, "u2")], node("10"))).toBe(true);
  expect(isNewsAfter([node("9", { other: "2" })], undefined)).toBe(true);
});

test("the controller's write without another change triggers no reconcile", () => {
  expect(isNewsAfter([], node("10"))).toBe(false);
  expect(isNewsAfter([node("9")], node("10"))).toBe(false);
  expect(isNewsAfter([], undefined)).toBe(false);
});

test("another writer's change in the response to the controller's write triggers a reconcile, whatever the watch reports", () => {
  const patch = jsonPatch([{ op: "add", path: "/metadata/labels/own", value: "1" }]);
  const endOf = (written: Node): boolean => {
    const own = new OwnWrites<Node>(isRelevantChange);
    own.begin("n1");
    return own.end("n1", { base: node("9", { a: "1" }), patch, written });
  };
  expect(endOf(node("10", { a: "1", own: "1" }))).toBe(false);
  expect(endOf(node("11", { a: "2", own: "1" }))).toBe(true);
  const { metadata, ...rest } = node("11", { a: "1", own: "1" });
  expect(endOf({ ...rest, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } })).toBe(true);
});

test("another writer's edit before the controller's write that is missing in the response triggers a reconcile with the write's event", () => {
  const own = answered(node("10", { own: "1" }));
  const edited = node("9", { other: "2" });
  const both = node("10", { own: "1", other: "2" });
  // Older than the controller's write, whose version also contains the change.
  expect(own.isNews({ key: "n1", before: node("1"), after: edited })).toBe(false);
  // The watch event may have no relevant difference from the last one, because the controller's write set the existing value.
  const before = { ...both, metadata: { ...both.metadata, resourceVersion: "9" } };
  expect(own.isNews({ key: "n1", before, after: both })).toBe(true);
  expect(own.isNews({ key: "n1", before: both, after: both })).toBe(false);
});

test("without a write by Fairlead, a relevant change triggers a reconcile and an irrelevant change does not", () => {
  const own = new OwnWrites<Node>(isRelevantChange);
  expect(own.isNews({ key: "n1", before: node("1"), after: node("2", { other: "2" }) })).toBe(true);
  expect(own.isNews({ key: "n1", before: node("1"), after: node("2") })).toBe(false);
  expect(own.isNews({ key: "n1", after: node("1") })).toBe(true);
});

test("a list with an older version than the controller's write triggers a reconcile, because the server was restored [N23]", () => {
  const own = answered(node("10", { a: "1" }));
  const listed = { key: "n1", before: node("9", { a: "1" }), after: node("7"), isFromList: true } as const;
  expect(own.isNews(listed)).toBe(true);
  expect(own.isNews({ key: "n1", before: node("7"), after: node("8", { other: "2" }) })).toBe(true);
});
