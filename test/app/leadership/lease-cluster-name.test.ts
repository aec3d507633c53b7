import { afterEach, expect, test } from "bun:test";
import { LeaseClusterName } from "../../../src/app/leadership/lease-cluster-name.ts";
import { joinAnnotations, roomFor } from "../../../src/kube/leader-election/lease-record.ts";
import type { Lease } from "../../../src/kube/objects.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

test("a leader with another cluster name than the last one says so once, in its log and on the Lease", async () => {
  const w = new ServiceWorld();
  world = w;
  const lead = async (name: string): Promise<readonly string[]> => {
    w.logged.length = 0;
    await w.start("--leader-elect=true", `--cluster-name=${name}`);
    await w.until(() => w.manager.leads(), "this replica to lead");
    await w.pass(30);
    w.crash();
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
});

const own = "fairlead.dev/cluster-name";
const leaseWith = (size: number): Lease =>
  ({ metadata: { name: "ccm", annotations: { large: "x".repeat(size) } } }) as unknown as Lease;

test("a Lease without room for the cluster name does not get it", () => {
  const name = new LeaseClusterName("prod", () => undefined);
  const most = roomFor("large", leaseWith(0)) - own.length - "prod".length;
  expect(name.next(leaseWith(most), "hold").values).toEqual({ [own]: "prod" });
  expect(name.next(leaseWith(most + 1), "hold").values).toEqual({});
});

test("what one part writes on the Lease takes the room of the next one", () => {
  const rooms: number[] = [];
  const next = (before: Lease | undefined) => {
    rooms.push(roomFor("other", before));
    return { values: {}, onStored: () => undefined };
  };
  const name = new LeaseClusterName("prod", () => undefined);
  joinAnnotations([name, { read: () => undefined, next }]).next(leaseWith(10), "hold");
  expect(rooms).toEqual([roomFor("other", leaseWith(10)) - own.length - "prod".length]);
});
