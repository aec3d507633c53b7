// `npm run pack-provider`: packs the npm package @fairlead/provider into dist.

import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { readSources } from "./build/sources.ts";
import { commandLine } from "./command-line.ts";
import { megabytes } from "./release/folder.ts";
import { packageFile, packProvider } from "./release/provider-package.ts";

commandLine("Usage: npm run pack-provider\n  packs the npm package @fairlead/provider into dist\n", {});
const sources = readSources();
const folder = resolve(import.meta.dir, "../dist");
const path = join(folder, packageFile(sources.released));
const content = packProvider(sources);
mkdirSync(folder, { recursive: true });
writeFileSync(path, content);
process.stdout.write(`${path}: ${megabytes(content.length)}\nTo publish it: npm publish ${path}\n`);
