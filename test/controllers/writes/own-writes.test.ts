// What comes back of our own writes: skipped when it brings nothing else, never when it brings something of others.

import { expect, test } from "bun:test";
import { isRelevantChange } from "../../../src/controllers/node/relevant-change.ts";
import { OwnWrites } from "../../../src/controllers/writes/own-writes.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { jsonPatch } from "../../../src/kube/patches/patch.ts";

const node = (resourceVersion: string, labels: Record<string, string> = {}, uid = "u1"): Node => ({
  metadata: { name: "n1", uid, resourceVersion, labels },
  spec: { providerID: "fake://1" },
  status: {},
});

/** Its answer has nothing in it but what the write did: most cases here are about what the watch tells. */
const nothing = {
  base: node("1"),
  patch: { contentType: "application/merge-patch+json", body: {} },
} as const;

/** The answer to a write came before anything was told by the watch. */
const answered = (written: Node): OwnWrites<Node> => {
  const own = new OwnWrites<Node>(isRelevantChange);
  own.begin("n1");
  expect(own.end("n1", { ...nothing, written })).toBe(false);
  return own;
};

/** The watch told this before the write was answered; whether the Node is to be looked at. */
const isNewsAfter = (reported: readonly (Node | undefined)[], written: Node | undefined): boolean => {
  const own = new OwnWrites<Node>(isRelevantChange);
  own.begin("n1");
  for (const after of reported) expect(own.isOwnWrite("n1", after)).toBe(true);
  return own.end("n1", { ...nothing, written });
};

test("an echo of our write is skipped, once", () => {
  const own = answered(node("10", { a: "1" }));
  expect(own.isOwnWrite("n1", node("10", { a: "1" }))).toBe(true);
  expect(own.isOwnWrite("n1", node("10", { a: "1" }))).toBe(false);
});

test("what is older than our write is skipped, and the echo still is", () => {
  const own = answered(node("100", { a: "1" }));
  expect(own.isOwnWrite("n1", node("99"))).toBe(true);
  expect(own.isOwnWrite("n1", node("100", { a: "1" }))).toBe(true);
});

test("a change of somebody else that was merged into our version is looked at", () => {
  const own = answered(node("10", { a: "1" }));
  expect(own.isOwnWrite("n1", node("10", { a: "1", theirs: "2" }))).toBe(false);
});

test("another Node under the same name, or none, is looked at", () => {
  expect(answered(node("10")).isOwnWrite("n1", node("11", {}, "u2"))).toBe(false);
  expect(answered(node("10")).isOwnWrite("n1", undefined)).toBe(false);
  expect(new OwnWrites<Node>(isRelevantChange).isOwnWrite("n1", node("1"))).toBe(false);
});

test("an echo that comes before the answer to the write is skipped, and remembered by nobody", () => {
  const own = new OwnWrites<Node>(isRelevantChange);
  own.begin("n1");
  expect(own.isOwnWrite("n1", node("10"))).toBe(true);
  expect(own.end("n1", { ...nothing, written: node("10") })).toBe(false);
  expect(own.isOwnWrite("n1", node("11", { a: "1" }))).toBe(false);
});

test("what others changed while our write was under way is looked at when it has been answered", () => {
  expect(isNewsAfter([node("10"), node("11", { theirs: "2" })], node("10"))).toBe(true);
  expect(isNewsAfter([undefined], node("10"))).toBe(true);
  expect(isNewsAfter([node("11", {}, "u2")], node("10"))).toBe(true);
  expect(isNewsAfter([node("9", { theirs: "2" })], undefined)).toBe(true);
});

test("a write that nobody else meddled with is no news", () => {
  expect(isNewsAfter([], node("10"))).toBe(false);
  expect(isNewsAfter([node("9")], node("10"))).toBe(false);
  expect(isNewsAfter([], undefined)).toBe(false);
});

test("what others changed and the answer to our write brings is looked at, whatever the watch tells of it", () => {
  const patch = jsonPatch([{ op: "add", path: "/metadata/labels/ours", value: "1" }]);
  const endOf = (written: Node): boolean => {
    const own = new OwnWrites<Node>(isRelevantChange);
    own.begin("n1");
    return own.end("n1", { base: node("9", { a: "1" }), patch, written });
  };
  expect(endOf(node("10", { a: "1", ours: "1" }))).toBe(false);
  expect(endOf(node("11", { a: "2", ours: "1" }))).toBe(true);
  const { metadata, ...rest } = node("11", { a: "1", ours: "1" });
  expect(endOf({ ...rest, metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } })).toBe(true);
});

test("an edit that was told before our echo, and that our answer does not show, is looked at with that echo", () => {
  const own = answered(node("10", { ours: "1" }));
  const edited = node("9", { theirs: "2" });
  const both = node("10", { ours: "1", theirs: "2" });
  // Older than our write: it is in the later version too.
  expect(own.isNews("n1", node("1"), edited)).toBe(false);
  // What a watch told last may differ from it in nothing that matters: our write set what was there already.
  const before = { ...both, metadata: { ...both.metadata, resourceVersion: "9" } };
  expect(own.isNews("n1", before, both)).toBe(true);
  expect(own.isNews("n1", both, both)).toBe(false);
});

test("without a write of ours, what changed is news and what did not is none", () => {
  const own = new OwnWrites<Node>(isRelevantChange);
  expect(own.isNews("n1", node("1"), node("2", { theirs: "2" }))).toBe(true);
  expect(own.isNews("n1", node("1"), node("2"))).toBe(false);
  expect(own.isNews("n1", undefined, node("1"))).toBe(true);
});
