import { afterEach, describe, expect, test } from "bun:test";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { refusal } from "./scripted-routes.ts";

let world: RouteWorld | undefined;
afterEach(() => world?.stop());
const setUp = (setup?: RouteSetup): RouteWorld => {
  world = new RouteWorld(setup);
  return world;
};

describe("as a document", () => {
  const document = { style: "document" } as const;

  test("any number of changes is one call [F62]", async () => {
    const w = setUp({ script: document });
    for (let index = 0; index < 50; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    for (let index = 100; index < 110; index += 1) w.cloud.put(`10.244.${index}.0/24`, { targetKey: "gone" });
    await w.settle();
    expect(w.cloud.changes.at(-1)).toBe("change +50 -0");
    expect(w.cloud.changes.length).toBeLessThanOrEqual(2);
    expect(w.cloud.table).toHaveLength(50);
  });

  test("when somebody else changed it, it is read again and nothing of theirs is lost [F62]", async () => {
    const w = setUp({ script: document }).add("n1", "10.244.1.0/24");
    w.cloud.beforeChange = () => {
      w.cloud.put("172.16.0.0/12", { ownership: "unmarked", targetKey: "x" });
      w.cloud.revision += 1;
    };
    await w.settle();
    expect(w.cloud.shown()).toEqual(["10.244.1.0/24 -> n1 10.0.0.1", "172.16.0.0/12 -> x"]);
    expect(w.told).toEqual([]);
  });

  test("when all of it is refused for one entry, the others go through in a few halvings", async () => {
    const w = setUp({ script: document });
    for (let index = 0; index < 64; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    w.cloud.failures.set("10.244.3.0/24", refusal("invalid"));
    await w.settle();
    expect(w.cloud.table).toHaveLength(63);
    expect(w.cloud.changes.length).toBeLessThanOrEqual(14);
  });

  test("a cloud that is away is not asked in halves", async () => {
    const w = setUp({ script: document });
    for (let index = 0; index < 8; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
    w.cloud.failures.set("*", refusal("unavailable"));
    await w.start().pass(0.6);
    expect(w.cloud.changes).toEqual(["change +8 -0"]);
  });
});
