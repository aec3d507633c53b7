// `npm start -- --until-settled` in each simulated cloud, as a process.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { localClouds } from "../../scripts/clouds/registry.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";

const script = join(import.meta.dir, "../../scripts/start.ts");

// The demo runs in real time and mostly waits.
test.concurrent.each(
  (runsAllTests ? localClouds : localClouds.slice(0, 1)).map(
    ({ name, provider }) => [name, provider] as const,
  ),
)(
  "the demo settles in the simulated cloud %s, even if variables for a real cloud are set",
  async (name, { config, volumeDriver }) => {
    const variables = Object.values(config).flatMap(({ env }) => (env === undefined ? [] : [env]));
    const child = Bun.spawn([process.execPath, script, "--until-settled", "--nodes", "2", "--cloud", name], {
      stdout: "pipe",
      stderr: "inherit",
      // A variable that every program reads, such as HOME, keeps its value.
      env: { ...Object.fromEntries(variables.map((variable) => [variable, "real"])), ...process.env },
    });
    const output = await new Response(child.stdout).text();
    const last = volumeDriver === undefined ? "step 3 of 3: done" : "step 6 of 6: done: ";
    expect(output).toContain(last);
    expect(output).toMatch(/settled: all steps are done after \d+ cloud requests/);
    expect(await child.exited).toBe(0);
  },
);
