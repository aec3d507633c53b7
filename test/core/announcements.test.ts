import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { announcedIn } from "../../src/core/announcements.ts";

const read = (headers: Readonly<Record<string, string>>) =>
  announcedIn(new Headers(headers), "GET /servers").map(({ what, text }) => `${what}: ${text}`);

describe("announcedIn", () => {
  const cases: readonly (readonly [
    name: string,
    headers: Readonly<Record<string, string>>,
    found: readonly string[],
  ])[] = [
    ["nothing", { date: "Thu, 01 Jan 2026 00:00:00 GMT" }, []],
    [
      "a deprecation date of RFC 9745",
      { deprecation: "@1767225600" },
      ["operation: deprecated since 2026-01-01"],
    ],
    ["a deprecation in the format before RFC 9745", { deprecation: "true" }, ["operation: deprecated"]],
    ["an announcement that nothing is deprecated", { deprecation: "false" }, []],
    [
      "a sunset date of RFC 8594",
      { sunset: "Fri, 01 Jan 2027 00:00:00 GMT" },
      ["operation: unavailable after 2027-01-01"],
    ],
    [
      "both",
      { deprecation: "@1767225600", sunset: "Fri, 01 Jan 2027 00:00:00 GMT" },
      ["operation: deprecated since 2026-01-01, unavailable after 2027-01-01"],
    ],
    ["a sunset value that is not a date", { sunset: "soon" }, []],
    ["a deprecation date without a sunset date", { deprecation: "@999999999999" }, ["operation: deprecated"]],
    [
      "a warning of the API server",
      { warning: '299 - "v1 Endpoints is deprecated"' },
      ["warning: v1 Endpoints is deprecated"],
    ],
    [
      "several warnings with quotes and commas",
      { warning: '299 - "use \\"a\\", not b", 299 kube "second"' },
      ['warning: use "a", not b; second'],
    ],
    ["other warnings", { warning: '110 cache "Response is Stale"' }, []],
    ["a warning without an end", { warning: `299 - "${"x".repeat(10_000)}` }, []],
  ];
  test.each(cases)("reads %s [N21]", (_, headers, found) => {
    expect(read(headers)).toEqual([...found]);
  });

  test("reads at most three warnings of at most 4 KiB from any header, and never throws [N21]", () => {
    const many = Array.from({ length: 50 }, (_, index) => `299 - "warning ${index}"`).join(", ");
    expect(read({ warning: many })).toEqual(["warning: warning 0; warning 1; warning 2"]);
    const text = fc.string({ maxLength: 200 });
    fc.assert(
      fc.property(text, text, text, (deprecation, sunset, warning) => {
        const all: Readonly<Record<string, string>> = { deprecation, sunset, warning };
        const found = announcedIn({ get: (name) => all[name] ?? null }, "GET /");
        expect(found.length).toBeLessThanOrEqual(2);
      }),
    );
  });
});
