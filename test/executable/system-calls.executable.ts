// The unit's filter of system calls, put around the real file. It wants `npm run build fake` first.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../cluster/rig/until.ts";
import { canFilter, underUnitFilter } from "./unit-filter.ts";
import { openWorld } from "./world.ts";

test.skipIf(!canFilter)(
  "it makes no system call but those that the unit leaves to it [F80 F96]",
  async () => {
    await using world = await openWorld();
    const calls = join(world.folder, "refused");
    await world.join(20);
    const manager = world.start(underUnitFilter(calls));
    await world.initialised(manager, 20);
    expect(await manager.stop()).toBe(0);
    await until("the end to be written down", () => readFileSync(calls, "utf8").includes("exited with 0"));
    expect(readFileSync(calls, "utf8")).not.toContain("INJECTED");
    // Else the above would prove nothing.
    Bun.spawnSync([...underUnitFilter(calls), "unshare", "--mount", "true"]);
    await until("a refused call", () => /mount\(.*INJECTED/.test(readFileSync(calls, "utf8")));
  },
  60_000,
);
