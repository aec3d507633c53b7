// Numbered pages, several of which are requested at once: in order, complete, and as safe as sequential requests.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import { type Page, pagesByNumber } from "../../src/kit/pages.ts";
import { sleep } from "../../src/platform/clock.ts";
import { CloudError } from "../../src/provider/errors.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const never = new AbortController().signal;

const refusal = (kind: "rate-limited" | "unavailable"): CloudError =>
  new CloudError(kind, `GET /things: ${kind}`, { operation: "GET /things" });

/** A collection that can change between requests for its pages. */
class Collection {
  readonly clock = new VirtualClock();
  entries: readonly number[];
  readonly asked: number[] = [];
  inFlight = 0;
  mostInFlight = 0;
  hasTotal = true;
  /** Called when the cloud processes the request for a page. */
  onPage: (page: number) => void = () => undefined;
  takes = (_page: number): number => 20;
  readonly #size: number;

  constructor(count: number, size = 5) {
    this.entries = Array.from({ length: count }, (_, index) => index);
    this.#size = size;
  }

  read = async (page: number): Promise<Page<number, number>> => {
    this.asked.push(page);
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    try {
      const takes = this.takes(page);
      await sleep(this.clock, milliseconds(takes / 2), never);
      this.onPage(page);
      const { length } = this.entries;
      const items = this.entries.slice((page - 1) * this.#size, page * this.#size);
      const next = page * this.#size < length ? page + 1 : null;
      await sleep(this.clock, milliseconds(takes / 2), never);
      return { items, next, ...(this.hasTotal && { total: length }) };
    } finally {
      this.inFlight -= 1;
    }
  };

  /** All entries, or the error as text. */
  async list(): Promise<readonly number[] | string> {
    const all: number[] = [];
    let outcome: readonly number[] | string | undefined;
    const work = async () => {
      for await (const page of pagesByNumber({ operation: "GET /things" }, this.read)) all.push(...page);
    };
    void work().then(
      () => {
        outcome = all;
      },
      (error: unknown) => {
        outcome = String(error);
      },
    );
    await this.clock.until(() => outcome !== undefined, minutes(10), "the listing to end");
    expect(this.inFlight).toBe(0);
    return outcome ?? [];
  }
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

test("reads 100 numbered pages in order, eight at once, with one request per page", async () => {
  const things = new Collection(500);
  things.takes = (page) => 20 + ((page * 7) % 5) * 10;
  expect(await things.list()).toEqual(upTo(500));
  expect(things.asked.toSorted((a, b) => a - b)).toEqual(upTo(100).map((page) => page + 1));
  expect(things.mostInFlight).toBe(8);
  expect(things.clock.monotonic()).toBeLessThan(1500);
});

test("requests the first page alone, because only its response shows the rate limit and the total", async () => {
  const things = new Collection(20);
  const atFirst: number[] = [];
  things.onPage = (page) => {
    if (page === 1) atFirst.push(...things.asked);
  };
  await things.list();
  expect(atFirst).toEqual([1]);
});

test("without a total, requests one page after another, and only existing pages", async () => {
  const unknown = new Collection(23);
  unknown.hasTotal = false;
  expect(await unknown.list()).toEqual(upTo(23));
  expect([unknown.mostInFlight, unknown.asked]).toEqual([1, [1, 2, 3, 4, 5]]);
  const known = new Collection(23);
  await known.list();
  expect(known.asked).toEqual([1, 2, 3, 4, 5]);
});

test("a listing finds an entry that moves from page 3 to page 2 between their requests", async () => {
  for (const slow of [2, 3]) {
    const things = new Collection(30);
    things.takes = (page) => (page === slow ? 100 : 20);
    // Page 2 is processed before the removal and page 3 afterwards, or vice versa.
    things.onPage = (page) => {
      if (page === slow) things.entries = things.entries.filter((entry) => entry !== 7);
    };
    const listed = await things.list();
    expect(upTo(30).filter((entry) => entry !== 7 && !listed.includes(entry as never))).toEqual([]);
  }
});

test("a listing ends with all remaining entries while other entries are removed at every request", async () => {
  const things = new Collection(500);
  things.onPage = () => {
    things.entries = things.entries.slice(3);
  };
  const listed = await things.list();
  expect(things.entries.filter((entry) => !listed.includes(entry as never))).toEqual([]);
  expect(things.asked.length).toBeLessThanOrEqual(250);
});

test("rereads a page when an entry may have moved to it from a page that was processed later", async () => {
  const things = new Collection(30);
  things.takes = (page) => (page === 2 ? 100 : 20);
  // Page 3 is processed first. Then the last entry of page 2 moves to page 3, before page 2 is processed.
  things.onPage = (page) => {
    if (page === 2) things.entries = [100, ...things.entries];
  };
  const listed = await things.list();
  expect(upTo(30).filter((entry) => !listed.includes(entry as never))).toEqual([]);
  expect(things.asked.filter((page) => page === 3)).toHaveLength(2);
});

test("a listing misses no entry while other entries are added or removed at any time, and never fails", async () => {
  const history = fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 40 }),
      where: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    { maxLength: 6 },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("added", "removed"),
      history,
      fc.array(fc.integer({ min: 2, max: 120 }), { minLength: 12, maxLength: 12 }),
      async (kind, changes, takes) => {
        const things = new Collection(40);
        things.takes = (page) => takes[page % takes.length] ?? 20;
        for (const [index, { at, where }] of changes.entries()) {
          things.clock.after(milliseconds(at * 5), () => {
            const position = Math.floor(where * things.entries.length);
            things.entries =
              kind === "added"
                ? things.entries.toSpliced(position, 0, 1000 + index)
                : things.entries.toSpliced(position, 1);
          });
        }
        const listed = await things.list();
        if (typeof listed === "string") throw new Error(listed);
        const stayed = things.entries.filter((entry) => entry < 1000);
        expect(stayed.filter((entry) => !listed.includes(entry))).toEqual([]);
      },
    ),
    { numRuns: 300 },
  );
});

test("a failed page fails the listing after the earlier pages, and no request outlives the listing", async () => {
  const things = new Collection(500);
  const pages: number[] = [];
  things.onPage = (page) => {
    if (page === 6) throw refusal("unavailable");
  };
  const failed = await things.list();
  expect(failed).toContain("GET /things: unavailable");
  expect(Math.max(...things.asked)).toBeLessThanOrEqual(13);
  const again = pagesByNumber({ operation: "GET /things" }, things.read);
  const work = (async () => {
    for await (const page of again) pages.push(...page);
  })().catch(String);
  await things.clock.advance(seconds(5));
  expect(await work).toContain("unavailable");
  expect(pages).toEqual(upTo(25) as number[]);
});

test("reads one page after another from a cloud that rejects simultaneous requests", async () => {
  const things = new Collection(100);
  things.onPage = () => {
    if (things.inFlight > 3) throw refusal("rate-limited");
  };
  expect(await things.list()).toEqual(upTo(100));
  expect(things.asked.length).toBeLessThanOrEqual(20 + 8);
});

test("a page that is rejected twice fails the listing", async () => {
  const things = new Collection(100);
  things.onPage = (page) => {
    if (page === 4) throw refusal("rate-limited");
  };
  expect(await things.list()).toContain("rate-limited");
  expect(things.asked.filter((page) => page === 4)).toHaveLength(2);
});
