// Rows of upstream's service/helpers/helper_test.go. A row with a deliberate difference appears twice.

import { describe, expect, test } from "bun:test";
import {
  sourceRangesAnnotation,
  sourceRangesOf,
} from "../../src/controllers/service/annotations/source-ranges.ts";
import {
  hasFinalizer,
  needsHealthCheck,
  requestsOnlyLocalTraffic,
} from "../../src/controllers/service/predicates.ts";
import { servesWithoutClass } from "../../src/controllers/service/served-classes.ts";
import { isSameIngress } from "../../src/controllers/service/status/status.ts";
import { parseCidr } from "../../src/core/cidr.ts";
import type { LoadBalancerIngress, Service } from "../../src/kube/objects.ts";
import { finalizerPatch } from "../../src/kube/patches/finalizer-patch.ts";
import type { Patch } from "../../src/kube/patches/patch.ts";
import { serviceStatusPatch } from "../../src/kube/patches/service-patch.ts";
import { applyJsonPatch } from "../../src/testing/apiserver/patch/json-patch.ts";
import { lbFinalizer, toService } from "../controllers/service/service-draft.ts";
import { isAllowAll, isSameIngressUpstream } from "../support/upstream-services.ts";

describe("TestGetLoadBalancerSourceRanges", () => {
  const ways: readonly [string, (value: string) => Service][] = [
    ["annotation", (value) => toService({ annotations: { [sourceRangesAnnotation]: value } })],
    [
      "field",
      (value) => toService({ spec: { type: "LoadBalancer", loadBalancerSourceRanges: value.split(",") } }),
    ],
  ];
  const wrong = ["10.0.0.1/33", "foo.bar", "10.0.0.1/32,*", "10.0.0.1/32,", "10.0.0.1/32, ", "10.0.0.1"];
  const right = [
    ["192.168.0.1/32", 1],
    ["192.168.0.1/32,192.168.0.1/32", 1],
    ["192.168.0.1/32,192.168.0.2/32", 2],
    ["  192.168.0.1/32 , 192.168.0.2/32   ", 2],
  ] as const;
  for (const [way, make] of ways) {
    test.each(wrong)(
      `TestGetLoadBalancerSourceRanges 1: the ${way} %p is an error that names the ${way}`,
      (value) => {
        const { problems } = sourceRangesOf(make(value));
        expect(problems).toMatchObject([{ severity: "error", reason: "InvalidSourceRange" }]);
        expect(problems[0]?.text).toContain(
          way === "field" ? "spec.loadBalancerSourceRanges" : sourceRangesAnnotation,
        );
      },
    );
    test.each(right)(
      `TestGetLoadBalancerSourceRanges 2: the ${way} %p has %d ranges [F30]`,
      (value, count) => {
        const { ranges, problems } = sourceRangesOf(make(value));
        expect([ranges.length, problems]).toEqual([count, []]);
      },
    );
  }
  test.each([
    ["an absent field and annotation", toService()],
    ["an empty annotation", toService({ annotations: { [sourceRangesAnnotation]: "" } })],
    ["a blank annotation", toService({ annotations: { [sourceRangesAnnotation]: "  " } })],
  ])("TestGetLoadBalancerSourceRanges 3: %s means all addresses", (_, service) => {
    const { isSpecified, ranges, problems } = sourceRangesOf(service);
    expect([ranges.length, isAllowAll(ranges), problems]).toEqual([1, true, []]);
    // Upstream's helper cannot distinguish this from a Service that names 0.0.0.0/0.
    expect(isSpecified).toBe(false);
  });
  test("TestGetLoadBalancerSourceRanges 4: the field takes precedence over the annotation", () => {
    const service = toService({
      annotations: { [sourceRangesAnnotation]: "nonsense" },
      spec: { loadBalancerSourceRanges: ["10.0.0.5/24"] },
    });
    expect(sourceRangesOf(service) as unknown).toEqual({
      isSpecified: true,
      ranges: ["10.0.0.0/24"],
      problems: [],
    });
  });
});

describe("TestAllowAll", () => {
  test.each([
    [1, ["10.0.0.1/32"], false],
    [2, ["10.0.0.1/32", "10.0.0.2/32"], false],
    [3, ["10.0.0.1/32", "10.0.0.1/32"], false],
    [4, ["0.0.0.0/0"], true],
    [5, ["192.168.0.0/0"], true],
    [6, ["192.168.0.1/32", "0.0.0.0/0"], true],
  ] as const)("TestAllowAll %d: decides whether %p allows all addresses: %p", (_, texts, expected) => {
    expect(isAllowAll(texts.flatMap((text) => parseCidr(text) ?? []))).toBe(expected);
  });
});

const typed = (type?: string, externalTrafficPolicy?: string): Service => ({
  ...toService(),
  spec: {
    ...(type !== undefined && { type }),
    ...(externalTrafficPolicy !== undefined && { externalTrafficPolicy }),
  },
});

describe("TestRequestsOnlyLocalTraffic", () => {
  test.each([
    [1, undefined, undefined, false],
    [2, "ClusterIP", undefined, false],
    [3, "NodePort", undefined, false],
    [4, "NodePort", "Cluster", false],
    [5, "NodePort", "Local", true],
    [6, "LoadBalancer", "Cluster", false],
    [7, "LoadBalancer", "Local", true],
  ] as const)(
    "TestRequestsOnlyLocalTraffic %d: decides for type %p and policy %p: %p",
    (_, type, policy, expected) => {
      expect(requestsOnlyLocalTraffic(typed(type, policy))).toBe(expected);
    },
  );
});

