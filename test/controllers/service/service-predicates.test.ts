import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  hasFinalizer,
  needsCleanup,
  wantsLoadBalancer,
} from "../../../src/controllers/service/predicates.ts";
import { finalizer, servesWithoutClass } from "../../../src/controllers/service/served-classes.ts";
import { isRelevantChange } from "../../../src/controllers/service/triggers/relevant-change.ts";
import type { Service } from "../../../src/kube/objects.ts";
import { upstreamNeedsUpdate } from "../../support/upstream-services.ts";
import { lbFinalizer, type ServiceDraft, toService } from "./service-draft.ts";

test("the finalizer is the same as in the Go managers [F27]", () => {
  expect(finalizer).toBe(lbFinalizer);
});

describe("wantsLoadBalancer", () => {
  const cases: readonly [string, ServiceDraft, boolean][] = [
    ["accepts a LoadBalancer without a class", {}, true],
    [
      "refuses a LoadBalancer with a class [F28]",
      { spec: { type: "LoadBalancer", loadBalancerClass: "other.example/lb" } },
      false,
    ],
    ["refuses a different type", { spec: { type: "NodePort" } }, false],
    ["refuses an external name", { spec: { type: "ExternalName" } }, false],
  ];
  test.each(cases)("%s", (_, draft, expected) => {
    expect(wantsLoadBalancer(toService(draft), servesWithoutClass)).toBe(expected);
  });
});

describe("needsCleanup", () => {
  const finalizers = [lbFinalizer];
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const foreign = { type: "LoadBalancer", loadBalancerClass: "other.example/lb" };
  const none = { hasBalancer: false };
  const some = { hasBalancer: true };
  const cases: readonly [string, ServiceDraft, Parameters<typeof needsCleanup>[2], boolean][] = [
    ["is false for a Service that wants its load balancer", { finalizers }, some, false],
    ["is true for a deleted Service", { finalizers, deletionTimestamp }, none, true],
    ["is true for a Service that changed its type", { finalizers, spec: { type: "ClusterIP" } }, none, true],
    ["is false for a different type without load balancer", { spec: { type: "ClusterIP" } }, none, false],
    [
      "is true for a load balancer left after the finalizer was removed",
      { spec: { type: "ClusterIP" } },
      some,
      true,
    ],
    ["is false for a Service of another class [F28]", { finalizers, spec: foreign }, none, false],
    [
      "is false for a deleted Service of another class [F28]",
      { finalizers, deletionTimestamp, spec: foreign },
      none,
      false,
    ],
    [
      "is true for a Service of another class that still has our load balancer",
      { finalizers, spec: foreign },
      some,
      true,
    ],
  ];
  test.each(cases)("%s", (_, draft, input, expected) => {
    expect(needsCleanup(toService(draft), servesWithoutClass, input)).toBe(expected);
  });

  test("cleanup is never needed for an existing Service that needs its load balancer", () => {
    const draft = fc.record({
      finalizers: fc.subarray([lbFinalizer, "other"]),
      spec: fc.record({ type: fc.constantFrom("LoadBalancer", "NodePort", "ClusterIP") }),
    });
    fc.assert(
      fc.property(draft, fc.boolean(), (fields, hasBalancer) => {
        const service = toService(fields);
        if (wantsLoadBalancer(service, servesWithoutClass))
          expect(needsCleanup(service, servesWithoutClass, { hasBalancer })).toBe(false);
        if (!hasFinalizer(service, servesWithoutClass) && !hasBalancer)
          expect(needsCleanup(service, servesWithoutClass)).toBe(false);
      }),
    );
  });
});

const isOurAnnotation = (key: string): boolean => /^(lb\.example|fairlead\.dev)\//.test(key);
const relevant = (
  before: ServiceDraft | undefined,
  after: ServiceDraft | undefined,
  isOurLabel?: (key: string) => boolean,
) =>
  isRelevantChange(
    before && toService(before),
    after && toService(after),
    servesWithoutClass,
    isOurAnnotation,
    isOurLabel,
  );

