// What comes back of our own writes: skipped when it brings nothing else, never when it brings something of others.

import { expect, test } from "bun:test";
import { OwnWrites } from "../../src/controllers/node/own-writes.ts";
import type { Node } from "../../src/kube/objects.ts";

const node = (resourceVersion: string, labels: Record<string, string> = {}, uid = "u1"): Node => ({
  metadata: { name: "n1", uid, resourceVersion, labels },
  spec: { providerID: "fake://1" },
  status: {},
});

const remembering = (written: Node): OwnWrites => {
  const own = new OwnWrites();
  own.remember(written);
  return own;
};

test("an echo of our write is skipped, once", () => {
  const own = remembering(node("10", { a: "1" }));
  expect(own.isEcho("n1", node("10", { a: "1" }))).toBe(true);
  expect(own.isEcho("n1", node("10", { a: "1" }))).toBe(false);
});

test("what is older than our write is skipped, and the echo still is", () => {
  const own = remembering(node("100", { a: "1" }));
  expect(own.isEcho("n1", node("99"))).toBe(true);
  expect(own.isEcho("n1", node("100", { a: "1" }))).toBe(true);
});

test("a change of somebody else that was merged into our version is looked at", () => {
  const own = remembering(node("10", { a: "1" }));
  expect(own.isEcho("n1", node("10", { a: "1", theirs: "2" }))).toBe(false);
});

test("another Node under the same name, or none, is looked at", () => {
  expect(remembering(node("10")).isEcho("n1", node("11", {}, "u2"))).toBe(false);
  expect(remembering(node("10")).isEcho("n1", undefined)).toBe(false);
  expect(new OwnWrites().isEcho("n1", node("1"))).toBe(false);
});
