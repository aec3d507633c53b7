import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";

// A wrong source range lets nobody in and keeps nobody out: the balancer keeps the ranges it has.

const right = ["10.0.0.0/24", "10.1.0.0/24"];
// The API server checks the field; the annotation it does not.
const key = "service.beta.kubernetes.io/load-balancer-source-ranges";

const shown = async (ranges: "kept" | "readable", isRestarted: boolean) => {
  const { w, script } = scriptedWorld((one) => {
    one.ranges = ranges;
  });
  await w.start();
  w.create("web", { annotations: { [key]: right.join() } });
  await w.pass(30);
  w.annotate("web", { [key]: "10.0.0.0/24,10.1.0.0/33" });
  if (isRestarted) w.crash();
  if (isRestarted) await w.start();
  w.addNode("late");
  await w.pass(30);
  const [thing] = script.things.values();
  expect(thing?.targets).toBe(4);
  expect(w.events("web").join()).toContain("10.1.0.0/33");
  return { ranges: thing?.ranges as readonly string[] | undefined, w, script };
};

test.each([
  ["by a process that saw them right", "kept", false],
  ["by one that did not, read from the cloud", "readable", true],
] as const)("ranges stay as they are while one is wrong, %s [F47]", async (_, ranges, isRestarted) => {
  const { ranges: now, w, script } = await shown(ranges, isRestarted);
  expect(now).toEqual(right);
  w.annotate("web", { [key]: "10.2.0.0/24" });
  await w.pass(30);
  expect([...script.things.values()].map((thing) => thing.ranges as unknown)).toEqual([["10.2.0.0/24"]]);
});

test("where nobody can tell what the ranges were, the wrong one is left out and none is added [F47]", async () => {
  expect((await shown("kept", true)).ranges).toEqual(["10.0.0.0/24"]);
});
