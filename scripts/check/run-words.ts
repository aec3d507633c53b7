// The word check of `npm run check`: reads documents, comments and strings, and fails when one uses a word of `words.ts`.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isExempt, ruledOutIn } from "./words.ts";

const root = new URL("../..", import.meta.url).pathname;

const places = ["*.md", "{docs,deploy,src,providers,scripts,test}/**/*.{md,ts,mjs,yaml,service}"];

/** Files and folders that are still being rewritten. The list only gets shorter, and ends empty. */
const notYetClean: readonly string[] = [
  ...["docs/decisions/0003-own-kubernetes-client.md", "docs/write-a-provider.md"],
  ...["providers/fake", "src/cloud", "src/controllers/service", "src/kube", "src/platform", "src/provider"],
  ...["src/server", "src/telemetry", "test/app", "test/cloud", "test/controllers"],
  ...["test/core", "test/kit", "test/kube", "test/parity"],
  ...["test/providers", "test/runtime", "test/support"],
];
/** `--all` includes them. */
const isAll = process.argv.includes("--all");
const isSkipped = (path: string): boolean =>
  isExempt(path) || (!isAll && notYetClean.some((entry) => path === entry || path.startsWith(`${entry}/`)));

const files = places
  .flatMap((pattern) => [...new Bun.Glob(pattern).scanSync({ cwd: root })])
  .filter((path) => !isSkipped(path))
  .toSorted();
const found = files.flatMap((path) => ruledOutIn(path, readFileSync(join(root, path), "utf8")));
process.stdout.write([...found, `${files.length} files, ${found.length} words to replace`, ""].join("\n"));
process.exit(found.length === 0 ? 0 : 1);
