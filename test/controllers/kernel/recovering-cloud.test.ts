import { afterEach, expect, test } from "bun:test";
import { DoubtWorld, names, settled } from "./doubt-world.ts";

// A cloud that hid too much recovers step by step. What it shows last needs a proof from after the hold, however the hold ended.

let world: DoubtWorld | undefined;
afterEach(async () => {
  await world?.stop();
  expect(world?.unexpectedErrors ?? []).toEqual([]);
  world = undefined;
});

/** Answers of the cloud lack these machines. */
function hideMachines(w: DoubtWorld, ...hidden: readonly string[]): void {
  w.cloud.hides = ({ name }) => hidden.includes(name);
}

test("keeps the Node of a machine that the cloud shows 20 s after that of a Ready Node, which held it [F23]", async () => {
  const w = await settled({ nodes: 10 }, ["nodes"]);
  world = w;
  hideMachines(w, "node-0", "node-1");
  w.setReady("node-0", "Unknown");
  await w.pass(300);
  expect(w.held("nodes")).toEqual(["node-0"]);
  hideMachines(w, "node-0");
  await w.until(() => w.held("nodes").length === 0, "the end of the hold", 600);
  await w.pass(20);
  hideMachines(w);
  await w.pass(300);
  expect(w.hasNode("node-0")).toBe(true);
});
