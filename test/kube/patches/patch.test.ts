import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Node } from "../../../src/kube/objects.ts";
import { finalizerPatch } from "../../../src/kube/patches/finalizer-patch.ts";
import { guardedNodePatch, nodeAddressesPatch } from "../../../src/kube/patches/node-patch.ts";
import { applySteps, changeMap, type JsonPatchStep, jsonPointer } from "../../../src/kube/patches/patch.ts";

const partsOf = (pointer: string): string[] =>
  pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

/** The part of RFC 6902 that a map at `/m` needs. */
const applied = (map: Record<string, string> | undefined, steps: readonly JsonPatchStep[]) => {
  let result = map === undefined ? undefined : { ...map };
  for (const step of steps) {
    const [, key] = partsOf(step.path);
    if (step.op === "test") expect(result ?? null).toEqual(step.value as null);
    else if (key === undefined && step.op === "add") result = step.value as Record<string, string>;
    else if (key !== undefined && step.op === "add") result = { ...result, [key]: step.value as string };
    else if (key !== undefined && result !== undefined) delete result[key];
  }
  return result ?? {};
};

test("jsonPointer escapes each part, so that parsing returns the parts", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { minLength: 1 }), (parts) => {
      expect(partsOf(jsonPointer(...parts))).toEqual(parts);
    }),
  );
});

test("changeMap sets the desired keys, removes the undesired keys and keeps all other keys", () => {
  const key = fc.stringMatching(/^[a-z~/.]{1,4}$/);
  fc.assert(
    fc.property(
      fc.option(fc.dictionary(key, fc.string()), { nil: undefined }),
      fc.dictionary(key, fc.option(fc.string(), { nil: undefined })),
      (present, wanted) => {
        const expected: Record<string, string> = { ...present };
        for (const [name, value] of Object.entries(wanted)) {
          if (value === undefined) delete expected[name];
          else expected[name] = value;
        }
        expect(applied(present, changeMap("/m", present, wanted))).toEqual(expected);
      },
    ),
  );
});

test("applySteps changes maps at any depth, but modifies neither the original object nor a value of the patch", () => {
  const object = {
    metadata: { name: "a", uid: "u", resourceVersion: "1", labels: { old: "1" } },
    spec: { a: 1 },
  };
  const added = { x: "1" };
  const before = structuredClone(object);
  const steps = [
    { op: "test", path: "/metadata/uid", value: "other" },
    { op: "add", path: "/metadata/labels/n~1ew~0", value: "2" },
    { op: "remove", path: "/metadata/labels/old" },
    { op: "remove", path: "/spec/a" },
    { op: "add", path: "/metadata/annotations", value: added },
    { op: "add", path: "/metadata/annotations/y", value: "2" },
    { op: "add", path: "/status/addresses", value: [] },
  ] as const;
  expect<object>(applySteps(object, steps)).toEqual({
    metadata: { ...object.metadata, labels: { "n/ew~": "2" }, annotations: { x: "1", y: "2" } },
    spec: {},
    status: { addresses: [] },
  });
  expect([object, added]).toEqual([before, { x: "1" }]);
});

describe("guardedNodePatch", () => {
  const taint = {
    key: "node.cloudprovider.kubernetes.io/uninitialized",
    value: "true",
    effect: "NoSchedule",
  };
  const node: Node = {
    metadata: { name: "a", uid: "u1", resourceVersion: "1" },
    spec: { taints: [taint] },
    status: {},
  };

  test("a Node patch guards the uid, the absent provider id, the absent labels and the replaced taints", () => {
    expect(guardedNodePatch({ node, providerID: "x://1", labels: { "a/b": "c" }, taints: [] })?.body).toEqual(
      [
        { op: "test", path: "/metadata/uid", value: "u1" },
        { op: "test", path: "/spec/providerID", value: null },
        { op: "add", path: "/spec/providerID", value: "x://1" },
        { op: "test", path: "/metadata/labels", value: null },
        { op: "add", path: "/metadata/labels", value: { "a/b": "c" } },
        { op: "test", path: "/spec/taints", value: [taint] },
        { op: "remove", path: "/spec/taints" },
      ],
    );
  });

  test("a Node patch adds single labels to existing labels and never overwrites a provider id", () => {
    const known: Node = {
      ...node,
      metadata: { ...node.metadata, labels: { old: "1" } },
      spec: { providerID: "x://1" },
    };
    expect(
      guardedNodePatch({ node: known, providerID: "x://2", labels: { old: "1", "n/ew": "2" } })?.body,
    ).toEqual([
      { op: "test", path: "/metadata/uid", value: "u1" },
      { op: "add", path: "/metadata/labels/n~1ew", value: "2" },
    ]);
  });

  test("returns no Node patch when nothing changes", () => {
    expect(guardedNodePatch({ node, labels: {}, taints: [taint] })).toBeUndefined();
    expect(nodeAddressesPatch(node, [])).toBeUndefined();
  });
});

test("finalizerPatch keeps other finalizers, guards them, and fails when the object was deleted in the meantime", () => {
  const metadata = { name: "a", uid: "u", resourceVersion: "1", finalizers: ["other"] };
  expect(finalizerPatch({ metadata }, "own", "present")?.body).toEqual([
    { op: "test", path: "/metadata/uid", value: "u" },
    { op: "test", path: "/metadata/deletionTimestamp", value: null },
    { op: "test", path: "/metadata/finalizers", value: ["other"] },
    { op: "add", path: "/metadata/finalizers", value: ["other", "own"] },
  ]);
  expect(finalizerPatch({ metadata }, "own", "absent")).toBeUndefined();
});