describe("TestNeedsHealthCheck", () => {
  test.each([
    [1, "ClusterIP", undefined, false],
    [2, "NodePort", "Cluster", false],
    [3, "NodePort", "Local", false],
    [4, "LoadBalancer", "Cluster", false],
    [5, "LoadBalancer", "Local", true],
  ] as const)(
    "TestNeedsHealthCheck %d: decides for type %p and policy %p: %p",
    (_, type, policy, expected) => {
      expect(needsHealthCheck(typed(type, policy))).toBe(expected);
    },
  );
});

describe("TestHasLBFinalizer", () => {
  test.each([
    [1, [], false],
    [2, ["unrelated"], false],
    [3, [lbFinalizer], true],
    [4, [lbFinalizer, "unrelated"], true],
  ] as const)("TestHasLBFinalizer %d: decides for the finalizers %p: %p", (_, finalizers, expected) => {
    expect(hasFinalizer(toService({ finalizers }), servesWithoutClass)).toBe(expected);
    if (finalizers.length === 0) expect(hasFinalizer(toService(), servesWithoutClass)).toBe(expected);
  });
});

const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
const applied = (service: Service, patch: Patch | undefined): Service =>
  patch === undefined ? service : plain(applyJsonPatch(plain(service), plain(patch.body)));

describe("TestPatchService", () => {
  test("TestPatchService 1: patches from a stale copy keep other writers' changes and never write the spec", () => {
    const original = toService({ annotations: {}, spec: { clusterIP: "10.0.0.1" } });
    const current = toService({ annotations: { foo: "bar" }, spec: { clusterIP: "10.0.0.1" } });
    const marked = applied(current, finalizerPatch(original, "foo", "present", "status"));
    // A change of the spec in the local copy cannot get into a patch of the status.
    const stale = { ...original, spec: { ...original.spec, clusterIP: "10.0.0.2" } };
    const patch = serviceStatusPatch({ service: stale, ingress: [{ ip: "8.8.8.8" }] });
    const result = applied(marked, patch);
    expect(result.metadata.annotations).toEqual({ foo: "bar" });
    expect(result.metadata.finalizers).toEqual(["foo"]);
    expect(result.status).toEqual({ loadBalancer: { ingress: [{ ip: "8.8.8.8" }] } });
    expect(result.spec.clusterIP).toBe("10.0.0.1");
  });

  test("TestPatchService 2 (Fairlead): a patch that would remove another writer's new finalizer is refused", () => {
    const original = toService({ finalizers: [lbFinalizer] });
    const current = toService({ finalizers: [lbFinalizer, "other"] });
    const patch = finalizerPatch(original, lbFinalizer, "absent", "status");
    expect(() => applied(current, patch)).toThrow();
    const retried = finalizerPatch(current, lbFinalizer, "absent", "status");
    expect(applied(current, retried).metadata.finalizers).toEqual(["other"]);
  });
});

describe("Test_getPatchBytes", () => {
  test("Test_getPatchBytes 1: adding a finalizer is one guarded patch of the list, with the effect of upstream's patch", () => {
    const before = toService({ finalizers: ["foo"] });
    const patch = finalizerPatch(before, "bar", "present", "status");
    expect(patch?.body).toEqual([
      { op: "test", path: "/metadata/uid", value: "uid-web" },
      { op: "test", path: "/metadata/deletionTimestamp", value: null },
      { op: "test", path: "/metadata/finalizers", value: ["foo"] },
      { op: "add", path: "/metadata/finalizers", value: ["foo", "bar"] },
    ]);
    expect(applied(before, patch).metadata.finalizers).toEqual(["foo", "bar"]);
  });
});

describe("TestLoadBalancerStatusEqual", () => {
  const ip = "192.168.0.1";
  const port = (protocol: string): LoadBalancerIngress => ({ ip, ports: [{ port: 80, protocol }] });
  type Row = readonly [
    number,
    string,
    readonly LoadBalancerIngress[],
    readonly LoadBalancerIngress[],
    boolean,
  ];
  const rows: readonly Row[] = [
    [1, "an empty status equals an empty one", [], [], true],
    [2, "equal addresses are equal", [{ ip }], [{ ip }], true],
    [3, "different addresses differ", [{ ip: "192.168.0.2" }], [{ ip }], false],
    [4, "VIP equals VIP", [{ ip, ipMode: "VIP" }], [{ ip, ipMode: "VIP" }], true],
    [6, "Proxy differs from VIP", [{ ip, ipMode: "Proxy" }], [{ ip, ipMode: "VIP" }], false],
    [7, "equal ports are equal", [port("TCP")], [port("TCP")], true],
    [8, "different protocols differ", [port("TCP")], [port("UDP")], false],
    [9, "a port differs from none", [port("TCP")], [{ ip }], false],
    [10, "a port differs from an empty list", [port("TCP")], [{ ip, ports: [] }], false],
  ];
  test.each(rows)("TestLoadBalancerStatusEqual %d: %s", (_, _name, left, right, expected) => {
    expect(isSameIngressUpstream(left, right)).toBe(expected);
    expect(isSameIngress(left, right)).toBe(expected);
    expect(isSameIngress(right, left)).toBe(expected);
  });

  const absentAndVIP = [[{ ip }], [{ ip, ipMode: "VIP" }]] as const;
  test("TestLoadBalancerStatusEqual 5 (upstream): an absent ipMode differs from VIP", () => {
    expect(isSameIngressUpstream(...absentAndVIP)).toBe(false);
  });
  test("TestLoadBalancerStatusEqual 5 (Fairlead): an absent ipMode equals VIP, so that a takeover writes nothing", () => {
    expect(isSameIngress(...absentAndVIP)).toBe(true);
  });
});
