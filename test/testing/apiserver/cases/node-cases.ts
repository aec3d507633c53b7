// How an API server treats Nodes, as far as Fairlead's patches rely on it. Each case applies to the test API server
// and a real one.

import { expect } from "bun:test";
import { listAt, objectAt, textAt, valueAt } from "../../../../src/testing/apiserver/objects/json.ts";
import { call, json, jsonPatch, makeNode, mergePatch, strategicPatch, type TwinCase } from "./target.ts";

const uninitialized = {
  key: "node.cloudprovider.kubernetes.io/uninitialized",
  value: "true",
  effect: "NoSchedule",
};

export const nodeCases: readonly TwinCase[] = [
  {
    name: "adds the not-ready taint to a new Node and sets no generation",
    run: async (target) => {
      const node = await makeNode(target, { spec: { taints: [uninitialized] } });
      expect(listAt(node, "spec", "taints")).toEqual([
        uninitialized,
        { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
      ]);
      expect(valueAt(node, "metadata", "generation")).toBeUndefined();
    },
  },
  {
    name: "answers a failed JSON patch test with 422 and changes nothing",
    run: async (target) => {
      const { path } = await makeNode(target);
      const patch = [
        { op: "test", path: "/metadata/uid", value: "another" },
        { op: "add", path: "/spec/providerID", value: "x://1" },
      ];
      const { code, body } = await call(target, "PATCH", path, patch, jsonPatch);
      expect(code).toBe(422);
      expect(body["reason"]).toBe("Invalid");
      expect(body["message"]).toBe("the server rejected our request due to an error in our request");
      const after = await call(target, "GET", path);
      expect(textAt(after.body, "spec", "providerID")).toBe("");
    },
  },
  {
    name: "answers a patch with PartialObjectMetadata when requested, and errors with a Status",
    run: async (target) => {
      const { path } = await makeNode(target);
      const accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
      const patch = [{ op: "add", path: "/spec/providerID", value: "x://1" }];
      const { code, body } = await call(target, "PATCH", path, patch, jsonPatch, accept);
      expect([code, body["kind"], body["apiVersion"]]).toEqual([
        200,
        "PartialObjectMetadata",
        "meta.k8s.io/v1",
      ]);
      expect(Object.keys(body).toSorted()).toEqual(["apiVersion", "kind", "metadata"]);
      const after = await call(target, "GET", path);
      expect(body["metadata"]).toEqual(valueAt(after.body, "metadata"));
      const wrong = [{ op: "test", path: "/spec/providerID", value: "y" }];
      expect((await call(target, "PATCH", path, wrong, jsonPatch, accept)).body["kind"]).toBe("Status");
    },
  },
  {
    name: "initializes a Node in one guarded JSON patch",
    run: async (target) => {
      const { path, ...node } = await makeNode(target, { spec: { taints: [uninitialized] } });
      const patch = [
        { op: "test", path: "/metadata/uid", value: textAt(node, "metadata", "uid") },
        { op: "test", path: "/spec/taints", value: listAt(node, "spec", "taints") },
        { op: "add", path: "/spec/providerID", value: "x://1" },
        { op: "add", path: "/metadata/labels", value: { "topology.kubernetes.io/zone": "z" } },
        { op: "remove", path: "/spec/taints/0" },
      ];
      const { code, body } = await call(target, "PATCH", path, patch, jsonPatch);
      expect(code).toBe(200);
      expect(body["spec"]).toEqual({
        providerID: "x://1",
        taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }],
      });
    },
  },
  {
    name: "accepts a test for null at a missing path",
    run: async (target) => {
      const { path } = await makeNode(target);
      const patch = [
        { op: "test", path: "/spec/providerID", value: null },
        { op: "add", path: "/spec/providerID", value: "x://1" },
      ];
      expect((await call(target, "PATCH", path, patch, jsonPatch)).code).toBe(200);
    },
  },
  {
    name: "omits a list that became empty",
    run: async (target) => {
      const { path } = await makeNode(target);
      const { body } = await call(target, "PATCH", path, { spec: { taints: [] } }, mergePatch);
      expect(objectAt(body, "spec")).toEqual({});
    },
  },
  {
    name: "rejects a changed provider id, an unknown taint effect and a duplicate taint",
    run: async (target) => {
      const { path } = await makeNode(target, { spec: { providerID: "x://1" } });
      const change = await call(target, "PATCH", path, { spec: { providerID: "x://2" } }, mergePatch);
      expect(change.code).toBe(422);
      // The text is "Forbidden" before 1.37, and "Invalid value" since then.
      expect(textAt(change.body, "message")).toContain("is invalid: spec.providerID: ");
      const taints = [{ key: "k", effect: "Never" }];
      const effect = await call(target, "PATCH", path, { spec: { taints } }, mergePatch);
      expect(effect.code).toBe(422);
      expect(textAt(effect.body, "message")).toContain('Unsupported value: "Never"');
      const twice = { key: "k", effect: "NoSchedule" };
      const duplicate = await call(target, "PATCH", path, { spec: { taints: [twice, twice] } }, mergePatch);
      expect(textAt(duplicate.body, "message")).toContain("taints must be unique by key and effect pair");
    },
  },
  {
    name: "rejects leading zeros in pod ranges, but not in addresses",
    since: 36,
    run: async (target) => {
      const podCIDR = "010.1.0.0/24";
      const { code, body } = await call(target, "POST", "/api/v1/nodes", {
        metadata: { name: target.unique("zeros") },
        spec: { podCIDR, podCIDRs: [podCIDR] },
      });
      expect(code).toBe(422);
      expect(textAt(body, "message")).toContain("must not have leading 0s in IP or prefix length");
      const { path } = await makeNode(target);
      const addresses = [{ type: "InternalIP", address: "010.0.0.1" }];
      expect(
        (await call(target, "PATCH", `${path}/status`, { status: { addresses } }, mergePatch)).code,
      ).toBe(200);
    },
  },
  {
    name: "ignores the status in a write of the Node and the spec in a write of its status",
    run: async (target) => {
      const { path } = await makeNode(target);
      const both = { spec: { unschedulable: true }, status: { phase: "Running" } };
      const main = await call(target, "PATCH", path, both, mergePatch);
      expect(main.body["spec"]).toMatchObject({ unschedulable: true });
      expect(valueAt(main.body, "status", "phase")).toBeUndefined();
      const status = await call(
        target,
        "PATCH",
        `${path}/status`,
        { ...both, spec: { unschedulable: null } },
        mergePatch,
      );
      expect(status.body["spec"]).toMatchObject({ unschedulable: true });
      expect(valueAt(status.body, "status", "phase")).toBe("Running");
    },
  },
  {
    name: "keeps labels that came with a write of the status",
    run: async (target) => {
      const { path } = await makeNode(target);
      const { body } = await call(
        target,
        "PATCH",
        `${path}/status`,
        { metadata: { labels: { a: "b" } } },
        mergePatch,
      );
      expect(valueAt(body, "metadata", "labels")).toEqual({ a: "b" });
    },
  },
  {
    name: "merges addresses and conditions by type, and replaces them with $patch: replace",
    run: async (target) => {
      const { path } = await makeNode(target);
      const patch = (status: unknown) => call(target, "PATCH", `${path}/status`, { status }, strategicPatch);
      const a = { type: "InternalIP", address: "10.0.0.1" };
      const b = { type: "ExternalIP", address: "1.2.3.4" };
      const c = { type: "InternalIP", address: "10.0.0.2" };
      await patch({ addresses: [a, b] });
      const merged = await patch({ addresses: [c] });
      expect(listAt(merged.body, "status", "addresses")).toEqual([c, b]);
      const replaced = await patch({ addresses: [a, { $patch: "replace" }] });
      expect(listAt(replaced.body, "status", "addresses")).toEqual([a]);
      await patch({ conditions: [{ type: "Ready", status: "True", reason: "R" }] });
      const conditions = await patch({ conditions: [{ type: "NetworkUnavailable", status: "False" }] });
      expect(
        listAt(conditions.body, "status", "conditions")
          .map((each) => textAt(each, "type"))
          .sort(),
      ).toEqual(["NetworkUnavailable", "Ready"]);
      const gone = await patch({ conditions: [{ type: "Ready", $patch: "delete" }] });
      expect(listAt(gone.body, "status", "conditions")).toHaveLength(1);
    },
  },
  {
    name: "replaces taints as a whole in a strategic merge patch",
    run: async (target) => {
      const { path } = await makeNode(target);
      const taints = [{ key: "k", effect: "NoSchedule" }];
      const { body } = await call(target, "PATCH", path, { spec: { taints } }, strategicPatch);
      expect(listAt(body, "spec", "taints")).toEqual(taints);
    },
  },
  {
    name: "writes nothing when a patch changes nothing",
    run: async (target) => {
      const { path, ...node } = await makeNode(target);
      const version = textAt(node, "metadata", "resourceVersion");
      const { body } = await call(target, "PATCH", path, { metadata: { labels: null } }, mergePatch);
      expect(textAt(body, "metadata", "resourceVersion")).toBe(version);
    },
  },
  {
    name: "rejects an update or patch of an old version with a conflict",
    run: async (target) => {
      const { path, name } = await makeNode(target);
      const old = { metadata: { name, resourceVersion: "1" } };
      for (const answer of [
        await call(target, "PUT", path, old),
        await call(target, "PATCH", path, old, mergePatch),
      ]) {
        expect(answer.code).toBe(409);
        expect(answer.body["reason"]).toBe("Conflict");
      }
    },
  },
  {
    name: "deletes only when the uid and version preconditions match",
    run: async (target) => {
      const { path, ...node } = await makeNode(target);
      const { uid, resourceVersion } = objectAt(node, "metadata");
      const wrongUid = await call(target, "DELETE", path, { preconditions: { uid: "other" } });
      const wrongVersion = await call(target, "DELETE", path, {
        preconditions: { uid, resourceVersion: "1" },
      });
      expect([wrongUid.code, wrongVersion.code]).toEqual([409, 409]);
      const right = await call(target, "DELETE", path, { preconditions: { uid, resourceVersion } });
      expect(right.code).toBe(200);
      expect(right.body).toMatchObject({
        kind: "Status",
        status: "Success",
        details: { kind: "nodes", uid },
      });
      expect((await call(target, "GET", path)).code).toBe(404);
    },
  },
  {
    name: "drops unknown fields with a warning, and rejects them with strict validation",
    run: async (target) => {
      const { path } = await makeNode(target);
      const patch = { spec: { foo: 1 }, bar: 3, metadata: { labels: { x: "y" } } };
      const warned = await call(target, "PATCH", `${path}?fieldValidation=Warn`, patch, mergePatch);
      expect(warned.code).toBe(200);
      expect(warned.warning).toContain('unknown field \\"bar\\"');
      expect(valueAt(warned.body, "spec", "foo")).toBeUndefined();
      const strict = await call(target, "PATCH", `${path}?fieldValidation=Strict`, patch, mergePatch);
      expect(strict.code).toBe(422);
      expect(textAt(strict.body, "message")).toContain(
        'strict decoding error: unknown field "bar", unknown field "spec.foo"',
      );
      const name = target.unique("strict");
      const created = await call(target, "POST", "/api/v1/nodes?fieldValidation=Strict", {
        metadata: { name },
        foo: 1,
      });
      expect(created.code).toBe(400);
    },
  },
  {
    name: "stores nothing in a dry run",
    run: async (target) => {
      const { path } = await makeNode(target);
      const labels = { metadata: { labels: { a: "b" } } };
      const dry = await call(target, "PATCH", `${path}?dryRun=All`, labels, mergePatch);
      expect(valueAt(dry.body, "metadata", "labels")).toEqual({ a: "b" });
      expect(valueAt((await call(target, "GET", path)).body, "metadata", "labels")).toBeUndefined();
    },
  },
  {
    name: "rejects incorrect types, names and media types",
    run: async (target) => {
      const { path, name } = await makeNode(target);
      expect((await call(target, "PATCH", path, { spec: { podCIDR: 5 } }, mergePatch)).code).toBe(422);
      expect((await call(target, "PATCH", path, { metadata: { name: "b" } }, mergePatch)).code).toBe(400);
      expect((await call(target, "PATCH", path, {}, "text/plain")).code).toBe(415);
      expect((await call(target, "POST", path, {}, json)).code).toBe(405);
      expect((await call(target, "POST", "/api/v1/nodes", { metadata: { name } })).code).toBe(409);
      expect((await call(target, "POST", "/api/v1/nodes", { metadata: { name: "A_b" } })).code).toBe(422);
      expect((await call(target, "POST", "/api/v1/nodes", { metadata: {} })).code).toBe(422);
      expect((await call(target, "GET", "/api/v1/nodes?fieldSelector=spec.foo%3Dx")).code).toBe(400);
    },
  },
];
