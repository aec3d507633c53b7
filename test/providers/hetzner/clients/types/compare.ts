// Compiles a comparison of the provider's types with those that openapi-typescript makes of the OpenAPI document.

import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { cached, run } from "../../../../tools/rig/cached.ts";
import { adapt } from "../rig/prism.ts";

const version = "7.13.0";
const root = resolve(import.meta.dir, "../../../../..");
export const resources = readFileSync(join(root, "providers/hetzner/resources.ts"), "utf8");

/** A type of the provider, and the name of its schema in the document. */
export type Pair = readonly [type: string, schema: string];

const options = [
  ...["--noEmit", "--strict", "--skipLibCheck", "--allowImportingTsExtensions"],
  ...["--module", "esnext", "--moduleResolution", "bundler", "--types", ""],
];

function installGenerator(): string {
  const folder = cached(`openapi-typescript-${version}`, (target) => {
    writeFileSync(join(target, "package.json"), '{"private": true}');
    const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    // The generator runs with this compiler; that of the project compares.
    run(["npm", "install", ...quiet, `openapi-typescript@${version}`, "typescript@5.9.3"], target);
  });
  return join(folder, "node_modules/.bin/openapi-typescript");
}

export class Comparison implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "fairlead-types-"));

  /** Throws when the generator cannot be installed. */
  constructor(document: string) {
    const adapted = join(this.#folder, "api.json");
    writeFileSync(adapted, adapt(readFileSync(document, "utf8")));
    run(["node", installGenerator(), adapted, "-o", join(this.#folder, "document.d.ts")], this.#folder);
    copyFileSync(join(import.meta.dir, "problems.ts"), join(this.#folder, "problems.ts"));
  }

  /** The compiler's messages about unknown differences, and about known ones that do not exist. Empty if there are none. */
  complaints(pairs: readonly Pair[], known: readonly string[], source = resources): readonly string[] {
    writeFileSync(join(this.#folder, "resources.ts"), source);
    const all = pairs.map(
      ([type, schema]) => `Problems<provider.${type}, components["schemas"]["${schema}"], "${schema}">`,
    );
    const text = [
      'import type { components } from "./document.d.ts";',
      'import type { Problems } from "./problems.ts";',
      'import type * as provider from "./resources.ts";',
      "declare function expectNone<T extends never>(): T;",
      `type Known = ${known.map((each) => JSON.stringify(each)).join(" | ") || "never"};`,
      ...all.map((each) => `expectNone<Exclude<${each}, Known>>();`),
      `expectNone<Exclude<Known, ${all.join(" | ")}>>();`,
    ];
    writeFileSync(join(this.#folder, "compare.ts"), text.join("\n"));
    const tsc = join(root, "node_modules/.bin/tsc");
    const { exitCode, stdout } = Bun.spawnSync([tsc, ...options, "compare.ts"], { cwd: this.#folder });
    const output = String(stdout);
    const found = [...output.matchAll(/Type '"(.+)"' (?:is not assignable to|does not satisfy)/g)];
    // Any other result is a broken comparison.
    return exitCode === 0 || found.length > 0 ? found.map(([, each = ""]) => each) : [output];
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
