// The compiled executable: its command line, what it ignores in its environment, and its content. Run `npm run build fake` first.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");
const executable = join(root, "dist", "fake-cloud-controller-manager");

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "fairlead-executable-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs without this process's environment, in an empty folder. */
const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Ended => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([executable, ...args], {
    cwd: folder,
    env,
    stdin: "ignore",
    timeout: 200_000,
  });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
};

describe("the command line", () => {
  test("--version prints the program, the release and the commit [S13]", () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      readonly version: string;
    };
    const { code, out } = run(["--version"]);
    expect([code, out.startsWith(`fake-cloud-controller-manager v${version}+`)]).toEqual([0, true]);
    const [, commit = ""] = /^[^+]+\+([0-9a-f]{12})(?:\.dirty)?$/.exec(out.trim()) ?? [];
    const known = Bun.spawnSync(["git", "cat-file", "-t", commit], { cwd: root }).stdout.toString().trim();
    expect(known).toBe("commit");
    expect(run(["version"])).toEqual({ code: 0, out, err: "" });
    expect(JSON.parse(run(["--version=raw"]).out).commit).toMatch(new RegExp(`^${commit}[0-9a-f]{28}`));
  });

  test("--notices prints the licenses of all components [F97]", () => {
    const { code, out } = run(["version", "--notices"]);
    expect(code).toBe(0);
    for (const part of [
      "Apache License",
      "consola",
      // words-ok: the MIT license
      "Permission is hereby granted",
      "JavaScriptCore",
      "mimalloc",
    ]) {
      expect(out).toContain(part);
    }
    expect(out.trimEnd()).toEndWith("LICENSE.md.");
  });

  test("--help lists upstream's flags, Fairlead's flags and the cloud's settings [S1]", () => {
    const { code, out } = run(["--help"]);
    expect(code).toBe(0);
    for (const word of ["--kubeconfig", "--leader-elect", "--absence-confirmation", "FAKE_ENDPOINT"]) {
      expect(out).toContain(word);
    }
    expect(run(["-h"]).out).toBe(out);
  });

  const invalid: readonly (readonly [string, readonly string[], string])[] = [
    [
      "an unknown flag, and suggests a similar flag",
      ["--kubeconfg=/x"],
      "unknown flag --kubeconfg; did you mean --kubeconfig?",
    ],
    ["an unknown value", ["--mode=obsrve"], "--mode"],
    ["an unknown command", ["explode"], 'unknown command "explode"'],
    [
      "another cloud, and names its program [S3]",
      ["--cloud-provider=hetzner"],
      "run hetzner-cloud-controller-manager",
    ],
    [
      "an unknown setting of the cloud",
      ["--config-set=endpiont=http://x", "--kubeconfig=kubeconfig"],
      "endpoint",
    ],
  ];
  test.each(invalid)("exits with 2 on %s", (_, args, text) => {
    writeFileSync(join(folder, "kubeconfig"), minimalKubeconfig);
    const { code, out, err } = run(args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(text);
  });

  test("reports all invalid flags together", () => {
    const { err } = run(["--kubeconfg=/x", "--nosuch", "--v=-1"]);
    expect(err.trim().split("\n")).toHaveLength(3);
  });

  test("accepts its own name and `external` as --cloud-provider [S3]", () => {
    for (const name of ["fake", "external"]) {
      expect(run([`--cloud-provider=${name}`, "--version"]).code).toBe(0);
      expect(run([`--cloud-provider=${name}`]).err).not.toContain("--cloud-provider is");
    }
  });

  test("exits with 2 without an API server, and lists the ways to set the API server", () => {
    const { code, err } = run([]);
    expect(code).toBe(2);
    expect(err).toContain("KUBERNETES_SERVICE_HOST");
  });
});

