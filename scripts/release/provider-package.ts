// The npm package @fairlead/provider, generated from this repository: the sources of the framework and the
// scripts that create, try and build a provider. It contains no second copy of any file.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Sources } from "../build/sources.ts";
import type { Artefact } from "./artefact.ts";
import { gzip, type TarEntry, tar } from "./tar.ts";

const root = resolve(import.meta.dir, "../..");
const bin = "scripts/package/fairlead-provider.mjs";

/** Files, and folders with all their files. The lock file has the checksums of the other platforms' runtimes. */
const content = [
  "LICENSE",
  "package-lock.json",
  "src",
  "scripts/build",
  "scripts/build.ts",
  "scripts/command-line.ts",
  "scripts/find-bun.mjs",
  "scripts/new-provider",
  "scripts/new-provider.ts",
  "test/support/quarry",
  bin,
];

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), "utf8"));

export const packageName = "@fairlead/provider";
export const packageFile = (version: string): string => `fairlead-provider-${version}.tgz`;

/** The package.json of the package: `bun` runs it, and the compiler and the types are for the provider. */
export function packageManifest({
  released,
  commit,
  time,
}: Pick<Sources, "released" | "commit" | "time">): object {
  const { dependencies, devDependencies } = readJson("package.json") as Manifest;
  const own = ["@types/bun", "bun", "typescript"].map((name) => [name, devDependencies[name]]);
  return {
    name: packageName,
    version: released,
    description:
      "The provider contract, kit, conformance suites and build of Fairlead, for providers outside its repository.",
    license: "Apache-2.0",
    type: "module",
    sideEffects: false,
    gitHead: commit,
    gitTime: time,
    exports: {
      ".": "./src/index.ts",
      "./testing": "./src/testing/index.ts",
      "./tsconfig.json": "./tsconfig.json",
      "./package.json": "./package.json",
    },
    imports: { "#ccm": "./src/index.ts", "#ccm/testing": "./src/testing/index.ts" },
    bin: { "fairlead-provider": bin },
    publishConfig: { access: "public" },
    engines: { node: ">=20" },
    dependencies: { ...dependencies, ...Object.fromEntries(own) },
  };
}

function filesIn(path: string): readonly string[] {
  if (statSync(join(root, path)).isFile()) return [path];
  return readdirSync(join(root, path), { recursive: true, encoding: "utf8" })
    .map((name) => `${path}/${name}`)
    .filter((name) => statSync(join(root, name)).isFile());
}

export function packProvider(sources: Sources): Uint8Array<ArrayBuffer> {
  const { compilerOptions } = readJson("tsconfig.json") as { readonly compilerOptions: object };
  const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
  const generated: readonly (readonly [string, string | Uint8Array])[] = [
    ["package.json", json(packageManifest(sources))],
    ["tsconfig.json", json({ compilerOptions })],
    ["README.md", readFileSync(join(root, "scripts/package/README.md"))],
  ];
  const copied = content
    .flatMap(filesIn)
    .map((path): readonly [string, Uint8Array] => [path, readFileSync(join(root, path))]);
  const entries = [...generated, ...copied]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(
      ([path, text]): TarEntry => ({
        path: `package/${path}`,
        mode: path === bin ? 0o755 : 0o644,
        content: typeof text === "string" ? new TextEncoder().encode(text) : text,
      }),
    );
  return gzip(tar(entries, sources.time));
}

export function providerPackageArtefact(sources: Sources): Artefact {
  const name = packageFile(sources.released);
  return { name, make: (folder) => folder.write(name, packProvider(sources)) };
}
