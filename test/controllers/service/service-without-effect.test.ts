import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Fields and annotations without effect are reported on the Service, without a separate write.

const warnings = (w: ServiceWorld) => w.events("web").filter((text) => text.startsWith("Warning "));

test("reports a requested address on a cloud that cannot assign it, without blocking anything", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web", { spec: { loadBalancerIP: "203.0.113.7" } });
  await w.pass(30);
  expect(w.addressesOf("web")).toEqual(["192.0.2.1"]);
  expect(warnings(w)).toEqual([
    "Warning AddressIgnored spec.loadBalancerIP 203.0.113.7 has no effect: this cloud cannot assign a requested address, so it chooses one. Remove the field.",
  ]);
  expect(w.get("web").status.conditions).toMatchObject([
    { type: "CloudWarning", status: "True", reason: "AddressIgnored" },
  ]);
});

test("does not report a requested address that the Service already has or that the cloud honors", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  w.forget();
  w.editSpec("web", { loadBalancerIP: "192.0.2.1" });
  await w.pass(30);
  expect([warnings(w), w.written]).toEqual([[], []]);
  const scripted = scriptedWorld(undefined, () => ({ supports: ["requestedAddress"] }));
  await scripted.w.start();
  scripted.w.create("web", { spec: { loadBalancerIP: "203.0.113.7" } });
  await scripted.w.pass(30);
  expect(warnings(scripted.w)).toEqual([]);
});

const ranges = "service.beta.kubernetes.io/load-balancer-source-ranges";

test.each([
  [
    { "fairlead.dev/target-policy": "all", "fairlead.dev/target-selector": "pool=web" },
    {},
    'fairlead.dev/target-selector has no effect, because fairlead.dev/target-policy is "all". Set it to "selector", or remove one of them.',
  ],
  [
    { "fairlead.dev/target-policy": "subset" },
    {},
    "fairlead.dev/target-policy has no effect, because fairlead.dev/target-limit is not set, so every Node is a target. Set it, or remove the policy.",
  ],
  [
    { [ranges]: "198.51.100.0/24" },
    { loadBalancerSourceRanges: ["203.0.113.0/24"] },
    `${ranges} has no effect, because spec.loadBalancerSourceRanges takes precedence. Remove the annotation, or move its ranges there.`,
  ],
])("reports that the annotations %j have no effect, without a write", async (annotations, spec, text) => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web", { spec });
  await w.pass(30);
  w.forget();
  w.annotate("web", annotations);
  await w.pass(30);
  expect(warnings(w)).toEqual([`Warning AnnotationIgnored ${text}`]);
  expect([w.changes, w.written]).toEqual([[], []]);
});

test("does not report annotations that repeat the specification or take effect", async () => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web", {
    annotations: {
      [ranges]: "203.0.113.0/24, 198.51.100.0/24",
      "fairlead.dev/target-policy": "endpoints",
      "fairlead.dev/target-limit": "2",
    },
    spec: { loadBalancerSourceRanges: ["198.51.100.0/24", "203.0.113.0/24"] },
  });
  await w.pass(30);
  expect(warnings(w).join()).not.toContain("AnnotationIgnored");
});
