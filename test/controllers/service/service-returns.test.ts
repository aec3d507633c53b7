import { expect, test } from "bun:test";
import { type ServiceUID, seconds, serviceUID } from "../../../src/core/brand.ts";
import { sleep } from "../../../src/platform/clock.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";

// A Service that vanished from the API and returns while its removal is in progress, as after a restore of etcd.

/** The parts of a provider that take three seconds while `isSlow` is set, and the calls so far. */
function slowWorld(part: "observe" | "prefetch", otherOwners: readonly ServiceUID[] = []) {
  const state = { isSlow: false, calls: 0 };
  const made = scriptedWorld(undefined, ({ list, prefetch }) => {
    const wait = async (): Promise<void> => {
      if (!state.isSlow) return;
      state.calls += 1;
      await sleep(made.w.clock, seconds(3), new AbortController().signal);
    };
    return part === "prefetch"
      ? { prefetch: async (...input) => wait().then(() => prefetch?.(...input) as never) }
      : {
          list: async function* (call) {
            for await (const page of list(call))
              yield page.map((one) => {
                return { ...one, owners: [...one.owners, ...otherOwners], shallow: true as const };
              });
          },
          observe: async (_, listed) => wait().then(() => listed && { ...listed, shallow: undefined }),
          // Requires no further listing before a removal.
          observeAgain: async () => undefined,
        };
  });
  return { ...made, state };
}

async function vanishAndReturn({ w, state }: ReturnType<typeof slowWorld>): Promise<void> {
  const services = resourceNamed("services");
  const stored = w.server.store.get("services", "default", "web");
  if (stored === undefined) throw new Error("The Service does not exist.");
  state.isSlow = true;
  w.server.store.remove(services, stored);
  await w.until(() => state.calls > 0, "the slow call");
  w.server.store.put(services, stored);
  await w.pass(10);
  state.isSlow = false;
}

test("a Service that returns while its load balancer is looked up keeps it", async () => {
  const world = slowWorld("observe");
  const { w, script } = world;
  await w.start();
  const { uid } = w.create("web").metadata;
  await w.pass(300);
  await vanishAndReturn(world);
  await w.pass(3600);
  expect(script.applied).toEqual([`make ${uid}`]);
  await w.stop();
});

test("a Service without a load balancer that returns while its removal is planned gets a load balancer", async () => {
  const world = slowWorld("prefetch");
  const { w, script } = world;
  script.conflict = "the port is in use";
  await w.start();
  const { uid } = w.create("web").metadata;
  await w.pass(3600);
  script.conflict = undefined;
  await vanishAndReturn(world);
  await w.pass(3600);
  expect(script.applied).toEqual([`make ${uid}`]);
  await w.stop();
});

test("continues to manage a Service that returns while its load balancer was to be retained", async () => {
  // The mark does not identify the owner, so the load balancer stays when the Service is gone.
  const world = slowWorld("observe", [serviceUID("another")]);
  const { w, script } = world;
  await w.start();
  w.create("web");
  await w.pass(300);
  const targets = () => [...script.things.values()].map((thing) => thing.targets);
  const [before = 0] = targets();
  await vanishAndReturn(world);
  w.addNode("late");
  w.setReady("late", "True");
  await w.pass(60);
  expect(targets()).toEqual([before + 1]);
  await w.stop();
});
