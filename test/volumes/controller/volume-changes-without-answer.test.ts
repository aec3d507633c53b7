// Changes whose response was lost: the cloud has carried them out, so that the next lookup shows their effect.

import { afterEach, expect, test } from "bun:test";
import { VolumeWorld } from "../../support/volume-world.ts";

let world: VolumeWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
});

const held = (w: VolumeWorld) => w.manager.report().massLimits.find(({ kind }) => kind === "volumes")?.held;

async function bound(count: number) {
  const w = new VolumeWorld({ nodes: 6 });
  world = w;
  await w.start();
  const claims = Array.from({ length: count }, (_, index) => `data-${index}`);
  for (const name of claims) w.claim(name);
  await w.until(() => claims.every((name) => w.isBound(name)), "bound");
  await w.pass(40);
  w.forget();
  return { w, claims };
}

test("the volumes of five pods leave a drained Node although each response to a detachment was lost", async () => {
  const { w, claims } = await bound(10);
  const names = claims.slice(0, 5).map((claim) => w.attach(claim, w.nodesFor(claim)[0]));
  await w.until(() => names.every((name) => w.isAttached(name)), "attached");
  await w.pass(40);
  w.cloud.faults.add({ kind: "lost-answer", operation: "PATCH /volumes/{id}", calls: 5 });
  for (const name of names) w.detach(name);
  await w.pass(3600);
  expect([names.filter((name) => w.attachment(name) !== undefined), held(w)]).toEqual([[], []]);
});

test("the volumes of five pods leave a drained Node although the manager was killed between detachment and report", async () => {
  const { w, claims } = await bound(10);
  const names = claims.slice(0, 5).map((claim) => w.attach(claim, w.nodesFor(claim)[0]));
  await w.until(() => names.every((name) => w.isAttached(name)), "attached");
  await w.pass(40);
  const areDetached = () => w.cloud.volumes.list().every(({ machine }) => machine === null);
  // No consequence of the detachment reaches the API server.
  w.onCrossing = (what, when) => {
    const isReport = when === "before" && what.includes("/volumeattachments/") && areDetached();
    if (isReport) w.crash();
  };
  for (const name of names) w.detach(name);
  await w.until(() => !w.isRunning, "the crash", 60);
  w.onCrossing = undefined;
  await w.start();
  await w.pass(3600);
  expect([names.filter((name) => w.attachment(name) !== undefined), held(w)]).toEqual([[], []]);
});
