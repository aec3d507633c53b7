// The compiled executable tests an account: the fake cloud on loopback, in real time.

import { expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../../providers/fake/simulator/http.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { executable } from "./world.ts";

test("smoke removes the objects of a run that SIGKILL ended, passes, and writes a report", async () => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-smoke-"));
  const cloud = new FakeCloud({ clock: systemClock });
  await using served = serveFakeCloud(cloud, 0);
  cloud.machines.add("worker-1");
  const args = ["smoke", "--yes", "--machine=worker-1", `--config-set=endpoint=${served.url}`];
  const start = () =>
    Bun.spawn([executable, ...args, "--route-range=10.254.254.0/28"], {
      cwd: folder,
      env: {},
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
  try {
    const killed = start();
    const lines = killed.stderr.getReader();
    while (cloud.balancers.list().length === 0) await lines.read();
    killed.kill("SIGKILL");
    await killed.exited;
    expect(readdirSync(folder)).toEqual(["fairlead-smoke-fake.record.json"]);
    const second = start();
    const out = await new Response(second.stdout).text();
    expect(await second.exited).toBe(0);
    expect(out).toContain("An earlier run in this folder");
    expect([cloud.balancers.list(), cloud.routes.list(), cloud.volumes.list()]).toEqual([[], [], []]);
    const [report = ""] = readdirSync(folder).filter((name) => /-\d{8}T\d{6}Z\.json$/.test(name));
    const { result, cloud: name, version } = JSON.parse(readFileSync(join(folder, report), "utf8"));
    expect([result, name]).toEqual(["passed", "fake"]);
    expect(version).toMatch(/^v\d+\.\d+\.\d+\+/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
