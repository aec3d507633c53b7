import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";

// Plans that need the same prefetch from the cloud share it.

test("one prefetch serves all Services that are created together, and a later Service gets a new prefetch", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  for (const name of names) w.create(name);
  await w.pass(5);
  expect(script.prefetches).toHaveLength(1);
  w.create("late");
  await w.pass(5);
  expect(script.prefetches).toHaveLength(2);
  expect(w.get("late").status.loadBalancer?.ingress).toHaveLength(1);
});
