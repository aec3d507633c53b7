// `npm run site`: builds the documentation site from docs/ into dist/site.

import { resolve } from "node:path";
import { commandLine, fail } from "./command-line.ts";
import { buildSite } from "./site/build-site.ts";
import { siteGenerator } from "./site/generator.ts";

const root = resolve(import.meta.dir, "..");
const usage = `Usage: npm run site -- [--base /path/]

Builds the documentation site into dist/site. The site generator is installed into \${XDG_CACHE_HOME:-~/.cache}/fairlead once.

  --base </path/>   the path of the site on its server (default: /)
`;

const { values } = commandLine(usage, { base: { type: "string", default: "/" } });
const { base } = values;
if (!/^\/(.*\/)?$/.test(base))
  fail(`--base must begin and end with a slash, got ${JSON.stringify(base)}.`, usage);
const started = performance.now();
const output = resolve(root, "dist/site");
process.stdout.write("Preparing the site generator (a minute at the first time) …\n");
const packages = siteGenerator(root);
process.stdout.write("Building the pages …\n");
const problems = await buildSite({ root, packages, output, base });
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exit(1);
process.stdout.write(
  `dist/site is complete, and every link works (${((performance.now() - started) / 1000).toFixed(1)} s). To look at it: npx serve dist/site\n`,
);
