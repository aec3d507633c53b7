import { expect, test } from "bun:test";
import { RouteBackoffs } from "../../../src/controllers/route/apply/backoffs.ts";
import { type Group, groupsOf, halvesOf } from "../../../src/controllers/route/apply/document-groups.ts";
import type { RouteChange } from "../../../src/controllers/route/plan/changes.ts";
import { milliseconds, nodeName, seconds } from "../../../src/core/brand.ts";
import { cidr } from "../../../src/core/cidr.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

const ranges = [cidr("10.244.1.0/24"), cidr("10.244.2.0/24"), cidr("10.244.3.0/24")] as const;
const target = { node: nodeName("n1"), uid: "1", addresses: [], internalIPs: [] };
const creations: readonly RouteChange[] = ranges.map((destination) => ({
  do: "create",
  route: { destination, target },
}));
const removals: readonly RouteChange[] = ranges.map((destination) => ({
  do: "remove",
  route: { handle: `old ${destination}`, destination, ownership: "marked" },
}));
const shown = (groups: readonly Group[]) => groups.map((group) => [...group]);

test("groupsOf sends failed changes alone after the others, and holds changes that are in backoff together with their route", () => {
  const backoffs = new RouteBackoffs(new VirtualClock());
  const [refused, inBackoff] = [creations[1], removals[2]] as [RouteChange, RouteChange];
  backoffs.failed(refused, milliseconds(0));
  backoffs.failed(inBackoff, seconds(60));
  const { held, groups } = groupsOf([...removals, ...creations], backoffs);
  expect(shown(groups)).toEqual([[ranges[0]], [ranges[1]]]);
  expect(held.map(({ change, outcome }) => [change.do, change.route.destination, outcome.kind])).toEqual([
    ["remove", ranges[2], "held"],
    ["create", ranges[2], "held"],
  ]);
});

test("halvesOf keeps order and content, and does not halve a single change", () => {
  expect(shown(halvesOf(new Set(ranges)))).toEqual([ranges.slice(0, 2), ranges.slice(2)]);
  expect(halvesOf(new Set(ranges.slice(0, 1)))).toEqual([]);
});
