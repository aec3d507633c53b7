import { expect, test } from "bun:test";
import { ListingIndex } from "../../../../src/controllers/service/observed/listing-index.ts";

const balancer = (name: string, group = "web") => ({
  group,
  name,
  owners: ["uid"],
  ownership: "ours",
  state: "ready",
});

function indexOf(...items: readonly object[]): ListingIndex {
  return new ListingIndex({ latest: { items } } as never);
}

test("counts two load balancers with different names of one group as two", () => {
  expect(indexOf(balancer("b1"), balancer("b2")).ofGroup("web")).toHaveLength(2);
});

test("counts a load balancer that the listing repeats once", () => {
  expect(indexOf(balancer("b1"), balancer("b1")).ofGroup("web")).toHaveLength(1);
});

test("finds the owner in another group only if it has a load balancer there", () => {
  const uid = "uid" as never;
  expect(indexOf(balancer("b1")).isElsewhere(uid, "web")).toBe(false);
  expect(indexOf(balancer("b1"), balancer("b2", "shop")).isElsewhere(uid, "web")).toBe(true);
});

test("finds what has the mark of another cluster by its owner, and not by its group", () => {
  const foreign = { ...balancer("b1"), ownership: "foreign" };
  const index = indexOf(foreign);
  expect([index.ofGroup("web"), index.marked, index.foreignOf("uid" as never)]).toEqual([
    [],
    [],
    [foreign as never],
  ]);
});