describe("isRelevantChange", () => {
  const finalizers = [lbFinalizer];
  const ingress = (ip: string, ipMode?: string) => ({
    status: { loadBalancer: { ingress: [{ ip, ...(ipMode !== undefined && { ipMode }) }] } },
  });
  const spec = (more: Service["spec"]): ServiceDraft => ({ spec: more });
  const ownCondition = {
    type: "CloudReady",
    status: "False",
    reason: "CloudUnavailable",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const cases: readonly [string, ServiceDraft | undefined, ServiceDraft | undefined, boolean][] = [
    ["accepts a new Service", undefined, {}, true],
    ["accepts a removed Service", {}, undefined, true],
    ["ignores a new Service of a different type", undefined, spec({ type: "NodePort" }), false],
    [
      "accepts a new Service of a different type with Fairlead's finalizer",
      undefined,
      { finalizers, spec: { type: "NodePort" } },
      true,
    ],
    [
      "accepts a new Service of a different type with only Fairlead's condition left",
      undefined,
      { spec: { type: "ClusterIP" }, status: { conditions: [ownCondition] } },
      true,
    ],
    ["ignores an update without change", {}, {}, false],
    ["ignores an annotation of another program", {}, { annotations: { "argocd.example/sync": "1" } }, false],
    ["accepts an annotation of the provider", {}, { annotations: { "lb.example/size": "1" } }, true],
    ["accepts an annotation of Fairlead", {}, { annotations: { "fairlead.dev/paused": "true" } }, true],
    ["ignores a label", {}, { labels: { a: "b" } }, false],
    ["accepts a status that another writer set", {}, ingress("1.2.3.4"), true],
    ["accepts a status that another writer cleared", ingress("1.2.3.4"), {}, true],
    ["accepts a status that another writer changed", ingress("1.2.3.4"), ingress("4.3.2.1"), true],
    ["ignores the VIP mode that the server fills in", ingress("1.2.3.4"), ingress("1.2.3.4", "VIP"), false],
    [
      "accepts a changed order of families",
      spec({ ipFamilies: ["IPv4", "IPv6"] }),
      spec({ ipFamilies: ["IPv6", "IPv4"] }),
      true,
    ],
    ["accepts a different family", spec({ ipFamilies: ["IPv4"] }), spec({ ipFamilies: ["IPv6"] }), true],
    ["accepts a different family policy", {}, spec({ ipFamilyPolicy: "PreferDualStack" }), true],
    ["accepts disabled node ports", {}, spec({ allocateLoadBalancerNodePorts: false }), true],
    [
      "ignores enabled node ports, which are the default",
      {},
      spec({ allocateLoadBalancerNodePorts: true }),
      false,
    ],
    ["ignores the selector while Nodes are targets", {}, spec({ selector: { app: "a" } }), false],
    ["accepts a deletion", { finalizers }, { finalizers, deletionTimestamp: "2026-01-01T00:00:00Z" }, true],
    ["accepts the removal of Fairlead's finalizer by another writer", { finalizers }, {}, true],
    ["ignores Fairlead's own write of the finalizer", {}, { finalizers }, false],
    ["ignores a foreign finalizer", {}, { finalizers: ["other"] }, false],
    ["accepts a new Service with the same name", { uid: "1" }, { uid: "2" }, true],
    ["accepts another class", {}, spec({ loadBalancerClass: "other.example/lb" }), true],
    ["accepts a different type", {}, spec({ type: "ClusterIP" }), true],
    [
      "ignores changes of a Service without a load balancer",
      spec({ type: "NodePort" }),
      spec({ type: "ClusterIP" }),
      false,
    ],
  ];
  test.each(cases)("%s", (_, before, after, expected) => {
    expect(relevant(before, after)).toBe(expected);
  });

  test("accepts labels that store facts", () => {
    const isOurLabel = (key: string) => key === "lb.example/id";
    expect(relevant({}, { labels: { "lb.example/id": "7" } }, isOurLabel)).toBe(true);
  });

  const anySpec = fc.record(
    {
      type: fc.constantFrom("LoadBalancer", "NodePort"),
      loadBalancerIP: fc.constantFrom("", "1.2.3.4"),
      sessionAffinity: fc.constantFrom("None", "ClientIP"),
      externalTrafficPolicy: fc.constantFrom("Local", "Cluster"),
      externalIPs: fc.array(fc.constantFrom("a", "b"), { maxLength: 2 }),
      loadBalancerSourceRanges: fc.array(fc.constantFrom("a", "b"), { maxLength: 2 }),
      ipFamilies: fc.subarray(["IPv4", "IPv6"]),
      healthCheckNodePort: fc.constantFrom(0, 30_123),
      ports: fc.array(fc.record({ port: fc.constantFrom(80, 81), targetPort: fc.constantFrom(1, "1") }), {
        maxLength: 2,
      }),
    },
    { requiredKeys: ["type"] },
  );

  test("accepts every change that upstream accepts, except foreign annotations", () => {
    fc.assert(
      fc.property(anySpec, anySpec, (one, other) => {
        const before = toService({ spec: one });
        const after = toService({ spec: other });
        if (upstreamNeedsUpdate(before, after)) {
          expect(isRelevantChange(before, after, servesWithoutClass, isOurAnnotation)).toBe(true);
        }
      }),
    );
  });

  test("treats a change and its reverse alike, and ignores an equal copy", () => {
    fc.assert(
      fc.property(anySpec, anySpec, (one, other) => {
        expect(relevant({ spec: one }, { spec: other })).toBe(relevant({ spec: other }, { spec: one }));
        expect(relevant({ spec: one }, { spec: one })).toBe(false);
      }),
    );
  });
});
