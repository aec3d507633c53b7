// The npm package @fairlead/provider, outside the repository and without network: a provider is created, type-checked, tested and built.

import { afterAll, beforeAll, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { readSources } from "../../scripts/build/sources.ts";
import { repository } from "../../scripts/new-provider/skeleton.ts";
import { packageName, packProvider } from "../../scripts/release/provider-package.ts";
import { blocksOf, outcomesOf, run, tutorial } from "../new-provider/stages.ts";

const sources = readSources();
const folder = mkdtempSync(join(tmpdir(), "fairlead-package-"));
const modules = join(folder, "node_modules");
const installed = join(modules, packageName);
const meadow = join(folder, "meadow");

interface Package {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * Links the packages that npm would install with this one: those that its package.json and the lock
 * name, and no others of the repository.
 */
function linkDependencies({ dependencies = {} }: Package): void {
  const { packages } = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, Package>>;
  };
  const needed = new Set<string>();
  const add = (names: readonly string[]): void => {
    for (const name of names) {
      const entry = packages[`node_modules/${name}`];
      if (needed.has(name) || entry === undefined) continue;
      needed.add(name);
      add(Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }));
    }
  };
  add(Object.keys(dependencies));
  for (const name of needed) {
    const path = join(repository, "node_modules", name);
    // Packages for other platforms are not installed.
    if (!existsSync(path)) continue;
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(path, join(modules, name));
  }
}

const command = (cwd: string, ...words: readonly string[]) =>
  run(
    [
      Bun.which("node") ?? process.execPath,
      join(installed, "scripts/package/fairlead-provider.mjs"),
      ...words,
    ],
    cwd,
  );

beforeAll(async () => {
  mkdirSync(installed, { recursive: true });
  const archive = join(folder, "package.tgz");
  writeFileSync(archive, packProvider(sources));
  const unpacked = await run(["tar", "-xzf", archive, "--strip-components=1", "-C", installed]);
  if (unpacked.code !== 0) throw new Error(unpacked.output);
  linkDependencies(JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Package);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the package creates a provider outside the repository that compiles [F104]", async () => {
  const made = await command(folder, "new", "meadow");
  expect([made.code, made.output]).toEqual([0, expect.stringContaining("1. npm install")]);
  expect(JSON.parse(readFileSync(join(meadow, "package.json"), "utf8")).dependencies).toEqual({
    [packageName]: sources.released,
  });
  expect(await run([join(modules, "typescript/bin/tsc"), "--project", "."], meadow)).toEqual({
    code: 0,
    output: "",
  });
});

test("a finished provider passes the conformance suites of the package, and its types are correct [F104]", async () => {
  for (const { path, text } of blocksOf(tutorial)) {
    const inside = path.replace(/^providers\/meadow\//, "").replace(/^test\/providers\//, "");
    const target = join(meadow, inside);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text.replaceAll('"../../providers/meadow/', '"./'));
  }
  rmSync(join(meadow, "unwritten.ts"), { force: true });
  const [types, tested] = await Promise.all([
    run([join(modules, "typescript/bin/tsc"), "--project", "."], meadow),
    command(meadow, "test", "--timeout=120000"),
  ]);
  expect(types).toEqual({ code: 0, output: "" });
  expect([tested.code, / 0 fail\n/.test(tested.output)]).toEqual([0, true]);
  expect((await outcomesOf(join(meadow, "meadow.test.ts"))).length).toBeGreaterThan(50);
});

test("the package tries the provider, and builds its executable with the packages that it contains [F104 S2]", async () => {
  const tried = await command(meadow, "try");
  expect([tried.code, tried.output]).toEqual([0, expect.stringContaining("The Service web has the address")]);
  const built = await command(meadow, "build");
  expect(built).toEqual({ code: 0, output: expect.stringContaining("Building meadow") });
  const name = "meadow-cloud-controller-manager";
  expect(readdirSync(join(meadow, "dist")).toSorted()).toEqual([name, `${name}.cdx.json`, `${name}.sha256`]);
  const executable = join(meadow, "dist", name);
  const [version, notices] = await Promise.all([
    run([executable, "--version"]),
    run([executable, "version", "--notices"]),
  ]);
  expect(version.output).toBe(`${name} ${sources.version}\n`);
  expect(notices.output).toMatch(/^citty \d/m);
  expect(notices.output).toMatch(/^yaml \d/m);
  expect(notices.output).not.toContain(packageName);
});

test("the package creates a complete provider for a hard cloud that compiles and passes the suites [F104]", async () => {
  const made = await command(folder, "new", "granite", "--hard");
  expect([made.code, made.output]).toEqual([0, expect.stringContaining("a complete provider")]);
  const granite = join(folder, "granite");
  const [types, tested] = await Promise.all([
    run([join(modules, "typescript/bin/tsc"), "--project", "."], granite),
    command(granite, "test", "--timeout=120000"),
  ]);
  expect(types).toEqual({ code: 0, output: "" });
  expect([tested.code, / 0 fail\n/.test(tested.output)]).toEqual([0, true]);
});

test("the package's command explains an unknown argument", async () => {
  const { code, output } = await command(folder, "make");
  expect([code, output]).toEqual([2, expect.stringContaining("Usage: fairlead-provider new <name>")]);
});
