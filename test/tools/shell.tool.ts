// The completion in real shells, and the man page with groff and mandoc.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fake } from "../../providers/fake/index.ts";
import { hetzner } from "../../providers/hetzner/index.ts";
import { runCommandIn } from "../support/command-world.ts";
import { ServiceWorld } from "../support/service-world.ts";
import { debianTool, needTool, orSkipped } from "./rig/install.ts";

const program = "fake-cloud-controller-manager";

async function output(words: readonly string[], provider: unknown = fake): Promise<string> {
  const { code, out, err } = await runCommandIn(new ServiceWorld(), words, { provider });
  if (code !== 0) throw new Error(err);
  return out;
}

const root = resolve(import.meta.dir, "../..");

/** Writes a script that runs the program from its sources, which the completions call. */
function writeProgram(folder: string): void {
  const entry = join(folder, "entry.ts");
  const imports = [
    `import { runExecutable } from "${root}/src/app/run.ts";`,
    `import { fake } from "${root}/providers/fake/index.ts";`,
  ];
  writeFileSync(entry, `${imports.join("\n")}\nawait runExecutable(fake as never);\n`);
  const call = `exec ${process.execPath} ${entry} "$@"`;
  writeFileSync(join(folder, program), `#!/bin/sh\n${call}\n`, { mode: 0o755 });
}

