import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";

// A Service whose group the provider cannot say keeps its load balancer where the cloud shows it.

const group = "scripted.example/group";
const annotated = (name: string) => ({ annotations: { [group]: name } });

test("keeps the load balancer of a Service that moved while its group became unknown", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("web", annotated("x"));
  await w.pass(30);
  const [id] = [...script.things.keys()];
  // The provider's plan works for the new group, although it cannot say that group.
  script.unplaceable.add("web");
  w.annotate("web", { [group]: "y" });
  w.addNode("late");
  await w.pass(7200);
  expect([...script.things.keys()]).toEqual([id ?? ""]);
  expect(script.applied.filter((step) => !step.startsWith("change"))).toEqual(["make group-x"]);
  expect(w.events("web").join()).toContain("SyncLoadBalancerFailed");
});

test("serves a Service of an unknown group where the cloud shows it after a restart, and moves it once the group is known", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("web", annotated("x"));
  await w.pass(30);
  await w.stop();
  script.unplaceable.add("web");
  await w.start();
  await w.pass(60);
  w.addNode("late");
  await w.pass(60);
  expect([...script.things.values()]).toMatchObject([{ group: "group-x", targets: 4 }]);
  expect(w.events("web").join()).toContain("SyncLoadBalancerFailed");
  script.unplaceable.clear();
  w.annotate("web", { [group]: "z" });
  await w.pass(600);
  expect([...script.things.values()]).toMatchObject([{ group: "group-z", targets: 4 }]);
});
