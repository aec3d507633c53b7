import { afterEach, expect, test } from "bun:test";
import { clusterNameChanged, LeaseClusterName } from "../../../src/app/leadership/lease-cluster-name.ts";
import { eventTypeOf } from "../../../src/core/problem.ts";
import { joinAnnotations, roomFor } from "../../../src/kube/leader-election/lease-annotations.ts";
import type { Lease } from "../../../src/kube/objects.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

test("reports a changed cluster name once in the log and on the Lease", async () => {
  const w = new ServiceWorld();
  world = w;
  const lead = async (name: string): Promise<readonly string[]> => {
    w.logged.length = 0;
    await w.start("--leader-elect=true", `--cluster-name=${name}`);
    await w.until(() => w.manager.leads(), "this replica to lead");
    await w.pass(30);
    w.crash();
    // This API server does not record who renewed a Lease.
    w.holdLease("former", "fake-cloud-controller-manager");
    return w.logged.filter((line) => line.includes("ClusterNameChanged"));
  };
  expect([await lead("prod"), await lead("prod")]).toEqual([[], []]);
  expect(await lead("other")).toEqual([
    expect.stringContaining(
      'The last leader of this cluster had --cluster-name="prod", and this one has "other".',
    ),
  ]);
  const events = w.server.store.list("events").filter(({ reason }) => reason === "ClusterNameChanged");
  expect(events).toHaveLength(1);
  expect(await lead("other")).toEqual([]);
  // A Go manager leaves the annotation unchanged.
  w.holdLease("go", "cloud-controller-manager");
  expect(await lead("prod")).toEqual([]);
});

const own = "fairlead.dev/cluster-name";
const renewedFields = { "f:spec": { "f:renewTime": {} } };
const leaseOf = (annotations: Readonly<Record<string, string>>): Lease =>
  ({
    metadata: { name: "ccm", annotations, managedFields: [{ manager: "fake", fieldsV1: renewedFields }] },
    spec: { holderIdentity: "other" },
  }) as unknown as Lease;
const leaseWith = (size: number): Lease => leaseOf({ large: "x".repeat(size) });

function clusterName(): { readonly part: LeaseClusterName; readonly reported: string[] } {
  const reported: string[] = [];
  const onChanged = (former: string) => void reported.push(former);
  return {
    part: new LeaseClusterName({ name: "prod", identity: "one", program: "fake", onChanged }),
    reported,
  };
}

test("reports a changed cluster name even if the response to the write of the new name is lost", () => {
  const { part, reported } = clusterName();
  part.next(leaseOf({ [own]: "before" }), "hold");
  const landed = { ...leaseOf({ [own]: "prod" }), spec: { holderIdentity: "one" } } as Lease;
  part.next(landed, "hold").onStored();
  expect(reported).toEqual(["before"]);
  part.next(landed, "hold").onStored();
  expect(reported).toEqual(["before"]);
});

test.each([
  [
    "is a warning with a command where marks have the name",
    true,
    "Warning",
    "`fake-ccm marks --cluster-name=other`",
  ],
  ["is not a warning in other clouds", false, "Normal", "so all are managed as before"],
])("a changed cluster name %s", (_, isInMarks, type, text) => {
  const problem = clusterNameChanged("prod", "other", { program: "fake-ccm", isInMarks });
  expect(eventTypeOf(problem)).toBe(type as "Normal");
  expect(problem.text).toContain(text);
  expect(problem.text).toContain("If the new name is a mistake, restart all replicas with the former one.");
  const long = clusterNameChanged("x".repeat(1000), "other", { program: "fake-ccm", isInMarks });
  expect(long.text.length).toBeLessThan(problem.text.length + 70);
});

test("recreates a Lease that was deleted while held, with an event on the new Lease", async () => {
  const w = new ServiceWorld();
  world = w;
  await w.start("--leader-elect=true");
  await w.until(() => w.manager.leads(), "this replica to lead");
  await w.pass(10);
  w.deleteLease();
  await w.pass(30);
  const lease = w.server.store.get("leases", "kube-system", "cloud-controller-manager");
  const events = w.server.store.list("events").filter(({ reason }) => reason === "LeaseDeleted");
  expect(events.map(({ involvedObject }) => (involvedObject as { readonly uid?: string }).uid)).toEqual([
    lease?.metadata.uid,
  ]);
});

test("does not store the cluster name on a Lease that lacks space for it", () => {
  const { part } = clusterName();
  const most = roomFor("large", leaseWith(0)) - own.length - "prod".length;
  expect(part.next(leaseWith(most), "hold").values).toEqual({ [own]: "prod" });
  expect(part.next(leaseWith(most + 1), "hold").values).toEqual({});
});

test.each([
  ["that exists", leaseWith(10)],
  ["that is created", undefined],
])("an annotation on a Lease %s reduces the space for the next annotation", (_, lease) => {
  const rooms: number[] = [];
  const next = (before: Lease | undefined) => {
    rooms.push(roomFor("other", before));
    return { values: {}, onStored: () => undefined };
  };
  joinAnnotations([clusterName().part, { read: () => undefined, next }]).next(lease, "hold");
  expect(rooms).toEqual([roomFor("other", lease) - own.length - "prod".length]);
});
