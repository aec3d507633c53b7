import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  finalizer,
  hasFinalizer,
  isPaused,
  needsCleanup,
  wantsLoadBalancer,
} from "../../../src/controllers/service/predicates.ts";
import {
  isRelevantChange,
  type RelevantChangeOptions,
} from "../../../src/controllers/service/queue/relevant-change.ts";
import type { Service } from "../../../src/kube/objects.ts";
import { upstreamNeedsUpdate } from "../../support/upstream-services.ts";
import { lbFinalizer, type ServiceDraft, toService } from "./service-draft.ts";

test("the finalizer is the Go managers' [F27]", () => {
  expect(finalizer).toBe(lbFinalizer);
});

describe("which Services are ours", () => {
  const cases: readonly [string, ServiceDraft, boolean][] = [
    ["a load balancer without a class", {}, true],
    [
      "one of a class [F28]",
      { spec: { type: "LoadBalancer", loadBalancerClass: "other.example/lb" } },
      false,
    ],
    ["another type", { spec: { type: "NodePort" } }, false],
    ["an external name", { spec: { type: "ExternalName" } }, false],
  ];
  test.each(cases)("%s", (_, draft, expected) => {
    expect(wantsLoadBalancer(toService(draft))).toBe(expected);
  });

  test("every word but false pauses", () => {
    const paused = (value: string) => isPaused(toService({ annotations: { "fairlead.dev/paused": value } }));
    expect(["true", "false", "", "yes"].map(paused)).toEqual([true, false, true, true]);
    expect(isPaused(toService())).toBe(false);
  });
});

describe("what has to be cleaned up", () => {
  const finalizers = [lbFinalizer];
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const foreign = { type: "LoadBalancer", loadBalancerClass: "other.example/lb" };
  const none = { hasBalancer: false };
  const some = { hasBalancer: true };
  const cases: readonly [string, ServiceDraft, Parameters<typeof needsCleanup>[1], boolean][] = [
    ["one that wants its balancer", { finalizers }, some, false],
    ["one that is deleted", { finalizers, deletionTimestamp }, none, true],
    ["one of another type", { finalizers, spec: { type: "ClusterIP" } }, none, true],
    ["one of another type that never had a balancer", { spec: { type: "ClusterIP" } }, none, false],
    ["a balancer left after the finalizer was stripped", { spec: { type: "ClusterIP" } }, some, true],
    ["a foreign one is invisible [F28]", { finalizers, spec: foreign }, none, false],
    ["even while it is deleted [F28]", { finalizers, deletionTimestamp, spec: foreign }, none, false],
    ["unless it has a balancer of ours", { finalizers, spec: foreign }, some, true],
  ];
  test.each(cases)("%s", (_, draft, input, expected) => {
    expect(needsCleanup(toService(draft), input)).toBe(expected);
  });

  test("never one that wants its balancer and stays", () => {
    const draft = fc.record({
      finalizers: fc.subarray([lbFinalizer, "other"]),
      spec: fc.record({ type: fc.constantFrom("LoadBalancer", "NodePort", "ClusterIP") }),
    });
    fc.assert(
      fc.property(draft, fc.boolean(), (words, hasBalancer) => {
        const service = toService(words);
        if (wantsLoadBalancer(service)) expect(needsCleanup(service, { hasBalancer })).toBe(false);
        if (!hasFinalizer(service) && !hasBalancer) expect(needsCleanup(service)).toBe(false);
      }),
    );
  });
});

const isOurAnnotation = (key: string): boolean => /^(lb\.example|fairlead\.dev)\//.test(key);
const relevant = (
  before: ServiceDraft | undefined,
  after: ServiceDraft | undefined,
  options?: RelevantChangeOptions,
) => isRelevantChange(before && toService(before), after && toService(after), isOurAnnotation, options);

