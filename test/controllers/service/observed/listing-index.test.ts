import { expect, test } from "bun:test";
import { ListingIndex } from "../../../../src/controllers/service/observed/fresh-listing.ts";

// The index of what the parts of a cloud list.

const balancer = (name: string) => ({
  group: "web",
  name,
  owners: ["uid"],
  ownership: "ours",
  state: "ready",
});

function indexOf(parts: Readonly<Record<string, readonly object[]>>): ListingIndex {
  const listed = Object.entries(parts).map(([name, items]) => ({ name, listing: { latest: { items } } }));
  const latest = { items: Object.values(parts).flat() };
  return new ListingIndex({ listing: { parts: listed, latest } as never });
}

test("counts two load balancers of one name in two parts as two", () => {
  const index = indexOf({ near: [balancer("b1")], far: [balancer("b1")] });
  expect(index.ofGroup("web").map((one) => index.partOf(one))).toEqual(["near", "far"]);
  expect(index.partsOf("web")).toEqual(["near", "far"]);
});

test("counts a load balancer that one part repeats once", () => {
  const index = indexOf({ near: [balancer("b1"), balancer("b1")], far: [] });
  expect(index.ofGroup("web")).toHaveLength(1);
  expect(index.partsOf("web")).toEqual(["near"]);
});

test("finds the owners in some parts only", () => {
  const index = indexOf({ near: [], far: [balancer("b1")] });
  expect([...index.ownersIn("web", new Set(["near"]))]).toEqual([]);
  expect([...index.ownersIn("web", new Set(["far"]))] as string[]).toEqual(["uid"]);
});
