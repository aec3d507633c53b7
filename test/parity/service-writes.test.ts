import { describe, expect, test } from "bun:test";
import { finalizer } from "../../src/controllers/service/served-classes.ts";
import { ingressOf, isSameIngress } from "../../src/controllers/service/status/status.ts";
import { ipAddress } from "../../src/core/ip.ts";
import { finalizerPatch } from "../../src/kube/patches/finalizer-patch.ts";
import { serviceStatusPatch } from "../../src/kube/patches/service-patch.ts";
import { toService } from "../controllers/service/service-draft.ts";
import { isSameIngressUpstream } from "../support/upstream-services.ts";

// Rows of upstream's controllers/service/controller_test.go: what is written to a Service.

describe("TestAddFinalizer and TestRemoveFinalizer", () => {
  const without = toService();
  const withIt = toService({ finalizers: [finalizer] });
  test.each([
    ["TestAddFinalizer 1: writes nothing when the finalizer exists", withIt, "present", false],
    ["TestAddFinalizer 2: adds a missing finalizer", without, "present", true],
    ["TestRemoveFinalizer 1: writes nothing without the finalizer", without, "absent", false],
    ["TestRemoveFinalizer 2: removes an existing finalizer", withIt, "absent", true],
  ] as const)("%s", (_, service, wanted, isPatched) => {
    const patch = finalizerPatch(service, finalizer, wanted, "status");
    expect(patch !== undefined).toBe(isPatched);
    if (patch !== undefined) expect(patch.subresource).toBe("status");
  });
});

describe("TestPatchStatus", () => {
  const address = [{ ip: "8.8.8.8" }];
  const published = (ip: string | undefined) =>
    ingressOf({ kind: "addresses", addresses: ip === undefined ? [] : [{ ip: ipAddress(ip) }] });
  test.each([
    ["TestPatchStatus 1: writes nothing for an equal status", address, "8.8.8.8", false],
    ["TestPatchStatus 2: sets the status", [], "8.8.8.8", true],
    ["TestPatchStatus 3: writes nothing when the status stays empty", [], undefined, false],
    ["TestPatchStatus 4: clears the status", address, undefined, true],
  ] as const)("%s", (_, present, wanted, isPatched) => {
    const service = toService({ status: { loadBalancer: { ingress: present } } });
    const ingress = published(wanted);
    expect(!isSameIngress(present, ingress)).toBe(isPatched);
    expect(!isSameIngressUpstream(present, ingress)).toBe(isPatched);
    const patch = serviceStatusPatch({ service, ingress });
    expect(patch !== undefined).toBe(isPatched);
    if (patch !== undefined) expect(patch.subresource).toBe("status");
  });
});
