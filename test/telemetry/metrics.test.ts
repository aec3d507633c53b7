import { describe, expect, test } from "bun:test";
import { Metrics } from "../../src/telemetry/metrics.ts";

describe("metrics", () => {
  test("metrics count by labels in the declared order and escape label values [F84]", () => {
    const metrics = new Metrics();
    const calls = metrics.counter("calls_total", "Calls.", ["code", "host"]);
    calls.add({ host: 'a"b\n', code: "200" });
    calls.add({ code: "200", host: 'a"b\n' }, 2);
    calls.add({ code: "", host: "x" });
    expect(metrics.text().split("\n").slice(2, -1)).toEqual([
      'calls_total{code="200",host="a\\"b\\n"} 3',
      'calls_total{code="",host="x"} 1',
    ]);
  });

  test("metrics escape backslashes and line breaks in their help text [F84]", () => {
    const metrics = new Metrics();
    metrics.counter("calls_total", 'In C:\\x,\n"y".');
    expect(metrics.text().split("\n")[0]).toBe('# HELP calls_total In C:\\\\x,\\n"y".');
  });

  test("metrics without labels start at zero", () => {
    const metrics = new Metrics();
    metrics.counter("lost_total", "Lost.");
    expect(metrics.text()).toContain("\nlost_total 0\n");
  });

  test("metrics accumulate histogram buckets and include the upper bound", () => {
    const metrics = new Metrics();
    const took = metrics.histogram("took_seconds", "Time.", [0.1, 1], ["of"]);
    for (const value of [0.1, 0.5, 3]) took.observe(value, { of: "x" });
    expect(metrics.text().split("\n").slice(2, -1)).toEqual([
      'took_seconds_bucket{of="x",le="0.1"} 1',
      'took_seconds_bucket{of="x",le="1"} 2',
      'took_seconds_bucket{of="x",le="+Inf"} 3',
      'took_seconds_sum{of="x"} 3.6',
      'took_seconds_count{of="x"} 3',
    ]);
  });

  test('metrics keep a bounded number of series and sum the excess in one series named "other" [F84]', () => {
    const metrics = new Metrics();
    const paths = metrics.counter("paths_total", "Paths.", ["path"]);
    for (let index = 0; index < 5000; index += 1) paths.add({ path: `/${index}` });
    const lines = metrics.text().split("\n").slice(2, -1);
    expect(lines.length).toBeLessThan(1100);
    const counts = lines.map((line) => Number(line.split(" ").at(-1)));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5000);
    expect(lines.at(-1)).toStartWith('paths_total{path="other"}');
  });
});
