// What the compiled executable stands: no rights, no room, nothing to write to, variables that mean ill, a clock that is
// wrong. It wants `npm run build fake` first.

import { describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { processCost } from "../../scripts/bench/process-cost.ts";
import { milliseconds, minutes } from "../../src/core/brand.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { until } from "../cluster/rig/until.ts";
import { openWorld } from "./world.ts";

const works = (...command: readonly string[]): boolean => Bun.spawnSync([...command]).exitCode === 0;

const readOnlyRoot = ["unshare", "--mount", "sh", "-c", 'mount -o remount,bind,ro / && exec "$@"', "sh"];
/** Nobody, without a single capability, and without a way to get one. */
const noRights = [
  ...["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"],
  ...["--inh-caps=-all", "--bounding-set=-all"],
];
const canTakeRights = works(...readOnlyRoot, ...noRights, "true");

describe("rights", () => {
  test.skipIf(!canTakeRights)(
    "it runs as nobody, without capabilities, on a read-only root, and writes no file [F80]",
    async () => {
      await using world = await openWorld();
      await world.join(3);
      const manager = world.start([...readOnlyRoot, ...noRights], { HOME: "/nonexistent" });
      await world.initialised(manager, 3);
      expect(await manager.stop()).toBe(0);
      expect(manager.output()).not.toMatch(/EROFS|EACCES|EPERM|ENOENT/);
    },
    60_000,
  );
});

describe("room", () => {
  // A listing of 5,000 machines is 100 pages of the fake cloud.
  test.each([
    ["1,000", 1000, 100],
    ["5,000", 5000, 300],
  ] as const)(
    "64 file descriptors and %s nodes: all are initialised within 200 MiB, for a few listings of the cloud [S8]",
    async (_, count, calls) => {
      await using world = await openWorld();
      await world.join(count);
      const manager = world.start(["prlimit", "--nofile=64:64"]);
      await world.initialised(manager, count);
      const cost = processCost(manager.pid);
      expect(cost?.peakMiB ?? Number.NaN).toBeLessThan(200);
      expect(world.cloud.seen.length).toBeLessThan(calls);
      expect(manager.output()).not.toMatch(/EMFILE|too many open files/i);
    },
    180_000,
  );

  test("a full disk under its output, and no input: it works on", async () => {
    await using world = await openWorld();
    await world.join(2);
    const manager = world.start(["sh", "-c", 'exec "$@" >/dev/full 2>/dev/full <&-', "sh"]);
    await world.initialised(manager, 2);
    expect(manager.exitCode()).toBeNull();
  }, 60_000);

  test("output that nobody reads any more does not end it", async () => {
    await using world = await openWorld();
    await world.join(2);
    const plain = world.start(["sh", "-c", 'exec "$@" 2>&-', "sh"]);
    await world.initialised(plain, 2);
    expect(plain.exitCode()).toBeNull();
  }, 60_000);
});

describe("variables", () => {
  const years = 10 * 365 * 24 * 60;
  const inTenYears = {
    ...systemClock,
    now: () => systemClock.now() + minutes(years),
  };

  test("requests, and the credentials in them, are not printed because of a variable", async () => {
    await using world = await openWorld();
    await world.join(2);
    const manager = world.start([], { BUN_CONFIG_VERBOSE_FETCH: "curl" });
    await world.initialised(manager, 2);
    expect(manager.output()).toContain("BUN_CONFIG_VERBOSE_FETCH would print");
    expect(manager.output()).not.toMatch(/authorization|GET http|curl -/i);
  }, 60_000);

  test("verification of certificates cannot be switched off by a variable", async () => {
    await using world = await openWorld({ certificatesAsOf: inTenYears });
    const manager = world.start([], { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    await until("a word about the certificate", () => /certificate/i.test(manager.output()), {
      explain: () => manager.output(),
    });
    expect(manager.output()).toContain("NODE_TLS_REJECT_UNAUTHORIZED would switch");
  }, 60_000);

  test("a clock that is years behind the certificates: it says so, waits and changes nothing", async () => {
    await using world = await openWorld({ certificatesAsOf: inTenYears });
    const manager = world.start([]);
    await until("a word about the clock", () => /clock/i.test(manager.output()), {
      explain: () => manager.output(),
    });
    expect(manager.exitCode()).toBeNull();
    expect(await manager.stop()).toBe(0);
  }, 60_000);

  test("other code, or a debugger, by variable: refused by name, before anything is done for the cluster", async () => {
    await using world = await openWorld();
    const trap = join(world.folder, "trap.js");
    writeFileSync(trap, 'require("node:fs").writeFileSync("trapped", "yes");');
    for (const [name, value] of [
      ["BUN_INSPECT", "127.0.0.1:0"],
      ["BUN_OPTIONS", `--preload ${trap}`],
    ] as const) {
      const manager = world.start([], { [name]: value });
      expect(await manager.exited).toBe(2);
      expect(manager.output()).toContain(`The variable ${name}`);
    }
  }, 60_000);

  test("what Node obeys and Bun does not stays without effect", async () => {
    await using world = await openWorld();
    const trap = join(world.folder, "trap.js");
    writeFileSync(trap, 'require("node:fs").writeFileSync("trapped", "yes");');
    const manager = world.start([], {
      NODE_OPTIONS: `--require ${trap}`,
      BUN_INSPECT_PRELOAD: trap,
      NODE_PATH: world.folder,
    });
    await until("it to run", () => manager.output().includes(" runs"));
    await Bun.sleep(milliseconds(0));
    expect(existsSync(join(world.folder, "trapped"))).toBe(false);
  }, 60_000);
});
