import { expect, test } from "bun:test";
import { EvidenceUpdates } from "../../../../src/controllers/service/observe/evidence-updates.ts";
import { servesWithoutClass } from "../../../../src/controllers/service/served-classes.ts";
import { ServiceRecords } from "../../../../src/controllers/service/state/service-records.ts";
import { seconds } from "../../../../src/core/brand.ts";
import type { Service } from "../../../../src/kube/objects.ts";
import { VirtualClock } from "../../../../src/testing/virtual-time/virtual-clock.ts";
import { lbFinalizer, type ServiceDraft, toService } from "../service-draft.ts";

/** The evidence from a Service that was created this many seconds ago, after the session began. */
function tracesOfNew(age: number, draft: ServiceDraft = {}): string | undefined {
  const clock = new VirtualClock();
  const deps = {
    clock,
    services: { list: () => [] },
    classes: servesWithoutClass,
    balancers: {},
    facts: [],
    listing: {},
  } as never;
  const updates = new EvidenceUpdates(deps, new ServiceRecords(), {} as never);
  updates.start({ hasOtherLed: true });
  const creationTimestamp = new Date(clock.now() - seconds(age)).toISOString();
  const { metadata, ...service } = toService({ finalizers: [lbFinalizer], ...draft });
  return updates.tracesOf({ ...service, metadata: { ...metadata, creationTimestamp } } as Service);
}

test("a Service that returns with the finalizer may have a load balancer, but a new Service with it has none", () => {
  expect([tracesOfNew(600), tracesOfNew(600, { finalizers: [] }), tracesOfNew(1)]).toEqual([
    ...["possible", undefined, undefined],
  ]);
  // The local clock is ten minutes slow.
  expect(tracesOfNew(-600)).toBe("possible");
});

test("a Service that returns with the finalizer and is deleted may have a load balancer, regardless of the local clock", () => {
  const ending = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  expect([tracesOfNew(-600, ending), tracesOfNew(1, { spec: { type: "ClusterIP", ports: [] } })]).toEqual([
    ...["possible", "possible"],
  ]);
});
