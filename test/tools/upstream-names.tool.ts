// The names and defaults of upstream that the tests compare with Fairlead's tables, read from the modules that
// test/differential/upstream pins. With FAIRLEAD_RECORD_UPSTREAM=1, writes the record instead.

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { upstreamFolder } from "../differential/rig/managers.ts";
import { type RecordedNames, recordedNames, recordedPath } from "../parity/upstream/recorded.ts";
import { goManagerFolder, goProgram, needTool, orSkipped } from "./rig/install.ts";
import { flagsIn, sourceNames } from "./rig/upstream-source.ts";

const [, pinned = ""] =
  /k8s\.io\/cloud-provider (v\S+)/.exec(readFileSync(join(upstreamFolder, "go.mod"), "utf8")) ?? [];

function pinnedNames(): RecordedNames {
  const help = Bun.spawnSync([goProgram(upstreamFolder, [goManagerFolder]), "--help"]).stdout.toString();
  return { version: pinned, flags: flagsIn(help), ...sourceNames(pinned) };
}

const go = orSkipped("names of upstream", () => needTool("go"));
describe.skipIf(go === undefined)(`The framework ${pinned}`, () => {
  test("upstream has exactly the recorded names and defaults", () => {
    const names = pinnedNames();
    // A pattern that no longer matches the source must not empty the record.
    expect(Object.entries(names).filter(([, found]) => Object.keys(found).length === 0)).toEqual([]);
    if (process.env["FAIRLEAD_RECORD_UPSTREAM"] === "1")
      writeFileSync(recordedPath, `${JSON.stringify(names, undefined, 2)}\n`);
    else expect(names).toEqual(recordedNames);
  });
});
