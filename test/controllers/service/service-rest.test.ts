import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { problemsOf } from "../../support/service-problems.ts";

// Complete Services that are not planned again while listings repeat their load balancers.

/** Two listings within the time of rest. */
async function atRest() {
  const foreign: string[] = [];
  const { w, script } = scriptedWorld(undefined, ({ list }) => ({
    list: async function* (call) {
      for await (const page of list(call)) {
        const others = foreign.map((uid) => ({
          group: `other-${uid}`,
          name: "other",
          owners: [uid],
          ownership: "foreign",
          cluster: "staging",
          state: "ready",
          thing: { id: "other", owners: [uid], targets: 1 },
        }));
        yield [...page, ...(others as unknown as typeof page)];
      }
    },
  }));
  await w.start();
  const { uid } = w.create("web").metadata;
  await w.pass(60);
  let count = 0;
  const list = async () => {
    count += 1;
    w.create(`late-${count}`);
    await w.pass(30);
  };
  return { w, script, foreign, uid, list };
}

test("reports another cluster's load balancer for a settled Service as long as listings show it", async () => {
  const h = await atRest();
  h.foreign.push(h.uid);
  await h.list();
  expect(problemsOf(h.w.manager, "default/web").join()).toContain("BelongsToOtherCluster");
  h.foreign.pop();
  await h.list();
  expect(problemsOf(h.w.manager, "default/web")).toEqual([]);
  await h.w.stop();
});
