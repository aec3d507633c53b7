// The answer of `explain` as text.

import { expect, test } from "bun:test";
import type { DescribedEvent, Description } from "../../../src/app/explain/description.ts";
import { answerText, descriptionText, overviewText } from "../../../src/app/explain/explain-text.ts";

const rejected = "The cloud rejected the credentials (401). Set FAKE_TOKEN.";

function described(name: string, text = rejected): Description {
  return {
    ...{ kind: "Service", name: `default/${name}`, state: "problem" },
    summary: "It has no address yet. The cloud rejected the credentials (401).",
    facts: {},
    notes: [{ kind: "problem", reason: "CloudAuthFailed", text }],
    decisions: [],
  };
}

const event = (at: string, message: string, count = 1): DescribedEvent => ({
  ...{ at, message, count, type: "Warning", reason: "SyncLoadBalancerFailed", source: "service-controller" },
});

test("names the objects with the same state and cause together", () => {
  const names = Array.from({ length: 12 }, (_, index) => `web-${index}`);
  const other = described("other", "The cloud rejected the credentials (401). Set another token.");
  expect(overviewText({ objects: [...names.map((name) => described(name)), other] })).toBe(
    `12 Services: problem
  default/web-0, default/web-1, default/web-2, default/web-3, default/web-4, default/web-5,
  default/web-6, default/web-7, default/web-8, default/web-9 and 2 more
  It has no address yet. The cloud rejected the credentials (401). Set FAKE_TOKEN.
Service default/other: problem
  It has no address yet. The cloud rejected the credentials (401). Set another token.
`,
  );
});

test("shows an event that repeats only once, with the number of times", () => {
  const events = [
    event("2026-01-01T00:03:00Z", "no answer", 2),
    event("2026-01-01T00:02:00Z", "quota"),
    event("2026-01-01T00:01:00Z", "no answer"),
  ];
  expect(descriptionText({ ...described("web"), events }).split("Events:\n")[1]).toBe(
    `  2026-01-01 00:03:00Z  Warning SyncLoadBalancerFailed (3 times), from service-controller
    no answer
  2026-01-01 00:02:00Z  Warning SyncLoadBalancerFailed, from service-controller
    quota
`,
  );
});

test("wraps every line that is text", () => {
  const long = Array.from({ length: 60 }, () => "sentence").join(" ");
  const answer = { source: long, objects: [described("web", long)], warnings: [long] };
  const lines = answerText(answer, false).split("\n");
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
  expect(lines.filter((line) => /^(Source|Not known): /.test(line))).toHaveLength(2);
});
