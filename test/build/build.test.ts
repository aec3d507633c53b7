// Tests the pure parts of the build: targets, packages, notices and the SBOM.

import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { packageFolders, readMaterial, sourceOf } from "../../scripts/build/materials.ts";
import { noticesText } from "../../scripts/build/notices.ts";
import { describedBunVersion, runtimeParts } from "../../scripts/build/runtime-parts.ts";
import { checkIntegrity, lockedRuntime } from "../../scripts/build/runtimes.ts";
import { sbom } from "../../scripts/build/sbom.ts";
import { bunTarget, readTarget, runtimePackage, targets } from "../../scripts/build/targets.ts";

const root = resolve(import.meta.dir, "../..");
const material = {
  name: "@a/b",
  version: "1.2.3",
  license: "MIT",
  source: "https://github.com/a/b",
  text: "Do what you like.",
};

describe("targets", () => {
  test("build targets have the names that Bun uses", () => {
    expect(bunTarget("linux-x64-musl")).toBe("bun-linux-x64-musl");
    expect(bunTarget("darwin-arm64")).toBe("bun-darwin-arm64");
  });

  test("accepts build targets with and without Bun's prefix, and rejects unknown targets with a suggestion", () => {
    expect(readTarget("bun-linux-arm64")).toBe("linux-arm64");
    expect(readTarget("bun-linux-x64-baseline-musl")).toBe("linux-x64-musl");
    expect(() => readTarget("linux-amr64")).toThrow("Did you mean linux-arm64?");
  });
});

test("each target has a runtime in package-lock.json with the checksum of its package [F93 F94]", () => {
  for (const target of targets) {
    const { name, version, integrity } = lockedRuntime(target);
    expect([name, version]).toEqual([runtimePackage(target), describedBunVersion]);
    expect(integrity).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
  }
});

test("rejects a runtime with a different checksum", () => {
  const bytes = new TextEncoder().encode("bun");
  const { integrity } = lockedRuntime("linux-arm64");
  expect(() => checkIntegrity("the package", bytes, integrity)).toThrow("It is not used.");
});

test("packageFolders lists the packages of the bundled files in order, and the innermost of nested packages", () => {
  expect(
    packageFolders([
      "src/app/run.ts",
      "node_modules/consola/dist/core.mjs",
      "node_modules/consola/dist/other.mjs",
      "node_modules/@a/b/index.js",
      "node_modules/x/node_modules/y/index.js",
    ]),
  ).toEqual(["node_modules/@a/b", "node_modules/consola", "node_modules/x/node_modules/y"]);
});

test("readMaterial reads a package with its license text", () => {
  const { name, license, text } = readMaterial(resolve(root, "node_modules/consola"));
  expect([name, license]).toEqual(["consola", "MIT"]);
  // words-ok: the MIT license
  expect(text).toContain("Permission is hereby granted");
});

test("the table of Bun's parts describes the pinned Bun version [F97]", () => {
  const { devDependencies } = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8")) as {
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  expect(devDependencies["bun"]).toBe(describedBunVersion);
  expect(runtimeParts.map(([name]) => name)).toContain("mimalloc");
});

test("the notices contain the licenses of Fairlead and of all packages, and Bun's parts [F97]", () => {
  const text = noticesText("LICENSE TEXT", "9.9.9", [material]);
  for (const part of [
    "LICENSE TEXT",
    "@a/b 1.2.3 (MIT)",
    "Do what you like.",
    "Bun 9.9.9",
    ...runtimeParts.map(([name]) => name),
  ]) {
    expect(text).toContain(part);
  }
});

test("reads the repository of a package in each of npm's forms", () => {
  expect(sourceOf("github:a/b")).toBe("https://github.com/a/b");
  expect(sourceOf("a/b")).toBe("https://github.com/a/b");
  expect(sourceOf({ url: "git+https://github.com/a/b.git" })).toBe("https://github.com/a/b");
  expect(sourceOf({ url: "git@example.com:a/b.git" })).toBeUndefined();
  expect(sourceOf(undefined)).toBeUndefined();
});

test("the SBOM lists the executable, its checksum and all its components without duplicates [F97]", () => {
  const sha256 = "0123456789abcdef".repeat(4);
  const list = sbom({
    executable: "x",
    version: "v1",
    time: 1_700_000_000,
    sha256,
    bunVersion: "9.9.9",
    materials: [material],
  });
  expect(list.serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  expect(list.metadata.timestamp).toBe("2023-11-14T22:13:20.000Z");
  expect(list.components.map(({ supplier }) => supplier?.name)).toEqual(["a", "oven-sh"]);
  expect(list.metadata.component.hashes).toEqual([{ alg: "SHA-256", content: sha256 }]);
  expect(list.components.map(({ purl }) => purl)).toEqual(["pkg:npm/%40a/b@1.2.3", "pkg:npm/bun@9.9.9"]);
  const refs = JSON.stringify(list).match(/"bom-ref":"[^"]+"/g) ?? [];
  expect(new Set(refs).size).toBe(refs.length);
  const known = new Set(refs.map((ref) => ref.slice(11, -1)));
  for (const { ref, dependsOn = [] } of list.dependencies as readonly {
    ref: string;
    dependsOn?: string[];
  }[]) {
    for (const each of [ref, ...dependsOn]) expect(known.has(each)).toBe(true);
  }
});

test.each([
  [
    "index.ts",
    'import "./other.ts";\nexport const acme = {\n  name: "acme"\n  config: {},\n};\n',
    ':4:3: Expected "}" but found "config"\n    config: {},\n',
  ],
  [
    "other.ts",
    'import "./missing.ts";\n',
    ':1:8: Could not resolve: "./missing.ts"\n    import "./missing.ts";\n',
  ],
])(
  "a failed build with a mistake in %s names its position, and leaves no executable of an earlier build",
  (name, text, message) => {
    const folder = mkdtempSync(join(tmpdir(), "fairlead-build-"));
    try {
      const provider = join(folder, "acme");
      const outdir = join(folder, "dist");
      for (const each of [provider, outdir]) mkdirSync(each);
      writeFileSync(join(provider, "index.ts"), 'import "./other.ts";\n');
      writeFileSync(join(provider, "other.ts"), "");
      writeFileSync(join(provider, name), text);
      for (const ending of ["", ".sha256", ".cdx.json"])
        writeFileSync(join(outdir, `acme-cloud-controller-manager${ending}`), "old");
      writeFileSync(join(outdir, "other-cloud-controller-manager"), "kept");
      const command = [process.execPath, join(root, "scripts/build.ts"), provider, "--outdir", outdir];
      const { exitCode, stderr } = Bun.spawnSync(command, { stdin: "ignore" });
      expect(exitCode).toBe(2);
      expect(stderr.toString()).toContain(`${join(provider, name)}${message}`);
      expect(readdirSync(outdir)).toEqual(["other-cloud-controller-manager"]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
