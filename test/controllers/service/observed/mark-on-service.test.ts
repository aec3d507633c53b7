// The owners of load balancers in a cloud that has no place for them.

import { expect, test } from "bun:test";
import { withOwners } from "../../../../src/controllers/service/observed/mark-on-service.ts";
import type { ServiceUID } from "../../../../src/core/brand.ts";
import type { ObservedLoadBalancer } from "../../../../src/provider/load-balancers.ts";

const owner = (uid: string, id?: string, hasAddress = false) => ({
  uid: uid as ServiceUID,
  facts: id === undefined ? {} : { id },
  hasAddress,
});
const ownKeys = ({ defaultName, facts }: { defaultName: string; facts: Readonly<Record<string, string>> }) =>
  facts["id"] === "none" ? [] : [...new Set([facts["id"] ?? defaultName, defaultName])];

function listed(id: string, name: string, changes: Partial<ObservedLoadBalancer> = {}): ObservedLoadBalancer {
  return { group: id, owners: [], ownership: "unmarked", state: "ready", keys: [name, id], ...changes };
}
const marksOf = (balancers: readonly ObservedLoadBalancer[]) =>
  balancers.map(({ ownership, owners, group }) => [ownership, owners as readonly string[], group]);
const named = { ownership: "ours", owners: ["u1" as ServiceUID], group: "au1" } as const;

test.each([
  ["the id on a Service", listed("7", "shop"), [owner("u1", "7")], ["ours", ["u1"], "au1"]],
  ["the default name", listed("7", "au1"), [owner("u1")], ["ours", ["u1"], "au1"]],
  [
    "the default name before an id",
    listed("7", "au1"),
    [owner("u1"), owner("u2", "7")],
    ["ours", ["u1"], "au1"],
  ],
  ["nothing", listed("7", "shop"), [owner("u1")], ["unmarked", [], "7"]],
  ["a name without a Service", listed("7", "au1", named), [owner("u2")], ["ours", ["u1"], "au1"]],
  ["a Service that gave it up", listed("7", "au1", named), [owner("u1", "none")], ["unmarked", [], "au1"]],
  [
    "a Service after another one that gave it up",
    listed("7", "au1", named),
    [owner("u1", "none"), owner("u2", "7")],
    ["ours", ["u2"], "au2"],
  ],
  ["two Services", listed("7", "shop"), [owner("u1", "7"), owner("u2", "7")], ["unmarked", [], "7"]],
  [
    "the one of two Services with an address",
    listed("7", "shop"),
    [owner("u1", "7"), owner("u2", "7", true)],
    ["ours", ["u2"], "au2"],
  ],
  [
    "a Service, while another cluster has it",
    listed("7", "shop", { ownership: "foreign" }),
    [owner("u1", "7")],
    ["foreign", ["u1"], "au1"],
  ],
] as const)("a load balancer belongs to %s", (_, balancer, services, expected) => {
  expect(marksOf(withOwners([balancer], ownKeys, () => services))).toEqual([expected as never]);
});

test("load balancers with marks in the cloud stay as they are", () => {
  const all = [listed("7", "shop")];
  expect(withOwners(all, undefined, () => [owner("u1", "7")])).toBe(all);
});
