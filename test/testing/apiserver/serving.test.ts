// The features that kubectl needs besides objects: tables, discovery, and request bodies in protobuf.

import { describe, expect, test } from "bun:test";
import { minutes } from "../../../src/core/brand.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { ApiServer } from "../../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../../src/testing/apiserver/as-transport.ts";
import { readProtobuf } from "../../../src/testing/apiserver/http/protobuf.ts";
import { humanDuration } from "../../../src/testing/apiserver/http/table.ts";
import { isObject, type JsonObject, listAt, valueAt } from "../../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

const table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

const start = () => {
  const clock = new VirtualClock();
  const server = new ApiServer({ clock, random: seededRandom(1) });
  const transport = asTransport(server);
  const get = async (path: string, accept = "application/json"): Promise<JsonObject> => {
    const response = await transport(
      { method: "GET", url: `http://test-api-server${path}`, headers: { accept } },
      new AbortController().signal,
    );
    const body: unknown = await response.json();
    return isObject(body) ? body : {};
  };
  const cells = async (path: string) =>
    listAt(await get(path, table), "rows").map((row) => listAt(row, "cells"));
  return { clock, server, transport, get, cells };
};

describe("a table", () => {
  test("shows Nodes with status, roles, age and version", async () => {
    const { clock, server, cells } = start();
    server.objects.create(resourceNamed("nodes"), "", {
      metadata: { name: "n", labels: { "node-role.kubernetes.io/control-plane": "" } },
      spec: { unschedulable: true },
      status: { conditions: [{ type: "Ready", status: "True" }], nodeInfo: { kubeletVersion: "v1.35.4" } },
    });
    await clock.advance(minutes(3));
    const [row] = await cells("/api/v1/nodes");
    expect(row?.slice(0, 5)).toEqual(["n", "Ready,SchedulingDisabled", "control-plane", "3m", "v1.35.4"]);
  });

  test("shows Services without an address as <pending>", async () => {
    const { server, cells } = start();
    server.objects.create(resourceNamed("services"), "default", {
      metadata: { name: "web" },
      spec: { type: "LoadBalancer", ports: [{ port: 80, nodePort: 30_080 }] },
    });
    const [, row] = await cells("/api/v1/services");
    expect([row?.[0], row?.[1], row?.[3], row?.[4]]).toEqual([
      "web",
      "LoadBalancer",
      "<pending>",
      "80:30080/TCP",
    ]);
  });

  test("includes the whole object or its metadata, as includeObject requests", async () => {
    const { get } = start();
    const path = "/api/v1/namespaces/default";
    const kinds = ["", "?includeObject=Object", "?includeObject=None"].map(async (query) =>
      valueAt(listAt(await get(`${path}${query}`, table), "rows")[0], "object", "kind"),
    );
    expect(await Promise.all(kinds)).toEqual(["PartialObjectMetadata", "Namespace", undefined]);
  });

  test.each([
    [59, "59s"],
    [119, "119s"],
    [180, "3m"],
    [183, "3m3s"],
    [3 * 3600, "3h"],
    [4 * 3600 + 300, "4h5m"],
    [47 * 3600, "47h"],
    [3 * 86_400, "3d"],
    [800 * 86_400, "2y70d"],
  ])("formats %i seconds as %s", (elapsed, expected) => {
    expect(humanDuration(elapsed * 1000)).toBe(expected);
  });
});

describe("discovery", () => {
  test("lists every group and resource", async () => {
    const { get } = start();
    const groups = listAt(await get("/apis"), "groups").map((group) => valueAt(group, "name"));
    expect(groups).toContain("coordination.k8s.io");
    const core = listAt(await get("/api/v1"), "resources").map((each) => valueAt(each, "name"));
    expect(core).toEqual(
      expect.arrayContaining(["nodes", "nodes/status", "services/status", "serviceaccounts"]),
    );
    expect(await get("/apis/discovery.k8s.io/v1")).toMatchObject({ groupVersion: "discovery.k8s.io/v1" });
  });

  test("declares server-side field validation in OpenAPI, for kubectl apply", async () => {
    const { get } = start();
    expect(await get("/openapi/v3")).toMatchObject({
      paths: { "api/v1": { serverRelativeURL: "/openapi/v3/api/v1?hash=1" } },
    });
    const document = await get("/openapi/v3/api/v1?hash=1");
    const parameters = listAt(document, "paths", "/api/v1/nodes/{name}", "patch", "parameters");
    expect(parameters.map((each) => valueAt(each, "name"))).toContain("fieldValidation");
  });
});

const field = (number: number, content: Uint8Array | string): number[] => {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return [(number << 3) | 2, bytes.length, ...bytes];
};
const message = (...fields: readonly number[][]): Uint8Array<ArrayBuffer> => Uint8Array.from(fields.flat());

const configMap = message(
  [0x6b, 0x38, 0x73, 0x00],
  field(1, message(field(1, "v1"), field(2, "ConfigMap"))),
  field(
    2,
    message(
      field(1, message(field(1, "cm"), field(3, ""))),
      field(2, message(field(1, "key"), field(2, "value"))),
      field(2, message(field(1, "other"), field(2, ""))),
    ),
  ),
);

describe("protobuf", () => {
  test("is accepted where kubectl sends it", async () => {
    const { server, transport } = start();
    const url = "http://test-api-server/api/v1/namespaces/default/configmaps";
    const headers = { "content-type": "application/vnd.kubernetes.protobuf" };
    const { status } = await transport(
      { method: "POST", url, headers, body: configMap },
      new AbortController().signal,
    );
    expect(status).toBe(201);
    expect(server.store.get("configmaps", "default", "cm")?.["data"]).toEqual({ key: "value", other: "" });
  });

  test("is rejected when it is truncated or has another format", () => {
    expect(() => readProtobuf(configMap.slice(0, -3))).toThrow(RangeError);
    expect(() => readProtobuf(message([1, 2, 3, 4]))).toThrow("does not start with");
  });
});
