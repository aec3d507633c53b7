import { describe, expect, test } from "bun:test";
import { Secret } from "../../src/core/secret.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const logOf = (format: "text" | "json", verbosity = 0) => {
  const lines: string[] = [];
  const clock = new VirtualClock(Date.UTC(2026, 10, 21, 8, 29, 35, 7));
  const log = createLog({ format, verbosity, clock, write: (line) => lines.push(line), pid: 4711 });
  return { log, lines };
};

describe("text log", () => {
  test("the text log begins each line as klog does, so that klog parsers read it", () => {
    const { log, lines } = logOf("text");
    log.info("Synced", { node: "node-1", tries: 2, isNew: true, zone: undefined });
    log.warn("w");
    log.error("e");
    expect(lines).toEqual([
      'I1121 08:29:35.007000    4711 fairlead:1] Synced node="node-1" tries=2 isNew=true\n',
      "W1121 08:29:35.007000    4711 fairlead:1] w\n",
      "E1121 08:29:35.007000    4711 fairlead:1] e\n",
    ]);
    // The pattern that recipes for Promtail, Fluent Bit and Fluentd use for klog.
    const klog = /^[IWEF]\d{4} \d{2}:\d{2}:\d{2}\.\d{6}\s+\d+ [^:\s]+:\d+\] .*$/;
    for (const line of lines) expect(line.trimEnd()).toMatch(klog);
  });

  test("the text log escapes line breaks and control characters of a cloud error, which stays on its line", () => {
    const { log, lines } = logOf("text");
    log.warn("first\nE1121 forged\u001b[31m", { why: "a\nb" });
    expect(lines[0]).toEndWith('] first\\nE1121 forged\\u001b[31m why="a\\nb"\n');
  });
});

test("the JSON log writes one object per line, with time and level as Go's component logs do", () => {
  const { log, lines } = logOf("json", 4);
  log.warn("careful", { node: "x" });
  log.debug(4, "GET");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { ts: Date.UTC(2026, 10, 21, 8, 29, 35, 7), level: "warn", v: 0, msg: "careful", node: "x" },
    { ts: Date.UTC(2026, 10, 21, 8, 29, 35, 7), level: "info", v: 4, msg: "GET" },
  ]);
});

test("the log drops lines above the verbosity and follows changes of the verbosity", () => {
  const { log, lines } = logOf("text", 2);
  log.debug(3, "no");
  log.setVerbosity(3);
  log.debug(3, "yes");
  expect(lines).toHaveLength(1);
});

test("the log masks a secret that appears in a line by accident", () => {
  for (const format of ["text", "json"] as const) {
    const { log, lines } = logOf(format);
    const token = new Secret("hunter2");
    log.error(`refused ${token}`, { token: token as unknown as string });
    expect(lines[0]).toContain("refused [secret]");
    expect(lines[0]).not.toContain("hunter2");
  }
});
