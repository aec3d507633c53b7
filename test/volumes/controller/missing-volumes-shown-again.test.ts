// Which volumes count as missing after the cloud lists all volumes again.

import { afterEach, expect, test } from "bun:test";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { VolumeWorld } from "../../support/volume-world.ts";

let world: VolumeWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

const claimsOf = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => `data-${from + index}`);
const held = (w: VolumeWorld) => w.manager.report().massLimits.find(({ kind }) => kind === "volumes")?.held;

async function bound(count: number): Promise<VolumeWorld> {
  const w = new VolumeWorld({ nodes: 6 });
  world = w;
  await w.start();
  for (const name of claimsOf(count)) w.claim(name);
  await w.until(() => claimsOf(count).every((name) => w.isBound(name)), "bound");
  await w.pass(40);
  w.forget();
  return w;
}

/** Breaks the watch of claims, as with a resource version that is too old, so that the next list lacks the claim. */
async function deleteInGap(w: VolumeWorld, claim: string): Promise<void> {
  const { faults } = w.server;
  faults.intercept = (_, { verb, plural }) =>
    verb === "watch" && plural === "persistentvolumeclaims" ? "drop" : undefined;
  await w.pass(300);
  w.deleteClaim(claim);
  w.server.compact();
  faults.intercept = undefined;
  await w.pass(60);
}

test("a PersistentVolume is deleted an hour after an outage, although its claim disappeared in a gap of the watch", async () => {
  const w = await bound(10);
  // Listings and lookups lack three volumes for two minutes; one claim is deleted in that time.
  const hidden = claimsOf(3).map((claim) => w.volumeOf(claim).spec?.csi?.volumeHandle);
  w.cloud.view = { ...trueView, volumes: (all) => all.filter(({ id }) => !hidden.includes(id)) };
  w.deleteClaim("data-0");
  await w.pass(120);
  expect(held(w)).toHaveLength(1);
  w.cloud.view = trueView;
  await w.until(() => w.volumes().length === 9, "the first deletion", 120);
  await w.pass(3600);
  expect(held(w)).toEqual([]);
  await deleteInGap(w, "data-9");
  await w.pass(1800);
  expect([held(w), w.volumes().length]).toEqual([[], 8]);
});

test("a PersistentVolume is deleted an hour after listings were ten seconds late for three new volumes", async () => {
  const w = await bound(8);
  const firstSeen = new Map<string, number>();
  const isListed = (id: string): boolean => {
    const now = w.clock.monotonic();
    const at = firstSeen.get(id) ?? now;
    firstSeen.set(id, at);
    return now - at >= 10_000;
  };
  for (const { id } of w.cloud.volumes.list()) firstSeen.set(id, Number.NEGATIVE_INFINITY);
  w.cloud.view = {
    ...trueView,
    volumes: (all, read) => all.filter(({ id }) => read === "lookup" || isListed(id)),
  };
  // The volume of one claim was deleted by hand. Its absence is confirmed while three other volumes are new.
  w.cloud.volumes.remove(w.volumeOf("data-0").spec?.csi?.volumeHandle ?? "");
  w.deleteClaim("data-0");
  await w.pass(25);
  for (const name of claimsOf(3, 20)) w.claim(name);
  await w.until(() => w.volumes().length === 10, "the first deletion", 300);
  await w.pass(3600);
  expect([held(w), w.volumes().length]).toEqual([[], 10]);
  await deleteInGap(w, "data-7");
  await w.pass(1800);
  expect([held(w), w.volumes().length]).toEqual([[], 9]);
});