describe("which changes concern us", () => {
  const finalizers = [lbFinalizer];
  const ingress = (ip: string, ipMode?: string) => ({
    status: { loadBalancer: { ingress: [{ ip, ...(ipMode !== undefined && { ipMode }) }] } },
  });
  const spec = (more: Service["spec"]): ServiceDraft => ({ spec: more });
  const cases: readonly [string, ServiceDraft | undefined, ServiceDraft | undefined, boolean][] = [
    ["one that comes", undefined, {}, true],
    ["one that goes", {}, undefined, true],
    ["one that comes and is none of ours", undefined, spec({ type: "NodePort" }), false],
    ["one that comes with our finalizer", undefined, { finalizers, spec: { type: "NodePort" } }, true],
    ["nothing", {}, {}, false],
    ["an annotation of somebody else", {}, { annotations: { "argocd.example/sync": "1" } }, false],
    ["an annotation of the provider", {}, { annotations: { "lb.example/size": "1" } }, true],
    ["ours", {}, { annotations: { "fairlead.dev/paused": "true" } }, true],
    ["a label", {}, { labels: { a: "b" } }, false],
    ["the status, set by somebody", {}, ingress("1.2.3.4"), true],
    ["the status, cleared by somebody", ingress("1.2.3.4"), {}, true],
    ["the status, forged", ingress("1.2.3.4"), ingress("4.3.2.1"), true],
    ["the server's own VIP", ingress("1.2.3.4"), ingress("1.2.3.4", "VIP"), false],
    [
      "families in another order",
      spec({ ipFamilies: ["IPv4", "IPv6"] }),
      spec({ ipFamilies: ["IPv6", "IPv4"] }),
      true,
    ],
    ["the family", spec({ ipFamilies: ["IPv4"] }), spec({ ipFamilies: ["IPv6"] }), true],
    ["the family policy", {}, spec({ ipFamilyPolicy: "PreferDualStack" }), true],
    ["node ports no longer given", {}, spec({ allocateLoadBalancerNodePorts: false }), true],
    ["node ports given, spelled out", {}, spec({ allocateLoadBalancerNodePorts: true }), false],
    ["the selector, while nodes are targets", {}, spec({ selector: { app: "a" } }), false],
    ["the deletion", { finalizers }, { finalizers, deletionTimestamp: "2026-01-01T00:00:00Z" }, true],
    ["our finalizer, stripped by hand", { finalizers }, {}, true],
    ["our finalizer, set by us", {}, { finalizers }, false],
    ["somebody else's finalizer", {}, { finalizers: ["other"] }, false],
    ["another of the same name", { uid: "1" }, { uid: "2" }, true],
    ["another class", {}, spec({ loadBalancerClass: "other.example/lb" }), true],
    ["another type", {}, spec({ type: "ClusterIP" }), true],
    ["anything of one that is none of ours", spec({ type: "NodePort" }), spec({ type: "ClusterIP" }), false],
  ];
  test.each(cases)("%s", (_, before, after, expected) => {
    expect(relevant(before, after)).toBe(expected);
  });

  test("labels that hold facts", () => {
    const isOurLabel = (key: string) => key === "lb.example/id";
    expect(relevant({}, { labels: { "lb.example/id": "7" } }, { isOurLabel })).toBe(true);
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

  test("everything that upstream sees is seen, annotations of others apart", () => {
    fc.assert(
      fc.property(anySpec, anySpec, (one, other) => {
        const before = toService({ spec: one });
        const after = toService({ spec: other });
        if (upstreamNeedsUpdate(before, after)) {
          expect(isRelevantChange(before, after, isOurAnnotation)).toBe(true);
        }
      }),
    );
  });

  test("a change and its reverse are equally relevant, and none is none", () => {
    fc.assert(
      fc.property(anySpec, anySpec, (one, other) => {
        expect(relevant({ spec: one }, { spec: other })).toBe(relevant({ spec: other }, { spec: one }));
        expect(relevant({ spec: one }, { spec: one })).toBe(false);
      }),
    );
  });
});
