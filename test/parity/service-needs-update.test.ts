import { describe, expect, test } from "bun:test";
import { needsCleanup } from "../../src/controllers/service/predicates.ts";
import { isRelevantChange } from "../../src/controllers/service/queue/relevant-change.ts";
import type { Service, ServicePort } from "../../src/kube/objects.ts";
import { lbFinalizer, type ServiceDraft, toService } from "../controllers/service/service-draft.ts";
import { upstreamNeedsCleanup, upstreamNeedsUpdate } from "../support/upstream-services.ts";

// Rows of upstream's test catalogue, upstream's controllers/service/controller_test.go: which Services need something. Where ours
// differs on purpose, the row is there twice.

const deletionTimestamp = "2026-01-01T00:00:00Z";

describe("TestNeedsCleanup", () => {
  const cases: readonly [number, string, ServiceDraft, boolean][] = [
    [1, "no finalizer", {}, false],
    [2, "finalizer, NodePort", { finalizers: [lbFinalizer], spec: { type: "NodePort" } }, true],
    [3, "finalizer, LoadBalancer", { finalizers: [lbFinalizer] }, false],
    [
      4,
      "finalizer, deletionTimestamp, type empty",
      { finalizers: [lbFinalizer], deletionTimestamp, spec: { type: "" } },
      true,
    ],
  ];
  test.each(cases)("TestNeedsCleanup %d: %s", (_, _name, draft, expected) => {
    const service = toService(draft);
    expect(needsCleanup(service)).toBe(expected);
    expect(upstreamNeedsCleanup(service)).toBe(expected);
  });
});

type Row = readonly [number, string, ServiceDraft, ServiceDraft, boolean];

const port = (more: Partial<ServicePort>): ServicePort => ({ name: "p", protocol: "TCP", port: 80, ...more });
const ports = (...all: readonly ServicePort[]): ServiceDraft => ({
  spec: { type: "LoadBalancer", ports: all },
});
const spec = (more: Service["spec"]): ServiceDraft => ({ spec: { type: "LoadBalancer", ...more } });
const several = (...numbers: readonly number[]): ServiceDraft =>
  ports(...numbers.map((each) => port({ name: `p${each}`, port: each })));
const dual = ["IPv4", "IPv6"];

const rows: readonly Row[] = [
  [1, "LoadBalancer becomes ClusterIP", {}, spec({ type: "ClusterIP" }), true],
  [2, "other ports", several(8000, 9000, 10000), several(8001, 9001, 10001), true],
  [
    3,
    "one external IP more",
    spec({ externalIPs: ["1.1.1.1"] }),
    spec({ externalIPs: ["1.1.1.1", "2.2.2.2"] }),
    true,
  ],
  [4, "other external IPs", spec({ externalIPs: ["1.1.1.1"] }), spec({ externalIPs: ["3.3.3.3"] }), true],
  [5, "another uid", { uid: "UID old" }, { uid: "UID new" }, true],
  [6, "externalTrafficPolicy", {}, spec({ externalTrafficPolicy: "Local" }), true],
  [7, "healthCheckNodePort", spec({ healthCheckNodePort: 0 }), spec({ healthCheckNodePort: 30_123 }), true],
  [8, "targetPort", ports(port({ targetPort: 20 })), ports(port({ targetPort: 21 })), true],
  [9, "targetPort by name", ports(port({ targetPort: 22 })), ports(port({ targetPort: "dns" })), true],
  [10, "an identical copy", several(8000, 9000), several(8000, 9000), false],
  [11, "ipFamilies, one more", spec({ ipFamilies: ["IPv4"] }), spec({ ipFamilies: dual }), true],
  [12, "ipFamilies, one less", spec({ ipFamilies: dual }), spec({ ipFamilies: ["IPv4"] }), true],
  [13, "ipFamilies, identical", spec({ ipFamilies: dual }), spec({ ipFamilies: [...dual] }), false],
  [14, "appProtocol set", ports(port({})), ports(port({ appProtocol: "http" })), true],
  [
    15,
    "appProtocol changed",
    ports(port({ appProtocol: "http" })),
    ports(port({ appProtocol: "tcp" })),
    true,
  ],
];

const ours = (before: ServiceDraft, after: ServiceDraft): boolean =>
  isRelevantChange(toService(before), toService(after), (key) => key.startsWith("lb.example/"));

