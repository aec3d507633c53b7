// The documentation site, built with its real generator.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildSite } from "../../scripts/site/build-site.ts";
import { siteGenerator } from "../../scripts/site/generator.ts";
import { installing, orSkipped } from "./rig/install.ts";

const root = resolve(import.meta.dir, "../..");
const packages = orSkipped("documentation site", () =>
  installing("the site generator", () => siteGenerator(root)),
);
const output = mkdtempSync(join(tmpdir(), "fairlead-built-site-"));
afterAll(() => rmSync(output, { recursive: true }));

test.skipIf(packages === undefined)(
  "npm run site builds every page, with a search index and without a dead link",
  async () => {
    expect(await buildSite({ root, packages: packages ?? "", output, base: "/docs/" })).toEqual([]);
    const index = [...new Bun.Glob("assets/**/*localSearchIndex*.js").scanSync({ cwd: output })];
    expect(index).toHaveLength(1);
    // The index has single words.
    expect(readFileSync(join(output, index[0] ?? ""), "utf8").includes("finalizer")).toBe(true);
    const home = readFileSync(join(output, "index.html"), "utf8");
    expect(home.includes('href="/docs/getting-started.html"')).toBe(true);
  },
);
