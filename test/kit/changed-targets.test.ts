import { expect, test } from "bun:test";
import { changedTargets, type NodesByTarget, nodesByMachine } from "#ccm";
import { toTarget } from "../controllers/service/service-draft.ts";

test.each<[string, NodesByTarget, readonly (string | number)[], unknown]>([
  ["adds a Node without a target", { 1: "a", 2: "b" }, [1], { adds: ["b"], removes: [] }],
  ["removes a target without a Node", { 1: "a" }, ["1", "x"], { adds: [], removes: ["x"] }],
  ["names a target that is listed twice only once", {}, [7, 7], { adds: [], removes: ["7"] }],
  ["changes nothing for the same targets", { 1: "a" }, ["1"], undefined],
])("changedTargets %s", (_, wanted, observed, expected) => {
  expect(changedTargets(wanted, observed)).toEqual(expected as never);
});

test("nodesByMachine omits a Node whose machine is unknown", () => {
  const { machine: _, ...unknown } = toTarget("b");
  const known = { ...toTarget("a"), machine: { source: "machines", key: "1" } };
  expect(nodesByMachine([known, unknown])).toEqual({ 1: "a" });
});
