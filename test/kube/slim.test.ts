import { expect, test } from "bun:test";
import type { CertificateSigningRequest, EndpointSlice, Node, Service } from "../../src/kube/objects.ts";
import { slimEndpointSlice, slimNode, slimService, slimSigningRequest } from "../../src/kube/slim.ts";
import { parseSigningRequest } from "../../src/pki/signing-request.ts";

const applied = "kubectl.kubernetes.io/last-applied-configuration";
const metadata = { name: "a", uid: "u", resourceVersion: "1", labels: { zone: "z" } };

test("slimNode keeps the fields that Fairlead uses and drops images, managed fields and other tools' bookkeeping", () => {
  const raw = {
    metadata: {
      ...metadata,
      managedFields: [{}],
      annotations: { [applied]: "x", long: "x".repeat(5000), short: "y" },
    },
    spec: { providerID: "x://1", taints: [{ key: "k", effect: "NoSchedule" }], externalID: "old" },
    status: {
      images: [{ names: ["big"] }],
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "t", message: "m".repeat(1000) }],
      nodeInfo: { systemUUID: "s", machineID: "m", kernelVersion: "6" },
    },
  };
  expect(slimNode(raw as Node)).toEqual({
    metadata: { ...metadata, annotations: { short: "y" } },
    spec: { providerID: "x://1", taints: [{ key: "k", effect: "NoSchedule" }] },
    status: {
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
      conditions: [{ type: "Ready", status: "True" }],
      nodeInfo: { systemUUID: "s" },
    },
  });
});

test("slimNode keeps an empty map when it drops all annotations, so that a guard knows that the map exists", () => {
  const raw = { metadata: { ...metadata, annotations: { [applied]: "x" } }, spec: {}, status: {} };
  expect(slimNode(raw).metadata.annotations).toEqual({});
});

test("slimService keeps annotations of any length", () => {
  const annotations = { setting: "x".repeat(10_000), [applied]: "x" };
  const raw: Service = { metadata: { ...metadata, annotations }, spec: { type: "LoadBalancer" }, status: {} };
  expect(slimService(raw)).toEqual({
    metadata: { ...metadata, annotations: { setting: annotations.setting } },
    spec: { type: "LoadBalancer" },
    status: {},
  });
});

test("slimSigningRequest drops the content of requests that are decided or too long to be read", () => {
  const spec = { username: "u", groups: ["g"], usages: ["server auth"], signerName: "s" };
  const slim = (request: string, status: CertificateSigningRequest["status"] = {}) => {
    const raw = { metadata, spec: { ...spec, request, extra: { x: ["y"] } }, status };
    return slimSigningRequest(raw as CertificateSigningRequest);
  };
  expect(slim("pem")).toEqual({ metadata, spec: { ...spec, request: "pem" }, status: {} });
  const conditions = [{ type: "Approved", status: "True" }];
  expect(slim("pem", { conditions, certificate: "pem" })).toEqual({
    metadata,
    spec: { ...spec, request: "" },
    status: { conditions, certificate: "pem" },
  });
  const long = ["x", "y"].map((letter) => slim(letter.repeat(1_000_000)).spec.request);
  expect(long.map(({ length }) => length)).toEqual([65_536, 65_536]);
  const decoded = Buffer.from(long[0] ?? "", "base64").toString("latin1");
  expect(() => parseSigningRequest(decoded)).toThrow("more than 16384 bytes");
});

test("code that reads a dropped field does not compile", () => {
  const raw = {
    metadata: { ...metadata, managedFields: [{}] },
    spec: { externalID: "old" },
    status: {
      images: [{ names: ["big"] }],
      conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "t" }],
      nodeInfo: { systemUUID: "s", kernelVersion: "6" },
    },
    endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true, serving: true } }],
  };
  const node = slimNode(raw as unknown as Node);
  const slice = slimEndpointSlice(raw as unknown as EndpointSlice);
  const dropped: readonly unknown[] = [
    // @ts-expect-error: slimming drops this field, so reading it must not compile
    node.metadata.managedFields,
    // @ts-expect-error: slimming drops this field, so reading it must not compile
    node.spec.externalID,
    // @ts-expect-error: slimming drops this field, so reading it must not compile
    node.status.images,
    // @ts-expect-error: slimming drops this field, so reading it must not compile
    node.status.conditions?.[0]?.lastHeartbeatTime,
    // @ts-expect-error: slimming drops this field, so reading it must not compile
    node.status.nodeInfo?.kernelVersion,
    // @ts-expect-error: slimming drops this field, so reading it must not compile
    slice.endpoints?.[0]?.addresses,
    // @ts-expect-error: slimming drops this field, so reading it must not compile
    slice.endpoints?.[0]?.conditions?.serving,
  ];
  expect(dropped).toEqual(Array(7).fill(undefined));
});
