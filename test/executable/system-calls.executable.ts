// The executable under the systemd unit's system call filter. Run `npm run build fake` first.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../cluster/rig/until.ts";
import { canFilter, underUnitFilter } from "./unit-filter.ts";
import { openWorld } from "./world.ts";

test.skipIf(!canFilter)(
  "the executable makes only the system calls that the systemd unit allows [F80 F96]",
  async () => {
    await using world = await openWorld();
    const calls = join(world.folder, "refused");
    await world.join(20);
    const manager = world.start(underUnitFilter(calls));
    await world.initialized(manager, 20);
    expect(await manager.stop()).toBe(0);
    await until("the exit in the trace", () => readFileSync(calls, "utf8").includes("exited with 0"));
    expect(readFileSync(calls, "utf8")).not.toContain("INJECTED");
    // Proves that the filter works.
    Bun.spawnSync([...underUnitFilter(calls), "unshare", "--mount", "true"]);
    await until("a rejected call", () => /mount\(.*INJECTED/.test(readFileSync(calls, "utf8")));
  },
);
