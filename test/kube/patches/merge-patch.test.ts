import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Node, NodeAddress, Taint } from "../../../src/kube/objects.ts";
import { finalizerPatch } from "../../../src/kube/patches/finalizer-patch.ts";
import { asMergePatch } from "../../../src/kube/patches/merge-patch.ts";
import { guardedNodePatch, nodeAddressesPatch } from "../../../src/kube/patches/node-patch.ts";
import { applySteps, jsonPatch, type Patch, testValue } from "../../../src/kube/patches/patch.ts";
import { nodes } from "../../../src/kube/resources.ts";
import type { JsonObject } from "../../../src/testing/apiserver/objects/json.ts";
import { applyStrategicMergePatch } from "../../../src/testing/apiserver/patch/strategic-merge-patch.ts";
import { json, scripted } from "../support/scripted.ts";

const never = new AbortController().signal;
const metadata = { name: "a", uid: "u", resourceVersion: "7" };
const key = fc.constantFrom("a", "b/c", "d~e");
const labels = fc.dictionary(key, fc.constantFrom("1", "2"));
const taints = fc.uniqueArray(
  fc.record({ key, value: fc.constantFrom("x", "y"), effect: fc.constantFrom("NoSchedule", "NoExecute") }),
  { maxLength: 3, selector: ({ key: one, effect }) => `${one}:${effect}` },
);
const addresses = fc.uniqueArray(
  fc.record({ type: fc.constantFrom("InternalIP", "ExternalIP"), address: fc.constantFrom("1", "2", "3") }),
  { maxLength: 4, selector: ({ type, address }) => `${type} ${address}` },
);
const node = fc
  .record({
    labels: fc.option(labels, { nil: undefined }),
    annotations: fc.option(labels, { nil: undefined }),
    taints: fc.option(taints, { nil: undefined }),
    addresses: fc.option(addresses, { nil: undefined }),
  })
  .map(
    (one) =>
      JSON.parse(
        JSON.stringify({
          metadata: { ...metadata, labels: one.labels, annotations: one.annotations },
          spec: { taints: one.taints },
          status: { addresses: one.addresses },
        }),
      ) as Node,
  );

const stepsOf = (patch: Patch | undefined) =>
  patch?.contentType === "application/json-patch+json" ? patch : undefined;

/** The object, without what the server treats as absent. */
const normal = (object: object): unknown =>
  JSON.parse(
    JSON.stringify(object, (_, value) => (Array.isArray(value) && value.length === 0 ? undefined : value)),
  );

test("a merge patch of a Node has the effect of its JSON patch on the same version", () => {
  const change = fc.record({
    node,
    set: fc.dictionary(key, fc.option(fc.constantFrom("1", "3"), { nil: undefined })),
    wanted: fc.option(taints as fc.Arbitrary<Taint[]>, { nil: undefined }),
    at: addresses as fc.Arbitrary<NodeAddress[]>,
  });
  fc.assert(
    fc.property(change, ({ node: before, set, wanted, at }) => {
      const all = { node: before, labels: set, annotations: set, providerID: "x://1" };
      const ofNode = guardedNodePatch({ ...all, ...(wanted !== undefined && { taints: wanted }) });
      for (const patch of [stepsOf(ofNode), stepsOf(nodeAddressesPatch(before, at))]) {
        if (patch === undefined) continue;
        const merge = asMergePatch(before, patch);
        const after = applyStrategicMergePatch(
          before as unknown as JsonObject,
          (merge?.body ?? {}) as JsonObject,
          "Node",
        );
        expect(merge?.subresource).toBe(patch.subresource);
        expect(normal(after)).toEqual(normal(applySteps(before, patch.body)));
      }
    }),
  );
});

test("a merge patch names the uid and the version", () => {
  const known: Node = { metadata, spec: {}, status: {} };
  const patch = stepsOf(guardedNodePatch({ node: known, labels: { a: "1" } }));
  expect(patch && asMergePatch(known, patch)?.body).toEqual({
    metadata: { uid: "u", resourceVersion: "7", labels: { a: "1" } },
  });
});

test("a failed guard, a list that merges, and an object that exists need a JSON patch", () => {
  const object = { metadata: { ...metadata, finalizers: ["other"] }, status: { loadBalancer: {} } };
  const finalizers = stepsOf(finalizerPatch(object, "own", "present"));
  expect(finalizers && asMergePatch(object, finalizers)).toBeUndefined();
  for (const steps of [
    [testValue("/metadata/uid", "another"), { op: "add", path: "/metadata/labels", value: { a: "1" } }],
    [{ op: "add", path: "/status/loadBalancer", value: {} }],
  ] as const)
    expect(asMergePatch(object, { body: steps })).toBeUndefined();
});

const known: Node = { metadata, spec: {}, status: {} };
const identify = jsonPatch([
  testValue("/metadata/uid", "u"),
  { op: "add", path: "/spec/providerID", value: "x://1" },
]);

test("the client applies an accepted patch to the object, of which the server sends only the metadata", async () => {
  const { api, seen } = scripted(() =>
    json({ kind: "PartialObjectMetadata", metadata: { ...metadata, resourceVersion: "9" } }),
  );
  const written = await api.patchKnown(nodes, known, identify, never);
  expect([written.spec.providerID, written.metadata.resourceVersion]).toEqual(["x://1", "9"]);
  expect(seen.map(({ headers }) => headers?.["content-type"])).toEqual([
    "application/strategic-merge-patch+json",
  ]);
});

test("after a conflict, the client sends the JSON patch, and returns the object with other clients' changes", async () => {
  const taints = [{ key: "other", effect: "NoExecute" }];
  const { api, seen } = scripted(({ headers = {} }) =>
    headers["content-type"] === "application/json-patch+json" && headers["accept"] === "application/json"
      ? json({
          metadata: { ...metadata, resourceVersion: "9" },
          spec: { providerID: "x://1", taints },
          status: {},
        })
      : json({ kind: "Status", reason: "Conflict", code: 409 }, 409),
  );
  const written = await api.patchKnown(nodes, known, identify, never);
  expect(written.spec).toEqual({ providerID: "x://1", taints });
  expect(written.metadata.resourceVersion).toBe("9");
  expect(seen.map(({ headers }) => headers?.["content-type"])).toEqual([
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
  ]);
});
