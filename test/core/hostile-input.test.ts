// Input from tenants is limited: its cost grows at most with its size, and messages about it stay short. The tests count steps
// where possible; a pattern with unlimited backtracking would never end here.

import { expect, spyOn, test } from "bun:test";
import { editDistance } from "../../src/core/did-you-mean.ts";
import { parseDuration } from "../../src/core/duration.ts";
import { decimal, duration, text } from "../../src/core/fields.ts";
import { list, pairs } from "../../src/core/list-fields.ts";
import { parseNodeSelector } from "../../src/core/node-selector.ts";
import { readSettings } from "../../src/core/read-settings.ts";

const fields = Object.fromEntries(
  Array.from({ length: 60 }, (_, index) => [
    `health-check-interval-${index}`,
    text("A name to compare with."),
  ]),
);
const misspelt = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`lb/haelth-check-intervel-${index}x`, ""]));

test("readSettings compares only the first unknown keys with known names, and counts all other keys [N25]", () => {
  // Each comparison converts both names to lower case.
  const comparisons = spyOn(String.prototype, "toLowerCase");
  try {
    const raw = misspelt(10_000);
    comparisons.mockClear();
    const { problems } = readSettings(fields, raw, { prefix: "lb/", what: "annotation" });
    expect(comparisons.mock.calls.length).toBeLessThanOrEqual(10 * (1 + 60));
    expect(problems).toHaveLength(11);
    expect(problems[0]?.text).toBe(
      'lb/haelth-check-intervel-0x is not a known annotation; did you mean "lb/health-check-interval-0"?',
    );
    expect(problems[10]?.text).toBe(
      "not listed: 9990 more unknown annotations, such as lb/haelth-check-intervel-10x",
    );
  } finally {
    comparisons.mockRestore();
  }
});

test("readSettings lists all unknown keys when there are few", () => {
  const { problems } = readSettings(fields, misspelt(10), { prefix: "lb/", what: "annotation" });
  expect(problems.map(({ key }) => key)).toEqual(Object.keys(misspelt(10)));
});

/** Counts the characters that are read from a text. */
function counting(value: string): { readonly text: string; readonly reads: () => number } {
  let reads = 0;
  const text = new Proxy(Object(value) as object, {
    get: (target, key) => {
      if (typeof key === "string" && /^\d+$/.test(key)) reads += 1;
      return Reflect.get(target, key);
    },
  }) as unknown as string;
  return { text, reads: () => reads };
}

test("editDistance reads a number of characters that grows linearly with the length [N25]", () => {
  const of = (length: number): number => {
    const { text, reads } = counting(`${"a".repeat(length)}b`);
    expect(editDistance(text, `${"a".repeat(length)}c`, 3)).toBe(1);
    return reads();
  };
  expect(of(2000)).toBeLessThan(2.1 * of(1000));
});

test("rejects a selector with an invalid list without trying all ways to split its spaces [N25]", () => {
  expect(parseNodeSelector(`x in (${",   ".repeat(200)}!)`)).toHaveProperty("wrong");
  expect(parseNodeSelector(`x in (${" ".repeat(5000)}!)`)).toHaveProperty("wrong");
  expect(parseNodeSelector(",".repeat(250_000))).toHaveProperty("wrong");
});

test("accepts a selector with an empty value in its list", () => {
  const read = parseNodeSelector("pool in (web, ,api) , tier notin (test)");
  const { matches } = "value" in read ? read.value : { matches: () => false };
  expect([{ pool: "web" }, { pool: "" }, { pool: "api", tier: "test" }].map(matches)).toEqual([
    true,
    true,
    false,
  ]);
});

test("rejects a number or duration of 250,000 digits [N25]", () => {
  const digits = "1".repeat(250_000);
  expect(parseDuration(digits)).toBeUndefined();
  expect(duration("A time.").parse(`${digits}x`)).toHaveProperty("wrong");
  expect(decimal("A number.").parse(`${digits}x`)).toHaveProperty("wrong");
});

test.each([list("Names."), pairs("Tags.")])(
  "rejects a list of 60,000 entries, and states their number [N25]",
  (field) => {
    expect(field.parse("a=b,".repeat(60_000))).toEqual({
      wrong: "60000 entries, and at most 5000 are possible",
    });
    expect(field.parse("a=b,".repeat(5000))).toHaveProperty("value");
  },
);