/** Runs a program with a file, and returns its output. */
function withFile(content: string, name: string, use: (path: string, folder: string) => readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-shell-"));
  try {
    const path = join(folder, name);
    writeFileSync(path, content);
    writeFileSync(join(folder, "service.yaml"), "");
    writeProgram(folder);
    const { stdout, stderr, exitCode } = Bun.spawnSync([...use(path, folder)], {
      cwd: folder,
      timeout: 300_000,
      env: { PATH: `${folder}:${process.env["PATH"] ?? ""}`, HOME: folder, LC_ALL: "C.UTF-8" },
    });
    return { exitCode, out: stdout.toString().trim(), err: stderr.toString().trim() };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const bash = orSkipped("bash completion", () => needTool("bash"));
describe.if(bash !== undefined)("bash completes", () => {
  /** The words that bash offers for the last word, split as readline splits them. */
  const complete = async (...words: readonly string[]): Promise<readonly string[]> => {
    const script = await output(["completion", "bash"]);
    const run = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); "$(complete -p ${program} | sed 's/.*-F \\([^ ]*\\).*/\\1/')"; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { out } = withFile(script, "completion.bash", (path) => [
      ...[bash ?? "bash", "--norc", "-c", run, "bash", path, program],
      ...words,
    ]);
    return out.split("\n").filter((line) => line !== "");
  };

  test("bash completes commands, kinds and shells", async () => {
    expect(await complete("")).toContain("explain");
    expect(await complete("expl")).toEqual(["explain"]);
    expect(await complete("explain", "")).toEqual(["node", "service", "pvc", "pv"]);
    expect(await complete("explain", "ser")).toEqual(["service"]);
    expect(await complete("explain", "service", "")).toEqual([]);
    expect(await complete("completion", "z")).toEqual(["zsh"]);
    expect(await complete("help", "pl")).toEqual(["plan"]);
  });

  test("bash completes flags of the command, and their values with a space and with an equals sign", async () => {
    expect(await complete("--output", "")).toEqual(["text", "json", "github"]);
    expect(await complete("explain", "--output", "=", "js")).toEqual(["json"]);
    expect(await complete("explain", "--output", "=")).toEqual(["text", "json", "github"]);
    expect(await complete("explain", "-o", "t")).toEqual(["text"]);
    expect(await complete("explain", "--serv")).toEqual(["--server", "--server-ca-file"]);
    expect(await complete("plan", "--serv")).toEqual([]);
    expect(await complete("--removal-l")).toEqual(["--removal-limit"]);
    expect(await complete("--mode", "o")).toEqual(["observe"]);
    expect(await complete("--cluster-name", "")).toEqual([]);
  });

  test("bash completes files", async () => {
    expect(await complete("lint", "serv")).toEqual(["service.yaml"]);
    expect(await complete("--kubeconfig", "serv")).toEqual(["service.yaml"]);
  });
});

const fish = orSkipped("fish completion", () => debianTool("fish", ["fish"]));
test.if(fish !== undefined)("fish completes commands, kinds, flags and values", async () => {
  const script = await output(["completion", "fish"]);
  const complete = (line: string): readonly string[] => {
    const run = `source $argv[1]; complete -C '${program} ${line}'`;
    const { out, err } = withFile(script, "completion.fish", (path) => [
      fish ?? "fish",
      "--no-config",
      "-c",
      run,
      path,
    ]);
    expect(err).toBe("");
    return out.split("\n").flatMap((word) => word.split("\t")[0] || []);
  };
  expect(complete("expl")).toEqual(["explain"]);
  expect(complete("explain ")).toEqual(expect.arrayContaining(["node", "service"]));
  expect(complete("explain --output=")).toEqual(["--output=github", "--output=json", "--output=text"]);
  expect(complete("explain --offl")).toEqual(["--offline"]);
  expect(complete("plan --offl")).toEqual([]);
  expect(complete("lint serv")).toEqual(["service.yaml"]);
});

const zsh = orSkipped("zsh completion", () => debianTool("zsh", ["zsh"]));
test.if(zsh !== undefined)("zsh completes commands, kinds and values in a terminal", async () => {
  const script = await output(["completion", "zsh"]);
  // A zsh in a pseudo terminal that shows its suggestions.
  const run = `
zmodload zsh/zpty
zpty shell ${zsh} -f -i
ask() {
  zpty -w shell "$1"
}
ask "PS1=; unsetopt zle_bracketed_paste; autoload -U compinit; compinit -u; source $1; zstyle ':completion:*' list-prompt ''; LISTMAX=1000; echo ready"
zpty -r -m shell text '*ready*ready*'
zpty -n -w shell '${program} explain '$'\\t\\t'
# Waits for the menu.
zpty -r -m shell text '*node*service*' && print -r -- "offered: node service"
`;
  const { out } = withFile(script, "completion.zsh", (path) => [zsh ?? "zsh", "-f", "-c", run, "zsh", path]);
  expect(out).toContain("offered: node service");
});

const pwsh = orSkipped("PowerShell completion", () => needTool("pwsh"));
test.if(pwsh !== undefined)("PowerShell completes commands, kinds, flags, values and files", async () => {
  const script = await output(["completion", "powershell"]);
  const complete = (line: string): readonly string[] => {
    const typed = `${program} ${line}`;
    const run = `Get-Content -Raw completion.ps1 | Invoke-Expression; (TabExpansion2 -inputScript '${typed}' -cursorColumn ${typed.length}).CompletionMatches.CompletionText`;
    const { out, err } = withFile(script, "completion.ps1", () => [
      ...[pwsh ?? "pwsh", "-NoProfile", "-NonInteractive", "-Command", run],
    ]);
    expect(err).toBe("");
    return out.split("\n").filter((word) => word !== "");
  };
  expect(complete("expl")).toEqual(["explain"]);
  expect(complete("explain ")).toEqual(["node", "service", "pvc", "pv"]);
  expect(complete("explain --output=")).toEqual(["--output=text", "--output=json", "--output=github"]);
  expect(complete("explain -o j")).toEqual(["json"]);
  expect(complete("explain service ")).toEqual([]);
  expect(complete("lint serv").join()).toContain("service.yaml");
});

const pages = [
  ["fake", fake],
  ["hetzner", hetzner],
] as const;
const groff = orSkipped("the man page with groff", () => debianTool("groff", ["groff-base"]));
test.if(groff !== undefined).each(pages)(
  "groff formats the man page of %s without a warning",
  async (_, provider) => {
    const page = await output(["man"], provider);
    const { exitCode, out, err } = withFile(page, "page.8", (path) => [
      ...[groff ?? "groff", "-man", "-ww", "-Tascii", "-P-bcou", "-rLL=100n", path],
    ]);
    expect([exitCode, err]).toEqual([0, ""]);
    expect(out).toContain("--kubeconfig");
  },
);

const mandoc = orSkipped("the man page with mandoc", () => debianTool("mandoc", ["mandoc"]));
test.if(mandoc !== undefined).each(pages)(
  "mandoc finds no error in the man page of %s",
  async (_, provider) => {
    const page = await output(["man"], provider);
    const { out } = withFile(page, "page.8", (path) => [
      mandoc ?? "mandoc",
      "-T",
      "lint",
      "-W",
      "warning",
      path,
    ]);
    // A date would differ between builds of one commit.
    expect(out.split("\n").filter((line) => !line.includes("missing date"))).toEqual([]);
  },
);
