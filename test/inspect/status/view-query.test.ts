import { expect, test } from "bun:test";
import { linkTo, readQuery, slice } from "../../../src/inspect/status/view-query.ts";

const view = (text: string) => readQuery(new URLSearchParams(text));
const many = Array.from({ length: 120 }, (_, index) => index);

test("/status keeps the filter in the links to other pages", () => {
  expect(linkTo(view("filter=Node-1&show=unsettled&services=2"), "nodes", 3)).toBe(
    "?filter=node-1&show=unsettled&nodes=3&services=2#nodes",
  );
  expect(linkTo(view(""), "nodes", 1)).toBe("?#nodes");
});

test.each(["0", "-1", "1.5", "x", "1e99", ""])(
  "the invalid page number %p selects the first page of a table",
  (text) => {
    expect(view(`nodes=${text}`).pages.nodes).toBe(1);
  },
);

test("a page number after the last page selects the last page", () => {
  const { items, ...rest } = slice(many, "nodes", view("nodes=99"));
  expect(rest).toEqual({ page: 3, pages: 3, total: 120 });
  expect(items).toEqual(many.slice(100));
  expect(slice([], "nodes", view(""))).toEqual({ items: [], page: 1, pages: 1, total: 0 });
});
