import { expect, test } from "bun:test";
import { LifecycleHistory } from "../../../src/controllers/node-lifecycle/history.ts";
import { NodeControllers } from "../../support/node-controllers.ts";
import { vouchedRemovals } from "../../support/vouched-removals.ts";

test("a hold lasts into the next session of the process, unless another process has led in between", () => {
  const { nodes, inventory, clock } = new NodeControllers();
  let led = 0;
  const history = new LifecycleHistory({
    nodes: nodes.store,
    inventory,
    clock,
    removals: vouchedRemovals(clock),
    isSelected: () => true,
    formerLeaders: () => led,
  });
  const limits = [history.limit, history.outOfServiceLimit];
  for (const limit of limits) {
    limit.state = { totalAtStart: 10 };
    limit.counted.set("node-1", "uid-1");
  }
  history.beginSession();
  for (const { state, counted } of limits) expect([state, counted.size]).toEqual([{ totalAtStart: 10 }, 1]);
  led = 1;
  history.beginSession();
  for (const { state, counted } of limits) expect([state, counted.size]).toEqual([{}, 0]);
});
