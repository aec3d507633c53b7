// What is true of the compiled executable and cannot be seen from the sources: what it answers on the command line, what it
// ignores of its surroundings, and what is not inside it. It wants `npm run build fake` first.

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

/** With nothing of our environment, in a folder of its own. */
const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Ended => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([executable, ...args], {
    cwd: folder,
    env,
    stdin: "ignore",
    timeout: 20_000,
  });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
};

describe("the command line", () => {
  test("--version names the program, the release and the commit it was built from [S13]", () => {
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

  test("--notices holds the terms of everything inside, to the last word [F97]", () => {
    const { code, out } = run(["version", "--notices"]);
    expect(code).toBe(0);
    for (const part of [
      "Apache License",
      "consola",
      "Permission is hereby granted",
      "JavaScriptCore",
      "mimalloc",
    ]) {
      expect(out).toContain(part);
    }
    expect(out.trimEnd()).toEndWith("LICENSE.md.");
  });

  test("--help names upstream's flags, ours and the cloud's settings [S1]", () => {
    const { code, out } = run(["--help"]);
    expect(code).toBe(0);
    for (const word of ["--kubeconfig", "--leader-elect", "--node-deletion-confirmation", "FAKE_ENDPOINT"]) {
      expect(out).toContain(word);
    }
    expect(run(["-h"]).out).toBe(out);
  });

  const refusals: readonly (readonly [string, readonly string[], string])[] = [
    [
      "an unknown flag, with the nearest name",
      ["--kubeconfg=/x"],
      "unknown flag --kubeconfg; did you mean --kubeconfig?",
    ],
    ["a value that is none of those there are", ["--mode=obsrve"], "--mode"],
    ["an unknown command", ["explode"], 'Unknown command "explode"'],
    [
      "another cloud, with the program for it [S3]",
      ["--cloud-provider=hetzner"],
      "run hetzner-cloud-controller-manager",
    ],
    [
      "an unknown setting of the cloud",
      ["--config-set=endpiont=http://x", "--kubeconfig=kubeconfig"],
      "endpoint",
    ],
  ];
  test.each(refusals)("refuses %s, and ends with 2", (_, args, text) => {
    writeFileSync(join(folder, "kubeconfig"), minimalKubeconfig);
    const { code, out, err } = run(args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(text);
  });

  test("tells every mistake at once", () => {
    const { err } = run(["--kubeconfg=/x", "--nosuch", "--v=99"]);
    expect(err.trim().split("\n")).toHaveLength(3);
  });

  test("takes its own name and `external` as the cloud [S3]", () => {
    for (const name of ["fake", "external"]) {
      expect(run([`--cloud-provider=${name}`, "--version"]).code).toBe(0);
      expect(run([`--cloud-provider=${name}`]).err).not.toContain("--cloud-provider is");
    }
  });

  test("without any way to an API server it says which there are, and ends with 2", () => {
    const { code, err } = run([]);
    expect(code).toBe(2);
    expect(err).toContain("KUBERNETES_SERVICE_HOST");
  });
});

test("files that lie in the working directory are not read", () => {
  const trap = 'require("node:fs").writeFileSync("trapped", "yes");';
  writeFileSync(join(folder, "trap.js"), trap);
  writeFileSync(join(folder, "trap.ts"), trap);
  writeFileSync(join(folder, "bunfig.toml"), 'preload = ["./trap.ts"]\n[run]\npreload = ["./trap.js"]\n');
  // If it were read, this would be an address to connect to and not a mistake to report.
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

test("the same sources make the same file, with its sum and its list of contents beside it [F92 F97]", () => {
  const requeue = join(folder, "again");
  const built = Bun.spawnSync([
    process.execPath,
    join(root, "scripts/build.ts"),
    "fake",
    "--outdir",
    requeue,
  ]);
  expect(built.stderr.toString()).toBe("");
  const name = "fake-cloud-controller-manager";
  const sum = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");
  expect(sum(join(requeue, name))).toBe(sum(executable));
  expect(readFileSync(`${executable}.sha256`, "utf8")).toBe(`${sum(executable)}  ${name}\n`);
  const list = JSON.parse(readFileSync(`${executable}.cdx.json`, "utf8")) as {
    readonly components: readonly { readonly name: string }[];
  };
  expect(list.components.map((each) => each.name)).toContain("consola");
}, 60_000);

test("it is made for other machines too [F93 F94]", () => {
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

test("neither the sandbox nor the simulated cloud is inside [S2]", () => {
  const content = readFileSync(executable);
  // Words of messages, which no minifier touches; each stands in its source, and one of the program proves the search.
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
  const holds = (marker: string): boolean =>
    content.includes(marker) || content.includes(Buffer.from(marker, "utf16le"));
  for (const [, marker] of inside) expect(holds(marker)).toBe(true);
  for (const [, marker] of outside) expect(holds(marker)).toBe(false);
});

const minimalKubeconfig = JSON.stringify({
  "current-context": "x",
  contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
  clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:9" } }],
  users: [{ name: "u", user: {} }],
});
