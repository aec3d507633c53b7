// The installation of external tools.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cached } from "./rig/cached.ts";
import { needTool, orSkipped, Unavailable } from "./rig/install.ts";

const outside = process.env["XDG_CACHE_HOME"];
let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "fairlead-cache-"));
  process.env["XDG_CACHE_HOME"] = folder;
});
afterEach(() => {
  if (outside === undefined) delete process.env["XDG_CACHE_HOME"];
  else process.env["XDG_CACHE_HOME"] = outside;
  rmSync(folder, { recursive: true });
});

test("a missing tool skips its tests with the reason", () => {
  const found = orSkipped("nothing", () => needTool("no-such-tool"));
  expect(found).toBeUndefined();
  expect(() => needTool("no-such-tool")).toThrow(Unavailable);
});

test("an incomplete cache folder is rebuilt", () => {
  let builds = 0;
  const build = () => {
    builds += 1;
  };
  const key = "something-1.0.0";
  expect(() =>
    cached(key, () => {
      build();
      throw new Error("interrupted");
    }),
  ).toThrow("interrupted");
  cached(key, build);
  cached(key, build);
  expect(builds).toBe(2);
});