test("the executable does not read files in the working directory", () => {
  const trap = 'require("node:fs").writeFileSync("trapped", "yes");';
  writeFileSync(join(folder, "trap.js"), trap);
  writeFileSync(join(folder, "trap.ts"), trap);
  writeFileSync(join(folder, "bunfig.toml"), 'preload = ["./trap.ts"]\n[run]\npreload = ["./trap.js"]\n');
  // If these files were read, the program would connect instead of reporting an error.
  for (const name of [".env", ".env.local", ".env.production", ".env.development"]) {
    writeFileSync(join(folder, name), "KUBERNETES_SERVICE_HOST=127.0.0.1\nKUBERNETES_SERVICE_PORT=9\n");
  }
  writeFileSync(
    join(folder, "package.json"),
    '{"type":"commonjs","main":"trap.js","imports":{"#ccm":"./trap.js"}}',
  );
  writeFileSync(join(folder, "tsconfig.json"), "{ not even JSON");
  const { code, err } = run([]);
  expect(code).toBe(2);
  expect(err).toContain("KUBERNETES_SERVICE_HOST is not set");
  expect(run(["--version"]).code).toBe(0);
  expect(() => readFileSync(join(folder, "trapped"))).toThrow();
});

test("building the same sources again produces the same file, with its checksum and SBOM [F92 F97]", () => {
  const second = join(folder, "again");
  const built = Bun.spawnSync([process.execPath, join(root, "scripts/build.ts"), "fake", "--outdir", second]);
  expect(built.stderr.toString()).toBe("");
  const name = "fake-cloud-controller-manager";
  const sum = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
  expect(sum(join(second, name))).toBe(sum(executable));
  expect(readFileSync(`${executable}.sha256`, "utf8")).toBe(`${sum(executable)}  ${name}\n`);
  const list = JSON.parse(readFileSync(`${executable}.cdx.json`, "utf8")) as {
    readonly components: readonly { readonly name: string }[];
  };
  expect(list.components.map((each) => each.name)).toContain("consola");
});

test("the build produces executables for other platforms, too [F93 F94]", () => {
  const machines: Readonly<Record<string, number>> = { "linux-arm64": 0xb7, "linux-x64-musl": 0x3e };
  const others = join(folder, "others");
  for (const [target, machine] of Object.entries(machines)) {
    const made = Bun.spawnSync([
      ...[process.execPath, join(root, "scripts/build.ts"), "fake"],
      ...["--outdir", others, "--target", target],
    ]);
    expect(made.exitCode).toBe(0);
    const header = readFileSync(join(others, `fake-cloud-controller-manager-${target}`)).subarray(0, 20);
    expect(header.subarray(0, 4).toString("latin1")).toBe("\x7fELF");
    expect(header.readUInt16LE(18)).toBe(machine);
  }
}, 300_000);

test("the executable contains neither the test API server nor the simulated cloud [S2]", () => {
  const content = readFileSync(executable);
  // Message texts, which the minifier does not change. One text that must be found proves that the search works.
  const inside: readonly (readonly [string, string])[] = [
    ["src/app/flags/flag-problems.ts", "but this executable is for"],
  ];
  const outside: readonly (readonly [string, string])[] = [
    ["providers/fake/simulator/fake-cloud.ts", "is not an operation of this cloud"],
    ["providers/fake/simulator/admin.ts", "is not an admin operation"],
    ["src/testing/apiserver/kubelet/kubelet-node.ts", "kubelet is posting ready status"],
  ];
  for (const [path, marker] of [...inside, ...outside]) {
    expect(readFileSync(join(root, path), "utf8")).toContain(marker);
  }
  const contains = (marker: string): boolean =>
    content.includes(marker) || content.includes(Buffer.from(marker, "utf16le"));
  for (const [, marker] of inside) expect(contains(marker)).toBe(true);
  for (const [, marker] of outside) expect(contains(marker)).toBe(false);
});

const minimalKubeconfig = JSON.stringify({
  "current-context": "x",
  contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
  clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:9" } }],
  users: [{ name: "u", user: {} }],
});
