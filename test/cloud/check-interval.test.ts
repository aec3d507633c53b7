import { expect, test } from "bun:test";
import { declaredInterval, intervalOf } from "../../src/cloud/inventory/instances.ts";
import { QueryPace } from "../../src/cloud/inventory/query-pace.ts";
import { minutes, seconds } from "../../src/core/brand.ts";

const lookupOf = (limit: number) => ({ id: { limit, find: async () => new Map() } });

test.each([
  ["a source without a limit", {}, 50, 0],
  ["lookups one by one", { requestsPerHour: 100, lookups: lookupOf(1) }, 50, minutes(30)],
  ["lookups in batches", { requestsPerHour: 100, lookups: lookupOf(20) }, 50, seconds(108)],
  ["listings only", { requestsPerHour: 100 }, 50, seconds(36)],
] as const)(
  "the check interval never checks Nodes more often than the source allows: %s",
  (_, source, nodes, interval) => {
    expect(declaredInterval(source, nodes)).toBe(interval as never);
  },
);

test.each([
  ["soon", 1, 15],
  ["soon", 5, 15],
  ["soon", 20, 60],
  ["regular", 1, 60],
  ["regular", 10, 60],
  ["regular", 20, 300],
  ["regular", 400, 300],
] as const)("the check interval grows with the requests of a check: %s, %d", (pace, requests, interval) => {
  expect(intervalOf(requests, pace)).toBe(seconds(interval));
});

test("the check interval is based on at most as many Nodes as the source has machines", () => {
  expect(declaredInterval({ requestsPerHour: 100, lookups: lookupOf(1) }, 500, 10)).toBe(minutes(6));
});

test.each([
  [undefined, 4 + 3600],
  [60, 10 + 60],
  [3, 1 + 3],
])(
  "the query pace allows a burst, and then as many requests as the source allows: %p per hour",
  (requestsPerHour, expected) => {
    const pace = new QueryPace(requestsPerHour);
    let sent = 0;
    for (let now = 0; now < minutes(60); ) {
      const delay = pace.collectFor(now);
      now += delay;
      if (now > minutes(60)) break;
      pace.begin(now);
      sent += 1;
    }
    expect(Math.abs(sent - expected)).toBeLessThanOrEqual(expected / 20 + 1);
  },
);
