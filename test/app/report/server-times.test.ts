import { expect, test } from "bun:test";
import { reportSkew } from "../../../src/app/report/server-times.ts";
import { seconds } from "../../../src/core/brand.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

test("logs a clock difference to the API server once, and again if it recurs", async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLog({ format: "text", verbosity: 0, clock, write: (line) => lines.push(line) });
  let ahead = 0;
  const transport = reportSkew(
    async () => new Response("", { headers: { date: new Date(clock.now() + ahead).toUTCString() } }),
    clock,
    log,
  );
  const request = async (skew: number) => {
    ahead = skew;
    await clock.advance(seconds(1));
    await transport({ method: "GET", url: "https://10.0.0.5:6443/version" }, new AbortController().signal);
    return lines.length;
  };
  expect(await request(20_000)).toBe(0);
  expect([await request(600_000), await request(600_000)]).toEqual([1, 1]);
  expect(lines[0]).toMatch(
    /^W.* The clock of this machine is 60[01]s behind the clock of https:\/\/10\.0\.0\.5:6443\. .*Synchronize the clocks of both machines/,
  );
  expect([await request(0), await request(-600_000)]).toEqual([1, 2]);
});
