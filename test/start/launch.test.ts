import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// The launcher runs everything with the version of Bun in package.json.

/** Launches `bun --version` in a project that requires this version, and for which no Bun is installed. */
function launchedIn(required: string): { readonly out: string; readonly err: string; readonly code: number } {
  const root = mkdtempSync(join(tmpdir(), "launch-"));
  try {
    for (const folder of ["scripts", "node_modules"]) mkdirSync(join(root, folder));
    for (const script of ["scripts/launch.mjs", "scripts/find-bun.mjs"])
      cpSync(join(import.meta.dir, "../..", script), join(root, script));
    writeFileSync(join(root, "package.json"), JSON.stringify({ devDependencies: { bun: required } }));
    writeFileSync(join(root, "package-lock.json"), "{}");
    writeFileSync(join(root, "node_modules/.fairlead-lock"), createHash("sha256").update("{}").digest("hex"));
    const { stdout, stderr, exitCode } = Bun.spawnSync([
      process.execPath,
      join(root, "scripts/launch.mjs"),
      "--version",
    ]);
    return { out: stdout.toString().trim(), err: stderr.toString().trim(), code: exitCode };
  } finally {
    rmSync(root, { recursive: true });
  }
}

test("the launcher uses the Bun that runs it if the version is the required one and none is installed", () => {
  expect(launchedIn(Bun.version)).toEqual({ out: Bun.version, err: "", code: 0 });
});

test("the launcher rejects a different version of Bun, and names the version to install", () => {
  expect(launchedIn("0.0.1")).toEqual({
    out: "",
    err: `Bun 0.0.1 is required, and node_modules has none for ${process.platform} ${process.arch}; this is Bun ${Bun.version}. Nothing was run. Install Bun 0.0.1 (https://bun.sh) and use "bun run" instead of "npm run".`,
    code: 1,
  });
});
