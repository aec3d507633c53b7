// The features that kubectl and Go managers need besides objects: tables, discovery, and request bodies in protobuf.

import { describe, expect, test } from "bun:test";
import { minutes } from "../../../src/core/brand.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { ApiServer } from "../../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../../src/testing/apiserver/as-transport.ts";
import { readProtobuf } from "../../../src/testing/apiserver/http/protobuf.ts";
import { humanDuration } from "../../../src/testing/apiserver/http/table-columns.ts";
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
  test("a table shows Nodes with status, roles, age and version", async () => {
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

  test("a table shows Services without an address as <pending>", async () => {
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

  test("a table includes the whole object or its metadata, as includeObject requests", async () => {
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
  ])("a table formats %i seconds as %s", (elapsed, expected) => {
    expect(humanDuration(elapsed * 1000)).toBe(expected);
  });
});

describe("discovery", () => {
  test("discovery lists every group and resource", async () => {
    const { get } = start();
    const groups = listAt(await get("/apis"), "groups").map((group) => valueAt(group, "name"));
    expect(groups).toContain("coordination.k8s.io");
    const core = listAt(await get("/api/v1"), "resources").map((each) => valueAt(each, "name"));
    expect(core).toEqual(
      expect.arrayContaining(["nodes", "nodes/status", "services/status", "serviceaccounts"]),
    );
    expect(await get("/apis/discovery.k8s.io/v1")).toMatchObject({ groupVersion: "discovery.k8s.io/v1" });
  });

  test("OpenAPI declares server-side field validation for kubectl apply", async () => {
    const { get } = start();
    expect(await get("/openapi/v3")).toMatchObject({
      paths: { "api/v1": { serverRelativeURL: "/openapi/v3/api/v1?hash=1" } },
    });
    const document = await get("/openapi/v3/api/v1?hash=1");
    const parameters = listAt(document, "paths", "/api/v1/nodes/{name}", "patch", "parameters");
    expect(parameters.map((each) => valueAt(each, "name"))).toContain("fieldValidation");
  });
});

/** A text, an embedded message, or an unsigned integer. */
const field = (number: number, content: Uint8Array | string | number): number[] => {
  if (typeof content === "number") return [...varint(number << 3), ...varint(content)];
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return [...varint((number << 3) | 2), ...varint(bytes.length), ...bytes];
};
const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))];
const message = (...fields: readonly number[][]): Uint8Array<ArrayBuffer> => Uint8Array.from(fields.flat());
const envelope = (kind: string, object: Uint8Array): Uint8Array<ArrayBuffer> =>
  message([0x6b, 0x38, 0x73, 0x00], field(1, message(field(1, "v1"), field(2, kind))), field(2, object));

const configMap = envelope(
  "ConfigMap",
  message(
    field(1, message(field(1, "cm"), field(3, ""))),
    field(2, message(field(1, "key"), field(2, "value"))),
    field(2, message(field(1, "other"), field(2, ""))),
  ),
);

// A Node in the form of the Go managers: with all members that are not optional, including empty ones.
const time = field(1, 1_700_000_000);
const metadata = (name: string, ...more: readonly number[][]) =>
  message(
    field(1, name),
    field(2, ""),
    field(3, ""),
    field(4, ""),
    field(7, 0),
    field(8, message()),
    ...more,
  );
const taint = message(field(1, "a/b"), field(2, ""), field(3, "NoSchedule"), field(4, message(time)));
const address = message(field(1, "InternalIP"), field(2, "10.0.0.2"));
const quantity = message(field(1, "cpu"), field(2, message(field(1, "2"))));
const node = (...more: readonly number[][]) =>
  envelope(
    "Node",
    message(
      field(1, metadata("n", field(11, message(field(1, "zone"), field(2, "z1"))))),
      field(2, message(field(3, "hcloud://1"), field(4, 0), field(5, taint), field(7, "10.244.0.0/24"))),
      field(3, message(field(1, quantity), field(5, address))),
      ...more,
    ),
  );
const event = envelope(
  "Event",
  message(
    field(1, metadata("n.1", field(3, "default"))),
    ...[field(2, message(field(1, "Node"), field(3, "n"))), field(3, "Synced"), field(4, "Node synced")],
    ...[field(6, message(time)), field(7, message(time)), field(8, 3), field(9, "Normal")],
    field(10, message(time, field(2, 250_000_000))),
  ),
);

describe("protobuf", () => {
  test("protobuf is accepted where kubectl sends it", async () => {
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

  const send = async (method: string, path: string, body: Uint8Array<ArrayBuffer>) => {
    const { server, transport } = start();
    server.objects.create(resourceNamed("nodes"), "", { metadata: { name: "n" } });
    const headers = { "content-type": "application/vnd.kubernetes.protobuf" };
    const url = `http://test-api-server/api/v1${path}`;
    const response = await transport({ method, url, headers, body }, new AbortController().signal);
    return { server, status: response.status, answer: (await response.json()) as JsonObject };
  };

  test("protobuf is accepted for Nodes and their status, as Go managers write them [N26]", async () => {
    const { status, answer } = await send("PUT", "/nodes/n", node());
    expect([status, answer["metadata"]]).toMatchObject([200, { name: "n", labels: { zone: "z1" } }]);
    expect(answer["spec"]).toEqual({
      providerID: "hcloud://1",
      podCIDRs: ["10.244.0.0/24"],
      podCIDR: "10.244.0.0/24",
      taints: [{ key: "a/b", effect: "NoSchedule", timeAdded: "2023-11-14T22:13:20Z" }],
    });
    const changed = await send("PUT", "/nodes/n/status", node());
    expect(changed.answer["status"]).toMatchObject({
      capacity: { cpu: "2" },
      addresses: [{ type: "InternalIP", address: "10.0.0.2" }],
    });
  });

  test("protobuf is accepted for Events, with seconds and microseconds in their times [N26]", async () => {
    const { status, answer } = await send("POST", "/namespaces/default/events", event);
    expect([status, answer]).toMatchObject([
      201,
      {
        involvedObject: { kind: "Node", name: "n" },
        reason: "Synced",
        message: "Node synced",
        type: "Normal",
        count: 3,
        firstTimestamp: "2023-11-14T22:13:20Z",
        eventTime: "2023-11-14T22:13:20.250000Z",
      },
    ]);
  });

  test("protobuf is rejected with 415 for a kind or a field that the server does not decode [N26]", async () => {
    const way =
      "from protobuf, so nothing is stored. Start the client with --kube-api-content-type=application/json.";
    const pod = await send("POST", "/namespaces/default/configmaps", envelope("Pod", message()));
    expect([pod.status, pod.answer["message"]]).toEqual([
      415,
      `The test API server does not decode Pod ${way}`,
    ]);
    const future = await send("PUT", "/nodes/n", node(field(99, "new")));
    expect([future.status, future.answer["message"]]).toEqual([
      415,
      `The test API server does not decode field 99 of Node ${way}`,
    ]);
    expect(future.server.store.get("nodes", "", "n")?.metadata.labels).toBeUndefined();
  });

  test("protobuf is rejected when it is truncated or has a different format", () => {
    expect(() => readProtobuf(configMap.slice(0, -3))).toThrow(RangeError);
    expect(() => readProtobuf(message([1, 2, 3, 4]))).toThrow("does not start with");
  });
});
