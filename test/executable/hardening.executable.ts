// The compiled executable under restrictions: no privileges, few resources, unwritable output, dangerous environment variables
// and incorrect clocks. Run `npm run build fake` first.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { processCost } from "../../scripts/bench/process-cost.ts";
import { milliseconds, minutes } from "../../src/core/brand.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { until } from "../cluster/rig/until.ts";
import { openWorld } from "./world.ts";

const works = (...command: readonly string[]): boolean => Bun.spawnSync([...command]).exitCode === 0;

const readOnlyRoot = ["unshare", "--mount", "sh", "-c", 'mount -o remount,bind,ro / && exec "$@"', "sh"];
/** An unprivileged user without capabilities, and without a way to gain any. */
const unprivileged = [
  ...["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"],
  ...["--inh-caps=-all", "--bounding-set=-all"],
];
const canDropPrivileges = works(...readOnlyRoot, ...unprivileged, "true");

describe("without privileges", () => {
  test.skipIf(!canDropPrivileges)(
    "the executable runs as an unprivileged user on a read-only root and writes no files [F80]",
    async () => {
      await using world = await openWorld();
      await world.join(3);
      const manager = world.start([...readOnlyRoot, ...unprivileged], { HOME: "/nonexistent" });
      await world.initialized(manager, 3);
      expect(await manager.stop()).toBe(0);
      expect(manager.output()).not.toMatch(/EROFS|EACCES|EPERM|ENOENT/);
    },
  );
});

describe("with limited resources", () => {
  // A listing of 5,000 machines is 100 pages of the fake cloud.
  test.each([
    ["1,000", 1000, 100],
    ["5,000", 5000, 300],
  ] as const)(
    "the executable initializes %s Nodes with 64 file descriptors, below 200 MiB and with few cloud calls [S8]",
    async (_, count, calls) => {
      await using world = await openWorld();
      await world.join(count);
      const manager = world.start(["prlimit", "--nofile=64:64"]);
      await world.initialized(manager, count);
      const cost = processCost(manager.pid);
      expect(cost?.peakMiB ?? Number.NaN).toBeLessThan(200);
      expect(world.cloud.seen.length).toBeLessThan(calls);
      expect(manager.output()).not.toMatch(/EMFILE|too many open files/i);
    },
    180_000,
  );

  test("the executable keeps working when its output is a full disk, and without input", async () => {
    await using world = await openWorld();
    await world.join(2);
    const manager = world.start(["sh", "-c", 'exec "$@" >/dev/full 2>/dev/full <&-', "sh"]);
    await world.initialized(manager, 2);
    expect(manager.exitCode()).toBeNull();
  });

  test("the executable keeps running when its output is closed", async () => {
    await using world = await openWorld();
    await world.join(2);
    const plain = world.start(["sh", "-c", 'exec "$@" 2>&-', "sh"]);
    await world.initialized(plain, 2);
    expect(plain.exitCode()).toBeNull();
  });
});

describe("with dangerous variables or clocks", () => {
  const years = 10 * 365 * 24 * 60;
  const inTenYears = {
    ...systemClock,
    now: () => systemClock.now() + minutes(years),
  };

  test("BUN_CONFIG_VERBOSE_FETCH does not print requests or credentials", async () => {
    await using world = await openWorld();
    await world.join(2);
    const manager = world.start([], { BUN_CONFIG_VERBOSE_FETCH: "curl" });
    await world.initialized(manager, 2);
    expect(manager.output()).toContain("BUN_CONFIG_VERBOSE_FETCH would print");
    expect(manager.output()).not.toMatch(/authorization|GET http|curl -/i);
  });

  test("NODE_TLS_REJECT_UNAUTHORIZED does not disable certificate verification", async () => {
    await using world = await openWorld({ certificatesAsOf: inTenYears });
    const manager = world.start([], { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    await until("a message about the certificate", () => /certificate/i.test(manager.output()), {
      explain: () => manager.output(),
    });
    expect(manager.output()).toContain("NODE_TLS_REJECT_UNAUTHORIZED would disable");
  });

  test("reports a clock that is years behind the certificates, and changes nothing", async () => {
    await using world = await openWorld({ certificatesAsOf: inTenYears });
    const manager = world.start([]);
    await until("a message about the clock", () => /clock/i.test(manager.output()), {
      explain: () => manager.output(),
    });
    expect(manager.exitCode()).toBeNull();
    expect(await manager.stop()).toBe(0);
  });

  test("rejects variables that would load code or a debugger at the start", async () => {
    await using world = await openWorld();
    const trap = join(world.folder, "trap.js");
    writeFileSync(trap, 'require("node:fs").writeFileSync("trapped", "yes");');
    for (const [name, value] of [
      ["BUN_INSPECT", "127.0.0.1:0"],
      ["BUN_OPTIONS", `--preload ${trap}`],
    ] as const) {
      const manager = world.start([], { [name]: value });
      expect(await manager.exited).toBe(2);
      expect(manager.output()).toContain(`The environment variable ${name}`);
    }
  });

  test("ignores variables that only Node.js reads", async () => {
    await using world = await openWorld();
    const trap = join(world.folder, "trap.js");
    writeFileSync(trap, 'require("node:fs").writeFileSync("trapped", "yes");');
    const manager = world.start([], {
      NODE_OPTIONS: `--require ${trap}`,
      BUN_INSPECT_PRELOAD: trap,
      NODE_PATH: world.folder,
    });
    await until("All Services are created at once; the manager is killed during the creations.", () =>
      manager.output().includes("Started fake-cloud-controller-manager"),
    );
    await Bun.sleep(milliseconds(0));
    expect(existsSync(join(world.folder, "trapped"))).toBe(false);
  });
});

test("the executable runs with only the first compiler, however it is started, and keeps its process id", async () => {
  await using world = await openWorld();
  await world.join(1);
  const manager = world.start([]);
  await world.initialized(manager, 1);
  const environment = readFileSync(`/proc/${manager.pid}/environ`, "utf8").split("\0");
  expect(environment).toContain("BUN_JSC_useDFGJIT=0");
});
