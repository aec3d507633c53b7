import { describe, expect, test } from "bun:test";
import { needsCleanup } from "../../src/controllers/service/predicates.ts";
import { servesWithoutClass } from "../../src/controllers/service/served-classes.ts";
import { isRelevantChange } from "../../src/controllers/service/triggers/relevant-change.ts";
import type { Service, ServicePort } from "../../src/kube/objects.ts";
import { lbFinalizer, type ServiceDraft, toService } from "../controllers/service/service-draft.ts";
import { upstreamNeedsCleanup, upstreamNeedsUpdate } from "../support/upstream-services.ts";

// Rows of upstream's controllers/service/controller_test.go: which Services need a sync. A row with a deliberate
// difference appears twice.

const deletionTimestamp = "2026-01-01T00:00:00Z";

describe("TestNeedsCleanup", () => {
  const cases: readonly [number, string, ServiceDraft, boolean][] = [
    [1, "is false without finalizer", {}, false],
    [
      2,
      "is true for a NodePort with finalizer",
      { finalizers: [lbFinalizer], spec: { type: "NodePort" } },
      true,
    ],
    [3, "is false for a LoadBalancer with finalizer", { finalizers: [lbFinalizer] }, false],
    [
      4,
      "is true for a deleted Service with finalizer and without type",
      { finalizers: [lbFinalizer], deletionTimestamp, spec: { type: "" } },
      true,
    ],
  ];
  test.each(cases)("TestNeedsCleanup %d: %s", (_, _name, draft, expected) => {
    const service = toService(draft);
    expect(needsCleanup(service, servesWithoutClass)).toBe(expected);
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
  [1, "accepts a LoadBalancer that becomes ClusterIP", {}, spec({ type: "ClusterIP" }), true],
  [2, "accepts other ports", several(8000, 9000, 10000), several(8001, 9001, 10001), true],
  [
    3,
    "accepts an added external IP",
    spec({ externalIPs: ["1.1.1.1"] }),
    spec({ externalIPs: ["1.1.1.1", "2.2.2.2"] }),
    true,
  ],
  [
    4,
    "accepts other external IPs",
    spec({ externalIPs: ["1.1.1.1"] }),
    spec({ externalIPs: ["3.3.3.3"] }),
    true,
  ],
  [5, "accepts a different uid", { uid: "UID old" }, { uid: "UID new" }, true],
  [6, "accepts another externalTrafficPolicy", {}, spec({ externalTrafficPolicy: "Local" }), true],
  [
    7,
    "accepts another healthCheckNodePort",
    spec({ healthCheckNodePort: 0 }),
    spec({ healthCheckNodePort: 30_123 }),
    true,
  ],
  [8, "accepts another targetPort", ports(port({ targetPort: 20 })), ports(port({ targetPort: 21 })), true],
  [
    9,
    "accepts a targetPort that becomes a name",
    ports(port({ targetPort: 22 })),
    ports(port({ targetPort: "dns" })),
    true,
  ],
  [10, "ignores an identical copy", several(8000, 9000), several(8000, 9000), false],
  [11, "accepts an added IP family", spec({ ipFamilies: ["IPv4"] }), spec({ ipFamilies: dual }), true],
  [12, "accepts a removed IP family", spec({ ipFamilies: dual }), spec({ ipFamilies: ["IPv4"] }), true],
  [13, "ignores identical IP families", spec({ ipFamilies: dual }), spec({ ipFamilies: [...dual] }), false],
  [14, "accepts a new appProtocol", ports(port({})), ports(port({ appProtocol: "http" })), true],
  [
    15,
    "accepts another appProtocol",
    ports(port({ appProtocol: "http" })),
    ports(port({ appProtocol: "tcp" })),
    true,
  ],
];

const isRelevant = (before: ServiceDraft, after: ServiceDraft): boolean =>
  isRelevantChange(toService(before), toService(after), servesWithoutClass, (key) =>
    key.startsWith("lb.example/"),
  );

describe("TestNeedsUpdate", () => {
  test.each(rows)("TestNeedsUpdate %d: %s", (_, _name, before, after, expected) => {
    // The first row changes only the type; the others keep it.
    expect(upstreamNeedsUpdate(toService(before), toService(after))).toBe(expected);
    expect(isRelevant(before, after)).toBe(expected);
  });

  test("TestNeedsUpdate 9: a number differs from its text", () => {
    const [before, after] = [ports(port({ targetPort: 22 })), ports(port({ targetPort: "22" }))];
    expect([upstreamNeedsUpdate(toService(before), toService(after)), isRelevant(before, after)]).toEqual([
      true,
      true,
    ]);
  });
});

describe("needsUpdate rows that no Go test covers", () => {
  const sticky = (timeoutSeconds: number) =>
    spec({ sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds } } });
  const cases: readonly Row[] = [
    [
      1,
      "ignores types without load balancer",
      spec({ type: "NodePort" }),
      spec({ type: "ClusterIP" }),
      false,
    ],
    [2, "accepts a new class", {}, spec({ loadBalancerClass: "a.example/b" }), true],
    [2, "accepts a removed class", spec({ loadBalancerClass: "a.example/b" }), {}, true],
    [3, "accepts new source ranges", {}, spec({ loadBalancerSourceRanges: ["10.0.0.0/8"] }), true],
    [
      3,
      "accepts reordered source ranges",
      spec({ loadBalancerSourceRanges: ["10.0.0.0/8", "11.0.0.0/8"] }),
      spec({ loadBalancerSourceRanges: ["11.0.0.0/8", "10.0.0.0/8"] }),
      true,
    ],
    [4, "accepts another port name", ports(port({})), ports(port({ name: "q" })), true],
    [4, "accepts another port protocol", ports(port({})), ports(port({ protocol: "UDP" })), true],
    [4, "accepts another node port", ports(port({})), ports(port({ nodePort: 30_000 })), true],
    [4, "accepts reordered ports", several(1, 2), several(2, 1), true],
    [5, "accepts another session affinity", {}, spec({ sessionAffinity: "ClientIP" }), true],
    [6, "accepts another session affinity timeout", sticky(10), sticky(11), true],
    [7, "accepts another loadBalancerIP", {}, spec({ loadBalancerIP: "1.2.3.4" }), true],
    [9, "accepts a provider annotation", {}, { annotations: { "lb.example/a": "1" } }, true],
    [14, "ignores labels", {}, { labels: { a: "b" } }, false],
    [14, "ignores the cluster IP", {}, spec({ clusterIP: "10.0.0.1" }), false],
    [14, "ignores internalTrafficPolicy", {}, spec({ internalTrafficPolicy: "Local" }), false],
    [14, "ignores publishNotReadyAddresses", {}, spec({ publishNotReadyAddresses: true }), false],
  ];
  test.each(cases)("needsUpdate row %d: %s", (_, _name, before, after, expected) => {
    const draft = (each: ServiceDraft) => toService({ ...each, spec: each.spec ?? { type: "LoadBalancer" } });
    expect(upstreamNeedsUpdate(draft(before), draft(after))).toBe(expected);
    expect(
      isRelevantChange(draft(before), draft(after), servesWithoutClass, (key) =>
        key.startsWith("lb.example/"),
      ),
    ).toBe(expected);
  });

  const changed: readonly [string, ServiceDraft, ServiceDraft, upstream: boolean][] = [
    ["row 9, a foreign annotation", {}, { annotations: { "gitops.example/a": "1" } }, true],
    [
      "row 13, reordered IP families",
      spec({ ipFamilies: dual }),
      spec({ ipFamilies: dual.toReversed() }),
      false,
    ],
    ["row 13, another IP family", spec({ ipFamilies: ["IPv4"] }), spec({ ipFamilies: ["IPv6"] }), false],
    ["row 14, ipFamilyPolicy", {}, spec({ ipFamilyPolicy: "RequireDualStack" }), false],
    ["row 14, allocateLoadBalancerNodePorts", {}, spec({ allocateLoadBalancerNodePorts: false }), false],
    ["row 14, the status", {}, { status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } } }, false],
    ["row 14, our removed finalizer", { finalizers: [lbFinalizer] }, {}, false],
    [
      "row 14, deletionTimestamp",
      { finalizers: [lbFinalizer] },
      { finalizers: [lbFinalizer], deletionTimestamp },
      false,
    ],
  ];
  const draft = (each: ServiceDraft) => toService({ ...each, spec: each.spec ?? { type: "LoadBalancer" } });
  test.each(changed)("needsUpdate %s: upstream's result", (_, before, after, upstream) => {
    expect(upstreamNeedsUpdate(draft(before), draft(after))).toBe(upstream);
  });
  test.each(changed)("needsUpdate %s: the opposite result in Fairlead", (_, before, after, upstream) => {
    expect(
      isRelevantChange(draft(before), draft(after), servesWithoutClass, (key) =>
        key.startsWith("lb.example/"),
      ),
    ).toBe(!upstream);
  });
});