describe("TestNeedsUpdate", () => {
  test.each(rows)("TestNeedsUpdate %d: %s", (_, _name, before, after, expected) => {
    // The first row changes the type alone, the others keep it.
    expect(upstreamNeedsUpdate(toService(before), toService(after))).toBe(expected);
    expect(ours(before, after)).toBe(expected);
  });

  test("TestNeedsUpdate 9: a number and the text of that number are two things", () => {
    const [before, after] = [ports(port({ targetPort: 22 })), ports(port({ targetPort: "22" }))];
    expect([upstreamNeedsUpdate(toService(before), toService(after)), ours(before, after)]).toEqual([
      true,
      true,
    ]);
  });
});

describe("needsUpdate, the rows of §4.4 that no Go test pins (§9.15, 3)", () => {
  const sticky = (timeoutSeconds: number) =>
    spec({ sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds } } });
  const cases: readonly Row[] = [
    [1, "neither wants a balancer", spec({ type: "NodePort" }), spec({ type: "ClusterIP" }), false],
    [2, "a class is given", {}, spec({ loadBalancerClass: "a.example/b" }), true],
    [2, "a class is taken away", spec({ loadBalancerClass: "a.example/b" }), {}, true],
    [3, "source ranges", {}, spec({ loadBalancerSourceRanges: ["10.0.0.0/8"] }), true],
    [
      3,
      "source ranges in another order",
      spec({ loadBalancerSourceRanges: ["10.0.0.0/8", "11.0.0.0/8"] }),
      spec({ loadBalancerSourceRanges: ["11.0.0.0/8", "10.0.0.0/8"] }),
      true,
    ],
    [4, "the name of a port", ports(port({})), ports(port({ name: "q" })), true],
    [4, "the protocol of a port", ports(port({})), ports(port({ protocol: "UDP" })), true],
    [4, "the node port of a port", ports(port({})), ports(port({ nodePort: 30_000 })), true],
    [4, "ports in another order", several(1, 2), several(2, 1), true],
    [5, "session affinity", {}, spec({ sessionAffinity: "ClientIP" }), true],
    [6, "its time", sticky(10), sticky(11), true],
    [7, "loadBalancerIP", {}, spec({ loadBalancerIP: "1.2.3.4" }), true],
    [9, "an annotation of the provider", {}, { annotations: { "lb.example/a": "1" } }, true],
    [14, "labels", {}, { labels: { a: "b" } }, false],
    [14, "the cluster IP", {}, spec({ clusterIP: "10.0.0.1" }), false],
    [14, "internalTrafficPolicy", {}, spec({ internalTrafficPolicy: "Local" }), false],
    [14, "publishNotReadyAddresses", {}, spec({ publishNotReadyAddresses: true }), false],
  ];
  test.each(cases)("needsUpdate row %d: %s", (_, _name, before, after, expected) => {
    const draft = (each: ServiceDraft) => toService({ ...each, spec: each.spec ?? { type: "LoadBalancer" } });
    expect(upstreamNeedsUpdate(draft(before), draft(after))).toBe(expected);
    expect(isRelevantChange(draft(before), draft(after), (key) => key.startsWith("lb.example/"))).toBe(
      expected,
    );
  });

  const changed: readonly [string, ServiceDraft, ServiceDraft, upstream: boolean][] = [
    ["row 9: an annotation of somebody else", {}, { annotations: { "gitops.example/a": "1" } }, true],
    [
      "row 13: ipFamilies in another order",
      spec({ ipFamilies: dual }),
      spec({ ipFamilies: dual.toReversed() }),
      false,
    ],
    ["row 13: another family", spec({ ipFamilies: ["IPv4"] }), spec({ ipFamilies: ["IPv6"] }), false],
    ["row 14: ipFamilyPolicy", {}, spec({ ipFamilyPolicy: "RequireDualStack" }), false],
    ["row 14: allocateLoadBalancerNodePorts", {}, spec({ allocateLoadBalancerNodePorts: false }), false],
    ["row 14: the status", {}, { status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } } }, false],
    ["row 14: our finalizer, stripped", { finalizers: [lbFinalizer] }, {}, false],
    [
      "row 14: deletionTimestamp",
      { finalizers: [lbFinalizer] },
      { finalizers: [lbFinalizer], deletionTimestamp },
      false,
    ],
  ];
  const draft = (each: ServiceDraft) => toService({ ...each, spec: each.spec ?? { type: "LoadBalancer" } });
  test.each(changed)("needsUpdate %s: as upstream", (_, before, after, upstream) => {
    expect(upstreamNeedsUpdate(draft(before), draft(after))).toBe(upstream);
  });
  test.each(changed)("needsUpdate %s: the other way round, as we do", (_, before, after, upstream) => {
    expect(isRelevantChange(draft(before), draft(after), (key) => key.startsWith("lb.example/"))).toBe(
      !upstream,
    );
  });
});
