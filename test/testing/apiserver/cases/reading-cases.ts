// How an API server lists and watches. Each case applies to the test API server and a real one.

import { expect } from "bun:test";
import { listAt, textAt, valueAt } from "../../../../src/testing/apiserver/objects/json.ts";
import { call, mergePatch, type Target, type TwinCase, watchLines } from "./target.ts";

const makeLabelled = async (target: Target): Promise<{ path: string; selector: string }> => {
  const group = target.unique("group");
  const name = target.unique("node");
  await call(target, "POST", "/api/v1/nodes", { metadata: { name, labels: { group } } });
  return { path: `/api/v1/nodes/${name}`, selector: `labelSelector=group%3D${group}` };
};

export const readingCases: readonly TwinCase[] = [
  {
    name: "lists in pages of one revision",
    run: async (target) => {
      const group = target.unique("group");
      const create = () =>
        call(target, "POST", "/api/v1/nodes", {
          metadata: { name: target.unique("node"), labels: { group } },
        });
      for (let count = 0; count < 3; count++) await create();
      const path = `/api/v1/nodes?labelSelector=group%3D${group}&limit=2`;
      const first = await call(target, "GET", path);
      expect(listAt(first.body, "items")).toHaveLength(2);
      await create();
      const token = textAt(first.body, "metadata", "continue");
      const second = await call(target, "GET", `${path}&continue=${encodeURIComponent(token)}`);
      expect(listAt(second.body, "items")).toHaveLength(1);
      expect(textAt(second.body, "metadata", "continue")).toBe("");
      expect(textAt(second.body, "metadata", "resourceVersion")).toBe(
        textAt(first.body, "metadata", "resourceVersion"),
      );
    },
  },
  {
    name: "rejects unknown continue tokens, and versions that are not numbers",
    run: async (target) => {
      expect((await call(target, "GET", "/api/v1/nodes?limit=1&continue=zzz")).code).toBe(400);
      expect((await call(target, "GET", "/api/v1/nodes?resourceVersion=abc")).code).toBe(400);
      expect((await call(target, "GET", "/api/v1/nodes?resourceVersionMatch=Exact")).code).toBe(422);
    },
  },
  {
    name: "selects by labels, by sets of labels and by fields",
    run: async (target) => {
      const { path, selector } = await makeLabelled(target);
      const name = path.slice(path.lastIndexOf("/") + 1);
      const group = decodeURIComponent(selector).split("=").at(-1) ?? "";
      const count = async (query: string) =>
        listAt((await call(target, "GET", `/api/v1/nodes?${query}`)).body, "items").length;
      const labels = (text: string) => `labelSelector=${encodeURIComponent(text)}`;
      expect(await count(labels(`group=${group}`))).toBe(1);
      expect(await count(labels(`group in (${group}, other), !absent`))).toBe(1);
      expect(
        await count(`${labels(`group notin (${group}),group`)}&fieldSelector=metadata.name%3D${name}`),
      ).toBe(0);
      expect(await count(`fieldSelector=metadata.name%3D${name}`)).toBe(1);
      expect((await call(target, "GET", `/api/v1/nodes?${labels("a b c")}`)).code).toBe(400);
    },
  },
  {
    name: "streams a list and ends it with a bookmark",
    streams: true,
    run: async (target) => {
      const { selector } = await makeLabelled(target);
      const path = `/api/v1/nodes?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&${selector}`;
      const [added, bookmark] = await watchLines(target, path, 2);
      expect(added?.type).toBe("ADDED");
      expect(bookmark?.type).toBe("BOOKMARK");
      expect(valueAt(bookmark?.object, "metadata", "annotations", "k8s.io/initial-events-end")).toBe("true");
      expect(bookmark?.object).toMatchObject({ kind: "Node", apiVersion: "v1" });
    },
  },
  {
    name: "rejects a streaming list without resourceVersionMatch",
    run: async (target) => {
      expect((await call(target, "GET", "/api/v1/nodes?watch=1&sendInitialEvents=true")).code).toBe(422);
      expect((await call(target, "GET", "/api/v1/nodes?sendInitialEvents=true")).code).toBe(422);
    },
  },
  {
    name: "watches from a version, and a deleted object has a newer version",
    run: async (target) => {
      const { path, selector } = await makeLabelled(target);
      const before = await call(target, "GET", `/api/v1/nodes?${selector}`);
      const version = textAt(before.body, "metadata", "resourceVersion");
      const lines = await watchLines(
        target,
        `/api/v1/nodes?watch=1&resourceVersion=${version}&${selector}`,
        2,
        async () => {
          await call(target, "PATCH", path, { spec: { unschedulable: true } }, mergePatch);
          await call(target, "DELETE", path);
        },
      );
      expect(lines.map(({ type }) => type)).toEqual(["MODIFIED", "DELETED"]);
      const [changed, deleted] = lines.map(({ object }) =>
        Number(textAt(object, "metadata", "resourceVersion")),
      );
      expect(deleted).toBeGreaterThan(changed ?? 0);
    },
  },
  {
    name: "reports an object that starts or stops matching a selector as added or deleted",
    run: async (target) => {
      const { path, selector } = await makeLabelled(target);
      const version = textAt((await call(target, "GET", path)).body, "metadata", "resourceVersion");
      const label = (group: string | null) =>
        call(target, "PATCH", path, { metadata: { labels: { group } } }, mergePatch);
      const group = decodeURIComponent(selector).split("=").at(-1) ?? "";
      const lines = await watchLines(
        target,
        `/api/v1/nodes?watch=1&resourceVersion=${version}&${selector}`,
        2,
        async () => {
          await label(null);
          await label(group);
        },
      );
      expect(lines.map(({ type }) => type)).toEqual(["DELETED", "ADDED"]);
      expect(valueAt(lines[0]?.object, "metadata", "labels", "group")).toBe(group);
    },
  },
  {
    name: "answers unknown resources, names and tokens with a Status",
    run: async (target) => {
      expect((await call(target, "GET", "/api/v1/frobs")).body).toMatchObject({
        reason: "NotFound",
        details: {},
      });
      expect((await call(target, "GET", "/api/v1/nodes/none")).body).toEqual({
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: 'nodes "none" not found',
        reason: "NotFound",
        details: { name: "none", kind: "nodes" },
        code: 404,
      });
      const anonymous = {
        ...target,
        headers: { authorization: "Bearer wrong" },
        ...(target.tls?.ca !== undefined && { tls: { ca: target.tls.ca } }),
      };
      expect((await call(anonymous, "GET", "/api/v1/nodes")).code).toBe(401);
    },
  },
  {
    name: "answers reviews",
    run: async (target) => {
      const allowed = await call(target, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
        kind: "SelfSubjectAccessReview",
        apiVersion: "authorization.k8s.io/v1",
        spec: { resourceAttributes: { verb: "get", resource: "nodes" } },
      });
      expect([allowed.code, valueAt(allowed.body, "status", "allowed")]).toEqual([201, true]);
      const token = await call(target, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
        kind: "TokenReview",
        apiVersion: "authentication.k8s.io/v1",
        spec: { token: "wrong" },
      });
      expect(valueAt(token.body, "status", "authenticated")).toBeUndefined();
    },
  },
];
