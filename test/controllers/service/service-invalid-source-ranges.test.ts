import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";

// An invalid source range changes no access: the load balancer keeps its ranges.

const right = ["10.0.0.0/24", "10.1.0.0/24"];
// The API server validates the field, but not the annotation.
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
  ["in a process that saw the valid ranges", "kept", false],
  ["after a restart, read from the cloud", "readable", true],
] as const)(
  "source ranges stay unchanged while one of them is invalid, %s [F47]",
  async (_, ranges, isRestarted) => {
    const { ranges: now, w, script } = await shown(ranges, isRestarted);
    expect(now).toEqual(right);
    w.annotate("web", { [key]: "10.2.0.0/24" });
    await w.pass(30);
    expect([...script.things.values()].map((thing) => thing.ranges as unknown)).toEqual([["10.2.0.0/24"]]);
  },
);

test("omits an invalid source range when the previous ranges are unknown [F47]", async () => {
  expect((await shown("kept", true)).ranges).toEqual(["10.0.0.0/24"]);
});

test("the load balancer does not change while all ranges are invalid and the previous ranges are unknown", async () => {
  const { w, script } = scriptedWorld((one) => {
    one.ranges = "kept";
  });
  await w.start();
  w.create("web", { annotations: { [key]: right.join() } });
  await w.pass(30);
  w.crash();
  w.annotate("web", { [key]: "10.0.0.0/33" });
  await w.start();
  w.addNode("late");
  await w.pass(30);
  // Some clouds would admit every client with an empty list.
  expect([...script.things.values()]).toMatchObject([{ ranges: right, targets: 3 }]);
  expect(w.events("web").join()).toContain("InvalidSourceRange");
  w.annotate("web", { [key]: "10.2.0.0/24" });
  await w.pass(30);
  expect([...script.things.values()]).toMatchObject([{ ranges: ["10.2.0.0/24"], targets: 4 }]);
});

test("no load balancer is created while all ranges are invalid", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("web", { annotations: { [key]: "10.0.0.0/33" } });
  await w.pass(30);
  expect(script.applied).toEqual([]);
});

test.each([
  ["in the process that created it", "kept", false],
  ["after a restart", "readable", true],
] as const)(
  "a load balancer without source ranges stays unrestricted while the first range is invalid, %s",
  async (_, ranges, isRestarted) => {
    const { w, script } = scriptedWorld((one) => {
      one.ranges = ranges;
    });
    await w.start();
    w.create("web");
    await w.pass(30);
    w.annotate("web", { [key]: "10.0.0.0/33" });
    if (isRestarted) w.crash();
    if (isRestarted) await w.start();
    w.addNode("late");
    await w.pass(30);
    const rangesNow = () => [...script.things.values()].map((thing) => thing.ranges as unknown);
    expect(rangesNow()).toEqual(["unspecified"]);
    w.annotate("web", { [key]: "0.0.0.0/0" });
    await w.pass(30);
    expect(rangesNow()).toEqual([["0.0.0.0/0"]]);
  },
);
