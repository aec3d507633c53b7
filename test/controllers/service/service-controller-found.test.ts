import { expect, test } from "bun:test";
import { ServiceWorld } from "../../support/service-world.ts";

// What the simulation found, each by itself: histories that nobody had thought of.

const algorithm = "balancer.fake.example/algorithm";

test("a Service that was refused and asks for nothing any more loses its condition, also when nobody looked", async () => {
  for (const isWatched of [true, false]) {
    const w = new ServiceWorld();
    await w.start();
    w.create("web", { annotations: { [algorithm]: "round-robbin" } });
    await w.pass(5);
    expect(w.get("web").status.conditions).toMatchObject([{ type: "CloudReady", status: "False" }]);
    if (!isWatched) await w.stop();
    w.editSpec("web", { type: "ClusterIP" });
    if (!isWatched) await w.start();
    await w.pass(5);
    expect(w.get("web").status.conditions ?? []).toEqual([]);
    expect(w.get("web").metadata.finalizers ?? []).toEqual([]);
    w.forget();
    await w.pass(3600);
    expect(w.written).toEqual([]);
    await w.stop();
  }
});
