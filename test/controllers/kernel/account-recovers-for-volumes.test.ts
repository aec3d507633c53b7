// Doubt about the account when the cluster records only volumes, as when Fairlead runs only for volumes.

import { afterEach, expect, test } from "bun:test";
import { type DoubtWorld, settled } from "./doubt-world.ts";

let world: DoubtWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
  world = undefined;
});

test("doubt about the account ends when the cloud shows volumes again, so that the volume of a deleted claim is deleted", async () => {
  const w = await settled({ nodes: 1, claims: 3 }, ["volumes"]);
  world = w;
  await w.stop();
  w.removeNode("node-0");
  w.deleteClaim("data-0");
  // The cloud shows nothing for two minutes.
  w.project = "other";
  await w.start();
  await w.pass(120);
  expect(w.held("volumes")).toHaveLength(1);
  w.project = "own";
  await w.pass(1800);
  expect([w.held("volumes"), w.volumes().length]).toEqual([[], 2]);
});
