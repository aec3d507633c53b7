// The answer of `explain` as text.

import { expect, test } from "bun:test";
import type { Description } from "../../../src/inspect/explain/description.ts";
import { answerText, overviewText } from "../../../src/inspect/explain/explain-text.ts";

function described(name: string, remedy = "Set FAKE_TOKEN."): Description {
  const text = "The cloud rejected the credentials (401).";
  return {
    kind: "Service",
    name: `default/${name}`,
    state: "problem",
    summary: `It has no address yet. ${text}`,
    remedy,
    facts: {},
    notes: [{ severity: "error", reason: "CloudAuthFailed", text, remedy }],
    decisions: [],
  };
}

test("explain groups objects with the same state and cause", () => {
  const names = Array.from({ length: 12 }, (_, index) => `web-${index}`);
  const other = described("other", "Set another token.");
  expect(overviewText({ objects: [...names.map((name) => described(name)), other] })).toBe(
    `12 Services: problem
  default/web-0, default/web-1, default/web-2, default/web-3, default/web-4, default/web-5,
  default/web-6, default/web-7, default/web-8, default/web-9, default/web-10, default/web-11
  It has no address yet. The cloud rejected the credentials (401). Set FAKE_TOKEN.
Service default/other: problem
  It has no address yet. The cloud rejected the credentials (401). Set another token.
`,
  );
});

test("explain wraps all text lines", () => {
  const long = Array.from({ length: 60 }, () => "sentence").join(" ");
  const answer = { source: long, objects: [described("web", long)], warnings: [long] };
  const lines = answerText(answer, false).split("\n");
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(100);
  expect(lines.filter((line) => /^(Source|Not known): /.test(line))).toHaveLength(2);
});
