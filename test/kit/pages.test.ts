// Paged listings: complete, or an error.

import { expect, test } from "bun:test";
import { messageOf } from "../../src/core/error-message.ts";
import { jsonApi } from "../../src/kit/json-api.ts";
import { collect, mapEntries, numberedPages, pagesByCursor, pagesByNumber } from "../../src/kit/pages.ts";
import type { CloudTransport } from "../../src/provider/call.ts";

const options = { operation: "GET /things" };

const things = Array.from({ length: 7 }, (_, index) => `t${index}`);
const slice = (page: number, size = 3) => things.slice((page - 1) * size, page * size);

test("reads numbered pages", async () => {
  const asked: number[] = [];
  const pages = pagesByNumber(options, async (page) => {
    asked.push(page);
    return { items: slice(page), total: 7, next: page < 3 ? page + 1 : null };
  });
  expect(await collect(pages)).toEqual(things);
  expect(asked).toEqual([1, 2, 3]);
});

test("reads cursors until the last page", async () => {
  const next = ["two", "three", ""];
  const pages = pagesByCursor(options, async (cursor) => {
    const page = cursor === undefined ? 1 : cursor === "two" ? 2 : 3;
    return { items: slice(page), next: next[page - 1] };
  });
  expect(await collect(pages)).toEqual(things);
});

test("yields nothing for an empty collection", async () => {
  expect(await collect(pagesByNumber(options, async () => ({ items: [], total: 0, next: null })))).toEqual(
    [],
  );
});

test("throws when there are fewer entries than the total", async () => {
  const pages = pagesByNumber(options, async (page) => ({
    items: slice(page),
    total: 8,
    next: page < 3 ? page + 1 : null,
  }));
  const error = await collect(pages).catch((thrown: unknown) => thrown);
  expect(messageOf(error)).toBe(
    "GET /things: received 7 of 8 entries. The listing is discarded. Fairlead will retry.",
  );
});

test("throws when a page contains no list", async () => {
  const pages = pagesByCursor(options, async () => ({ items: undefined, next: undefined }));
  await expect(collect(pages)).rejects.toThrow("page 1 contains no list");
});

test("throws on a failed page after earlier pages were yielded", async () => {
  const pages = pagesByNumber(options, async (page) => {
    if (page === 2) throw new Error("reset");
    return { items: slice(page), next: page + 1 };
  });
  await expect(collect(pages)).rejects.toThrow("reset");
});

test("throws when pages form a cycle or never end", async () => {
  const circle = pagesByCursor(options, async () => ({ items: ["a"], next: "again" }));
  await expect(collect(circle)).rejects.toThrow("page 2 links back to an earlier page");
  const endless = pagesByNumber(options, async (page) => ({
    items: ["a"],
    next: page + 1,
  }));
  await expect(collect(endless)).rejects.toThrow("there are more than 10000 pages");
});

test("rereads the previous page when entries were removed, because an entry may have moved there", async () => {
  let all = Array.from({ length: 10 }, (_, index) => index + 1);
  const asked: number[] = [];
  const pages = pagesByNumber(options, async (page) => {
    asked.push(page);
    const items = all.slice((page - 1) * 5, page * 5);
    const answer = { items, total: all.length, next: page * 5 < all.length ? page + 1 : null };
    if (asked.length === 1) all = all.filter((each) => each !== 2);
    return answer;
  });
  expect(await collect(pages)).toEqual([1, 2, 3, 4, 5, 7, 8, 9, 10, 6]);
  // Page 2 was requested in turn, and page 1 afterwards.
  expect(asked.slice(0, 2)).toEqual([1, 2]);
  expect(asked.at(-1)).toBe(1);
});

test("throws when an earlier page that is reread contains no list", async () => {
  const totals = [6, 5, 5];
  const pages = pagesByNumber(options, async (page) => {
    const total = totals.shift() ?? 5;
    return { items: total === 5 && page === 1 ? undefined : slice(page), total, next: page < 2 ? 2 : null };
  });
  await expect(collect(pages)).rejects.toThrow("page 1 contains no list");
});

test("lists any collection of an API by number, with the query of the listing and of the API", async () => {
  const sent: string[] = [];
  const transport: CloudTransport = async ({ operation, url }, _call, read) => {
    sent.push(`${operation} ${new URL(url).search}`);
    const page = Number(new URL(url).searchParams.get("page"));
    return read(Response.json({ things: slice(page), meta: { total: 7, next: page < 3 ? page + 1 : null } }));
  };
  const pages = numberedPages<{ readonly meta: { readonly total: number; readonly next: number | null } }>(
    jsonApi({ base: "https://api.example", transport }),
    { query: { size: 3 }, read: ({ meta }) => meta },
  );
  const call = { signal: new AbortController().signal, urgency: "refresh" } as const;
  expect(await collect(pages<string>("things", call, { name: "a" }))).toEqual(things);
  expect(sent).toEqual([1, 2, 3].map((page) => `GET /things ?size=3&name=a&page=${page}`));
  expect(collect(pages("others", call))).rejects.toThrow("page 1 contains no list");
});

test("mapEntries converts the entries of each page, and throws a page's error", async () => {
  async function* pages() {
    yield [1, 2];
    yield [3];
    throw new Error("page 3");
  }
  const seen: (readonly string[])[] = [];
  const read = async () => {
    for await (const page of mapEntries(pages(), String)) seen.push(page);
  };
  await expect(read()).rejects.toThrow("page 3");
  expect(seen).toEqual([["1", "2"], ["3"]]);
});
