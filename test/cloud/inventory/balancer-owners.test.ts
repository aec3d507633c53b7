// The owners of load balancers in a cloud that cannot store owners.

import { expect, test } from "bun:test";
import { withOwners } from "../../../src/cloud/inventory/balancer-owners.ts";
import type { ServiceUID } from "../../../src/core/brand.ts";
import type { ObservedLoadBalancer } from "../../../src/provider/load-balancers.ts";

const owner = (uid: string, id?: string, changes: object = {}) => ({
  owner: { uid: uid as ServiceUID, namespace: "default", name: uid },
  defaultName: `a${uid}`,
  facts: id === undefined ? {} : { id },
  hasFinalizer: true,
  addresses: [] as readonly string[],
  hasHostname: false,
  createdAt: "2026-01-01T00:00:00Z",
  ...changes,
});
const [own, other] = [{ addresses: ["192.0.2.7"] }, { addresses: ["192.0.2.8"] }];
const ownKeys = ({ defaultName, facts }: { defaultName: string; facts: Readonly<Record<string, string>> }) =>
  facts["id"] === "none" ? [] : [defaultName, facts["id"] ?? "none"];

function listed(id: string, name: string, changes: Partial<ObservedLoadBalancer> = {}): ObservedLoadBalancer {
  const place = { keys: [name, id], addresses: own.addresses };
  return { name, ...place, owners: [], ownership: "unmarked", state: "ready", ...changes };
}
const marksOf = (balancers: readonly ObservedLoadBalancer[]) =>
  balancers.map(({ ownership, owners }) => [ownership, owners as readonly string[]]);
const named = { ownership: "ours", owners: ["u1" as ServiceUID] } as const;

test.each([
  ["the Service that has its id", listed("7", "shop"), [owner("u1", "7")], ["ours", ["u1"]]],
  ["the Service with its default name", listed("7", "au1"), [owner("u1")], ["ours", ["u1"]]],
  [
    "the Service with its default name rather than a Service with its id",
    listed("7", "au1"),
    [owner("u1"), owner("u2", "7")],
    ["ours", ["u1"]],
  ],
  ["nothing", listed("7", "shop"), [owner("u1")], ["unmarked", []]],
  ["a name without a Service", listed("7", "au1", named), [owner("u2")], ["ours", ["u1"]]],
  ["a Service that gave it up", listed("7", "au1", named), [owner("u1", "none")], ["unmarked", []]],
  [
    "a Service after another one that gave it up",
    listed("7", "au1", named),
    [owner("u1", "none"), owner("u2", "7")],
    ["ours", ["u2"]],
  ],
  ["two Services", listed("7", "shop"), [owner("u1", "7"), owner("u2", "7")], ["unmarked", []]],
  [
    "the Service with an address, of two Services",
    listed("7", "shop"),
    [owner("u1", "7"), owner("u2", "7", own)],
    ["ours", ["u2"]],
  ],
  [
    "the older of two Services with its address",
    listed("7", "shop"),
    [owner("u1", "7", own), owner("u2", "7", { ...own, createdAt: "2025-01-01T00:00:00Z" })],
    ["ours", ["u2"]],
  ],
  [
    "the Service with its address, of two Services",
    listed("7", "shop"),
    [owner("u1", "7", other), owner("u2", "7", own)],
    ["ours", ["u2"]],
  ],
  [
    "a Service with a hostname rather than a Service with a different address",
    listed("7", "shop"),
    [owner("u1", "7", other), owner("u2", "7", { hasHostname: true })],
    ["ours", ["u2"]],
  ],
  [
    "a Service without an address rather than a Service with a different address",
    listed("7", "shop"),
    [owner("u1", "7", other), owner("u2", "7")],
    ["ours", ["u2"]],
  ],
  [
    "no Service without the finalizer",
    listed("7", "au1", named),
    [owner("u2", "7", { hasFinalizer: false })],
    ["unmarked", []],
  ],
  [
    "a Service, while another cluster has it",
    listed("7", "shop", { ownership: "foreign" }),
    [owner("u1", "7")],
    ["foreign", ["u1"]],
  ],
] as const)("a load balancer belongs to %s", (_, balancer, services, expected) => {
  expect(marksOf(withOwners([balancer], ownKeys, () => services))).toEqual([expected as never]);
});

test("a Service with a load balancer by name owns the load balancer of its id only if it has that address", () => {
  const all = [listed("7", "au1", { addresses: [] }), listed("8", "shop")];
  const ownersWith = (changes: object) =>
    withOwners(all, ownKeys, () => [owner("u1", "8", changes)]).map(({ owners }) => owners.length);
  expect([ownersWith({}), ownersWith(own)]).toEqual([
    [1, 0],
    [1, 1],
  ]);
});

test("does not change load balancers with marks in the cloud", () => {
  const all = [listed("7", "shop")];
  expect(withOwners(all, undefined, () => [owner("u1", "7")])).toBe(all);
});
