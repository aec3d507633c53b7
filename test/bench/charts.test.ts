// Tests that the charts in docs/benchmarks.md show the measurements.

import { expect, test } from "bun:test";
import { chartSvg, figureText } from "../../scripts/bench/charts.ts";

const chart = {
  title: "Requests <all>",
  note: "measured",
  rows: [
    {
      label: "create",
      unit: "requests",
      bars: [
        { name: "one", value: 50 },
        { name: "other", value: 1000 },
      ],
    },
    {
      label: "restart",
      unit: "s",
      bars: [
        { name: "one", value: 0 },
        { name: "other", value: 2.5 },
      ],
    },
  ],
};

const widthsIn = (svg: string): readonly number[] =>
  [...svg.matchAll(/<rect class="bar\d" [^>]*width="([\d.]+)" height="14"/g)].map(([, width]) =>
    Number(width),
  );

test("a chart draws all bars of a row to the same scale, and no bar for zero", () => {
  const [small = 0, large = 0, nothing, longest] = widthsIn(chartSvg(chart));
  expect(small / large).toBeCloseTo(0.05, 2);
  expect(nothing).toBe(0);
  expect(longest).toBe(large);
});

test("a chart draws all its rows to the same scale", () => {
  const [, large = 0, , other = 0] = widthsIn(chartSvg({ ...chart, hasOneScale: true }));
  expect(other).toBeLessThan(large / 100);
});

test("a chart labels every figure, and escapes its labels", () => {
  const svg = chartSvg(chart);
  expect(svg).toContain("create: one 50 requests, other 1,000 requests; restart: one 0.0 s, other 2.5 s");
  expect(svg).toContain("Requests &lt;all&gt;");
});

test("a chart has colors for dark mode", () => {
  expect(chartSvg(chart)).toContain("prefers-color-scheme: dark");
});

test.each([
  [7, 0, "7"],
  [1234567, 0, "1,234,567"],
  [2.25, 1, "2.3"],
])("formats the figure %p with %p decimals as %p", (value, digits, text) => {
  expect(figureText(value, digits)).toBe(text);
});
