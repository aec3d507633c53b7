// The workflows in .github: what each job may do, in which order a release happens, and what keeps versions current.

import { describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { readLock } from "../../scripts/release/image/lock.ts";

const root = resolve(import.meta.dir, "../..");
const folder = join(root, ".github/workflows");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

interface Job {
  readonly needs?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly steps?: readonly Step[];
  readonly uses?: string;
  readonly environment?: string;
  readonly "timeout-minutes"?: number;
}

interface Workflow {
  readonly permissions: object;
  readonly concurrency?: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const names = readdirSync(folder).toSorted();
const workflow = (name: string): Workflow => parse(readFileSync(join(folder, name), "utf8")) as Workflow;
const stepsOf = ({ jobs }: Workflow): readonly Step[] =>
  Object.values(jobs).flatMap(({ steps = [] }) => steps);
const { scripts } = JSON.parse(read("package.json")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

describe.each(names)("%s", (name) => {
  const { permissions, concurrency, jobs } = workflow(name);
  const steps = stepsOf(workflow(name));

  test("a workflow grants nothing by default, and grants each job only the permissions that the job needs", () => {
    expect(permissions).toEqual({});
    expect(concurrency).toBeDefined();
    for (const job of Object.values(jobs)) {
      expect(job.permissions).toBeDefined();
      if (job.uses === undefined) expect(job["timeout-minutes"]).toBeGreaterThan(0);
    }
  });

  test("a workflow pins every action to a commit, and keeps no credentials in the checkout", () => {
    const used = steps.flatMap(({ uses }) => uses ?? []);
    expect(used.filter((each) => !/^[\w-]+\/[\w/-]+@[0-9a-f]{40}$/.test(each))).toEqual([]);
    for (const step of steps) {
      if (step.uses?.startsWith("actions/checkout@") !== true) continue;
      expect(step.with?.["persist-credentials"]).toBe(false);
    }
  });

  test("a workflow puts no expression into a shell script, and runs scripts of package.json", () => {
    const commands = steps.flatMap(({ run }) => run ?? []);
    expect(commands.filter((command) => command.includes("${{"))).toEqual([]);
    const called = commands.flatMap((command) => [...command.matchAll(/\bnpm (?:run )?([\w:]+)/g)]);
    for (const [, script = ""] of called) expect(scripts[script]).toBeDefined();
  });
});

test("the nightly tests have the history that the upgrade from an earlier commit needs", () => {
  const [checkout] = workflow("nightly.yml").jobs["everything"]?.steps ?? [];
  expect(checkout?.with?.["fetch-depth"]).toBe(0);
});

test("CI runs the commands that CONTRIBUTING.md requires before a change", () => {
  const commands = stepsOf(workflow("ci.yml")).flatMap(({ run }) => run ?? []);
  const [, before = ""] = read("CONTRIBUTING.md").split("Before you send a change:");
  const asked = (before.split("After a change")[0] ?? "").match(/`(npm [^`]+)`/g) ?? [];
  expect(asked.length).toBeGreaterThan(2);
  for (const command of asked) expect(commands).toContain(command.replaceAll("`", ""));
});

describe("the release", () => {
  const { jobs } = workflow("release.yml");

  test("the release workflow checks the tag first, runs the tests, and publishes only after everything else", () => {
    const order = ["check", "tests", "build", "draft", "images", "publish"];
    expect(Object.keys(jobs)).toEqual(order);
    expect(Object.values(jobs).map(({ needs }) => needs)).toEqual([undefined, ...order.slice(0, -1)]);
    expect(jobs["tests"]?.uses).toBe("./.github/workflows/ci.yml");
    expect(jobs["publish"]?.steps).toHaveLength(1);
  });

  test("the release workflow gives write permission only to jobs that run no code of the repository", () => {
    for (const { permissions, steps = [] } of Object.values(jobs)) {
      const runsCode = /checkout|npm/.test(steps.map(({ run = "", uses = "" }) => run + uses).join());
      if (runsCode) expect(permissions).toEqual({ contents: "read" });
    }
  });

  test("only one job of the release workflow reads the private key, in a separate environment", () => {
    const users = Object.entries(jobs).filter(([, job]) =>
      JSON.stringify(job).includes("FAIRLEAD_RELEASE_KEY"),
    );
    expect(users.map(([name, { environment }]) => [name, environment])).toEqual([["build", "release"]]);
  });
});

/** Runs the last script of a release.yml job, with a `gh` that responds with these texts. Returns what the script sent. */
function scriptOf(job: string, answers: { readonly releases: string; readonly commit: string }) {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-workflow-"));
  const gh = join(folder, "gh");
  writeFileSync(
    gh,
    `#!/bin/sh
echo "$*" >> sent
case "$*" in
  "release list "*) ${answers.releases};;
  "api repos/owner/name/commits/tags/v0.1.0 "*) ${answers.commit};;
esac
`,
  );
  chmodSync(gh, 0o755);
  const run = workflow("release.yml").jobs[job]?.steps?.findLast((step) => step.run !== undefined)?.run;
  const env = {
    PATH: `${folder}:${process.env["PATH"] ?? ""}`,
    TAG: "v0.1.0",
    GH_REPO: "owner/name",
    GITHUB_SHA: "abc",
  };
  const { exitCode } = Bun.spawnSync(["bash", "-eo", "pipefail", "-c", run ?? "exit 99"], {
    cwd: folder,
    env,
  });
  const sent = readFileSync(join(folder, "sent"), "utf8");
  rmSync(folder, { recursive: true });
  return { isPassed: exitCode === 0, isChanged: /^release (create|edit)/m.test(sent) };
}

describe("the release of a tag", () => {
  const good = { releases: "echo v0.1.0-rc.1", commit: "echo abc" };

  test.each(["draft", "publish"])(
    "the job %s changes the release when the tag has the tested commit",
    (job) => {
      expect(scriptOf(job, good)).toEqual({ isPassed: true, isChanged: true });
    },
  );

  test.each([
    ["draft", "has a release, whose images would be overwritten", { ...good, releases: "echo v0.1.0" }],
    ["draft", "cannot be looked up", { ...good, releases: "exit 1" }],
    ["draft", "was moved to another commit", { ...good, commit: "echo def" }],
    ["publish", "was moved to another commit", { ...good, commit: "echo def" }],
    ["publish", "was deleted", { ...good, commit: "exit 1" }],
  ])("the job %s does not change the release when the tag %s", (job, _, answers) => {
    expect(scriptOf(job, answers)).toEqual({ isPassed: false, isChanged: false });
  });

  test("rejects a release tag when the default branch does not contain the commit", () => {
    const { steps = [] } = workflow("release.yml").jobs["check"] ?? {};
    const step = steps.find(({ run }) => run?.includes("merge-base"));
    expect(steps.find(({ uses }) => uses?.startsWith("actions/checkout@"))?.with?.["fetch-depth"]).toBe(0);
    const folder = mkdtempSync(join(tmpdir(), "fairlead-workflow-"));
    const bash = (script: string) =>
      Bun.spawnSync(["bash", "-eo", "pipefail", "-c", script], {
        cwd: folder,
        env: { PATH: process.env["PATH"] ?? "", HOME: folder, DEFAULT_BRANCH: "main" },
      }).exitCode;
    const commit = "git -c user.name=a -c user.email=a@example.com commit --quiet --allow-empty --message";
    bash(`git init --quiet && ${commit} one && git update-ref refs/remotes/origin/main HEAD`);
    expect(bash(step?.run ?? "exit 99")).toBe(0);
    bash(`${commit} two`);
    expect(bash(step?.run ?? "exit 0")).not.toBe(0);
    rmSync(folder, { recursive: true });
  });

  test.each([
    ["", "", "github"],
    ["registry.example.com/owner", "", ""],
    ["registry.example.com/owner", "own", "own"],
  ])(
    "pushes the image to the registry %p with its token, and keeps the workflow's token",
    (registry, own, token) => {
      const { steps = [] } = workflow("release.yml").jobs["images"] ?? {};
      const { REGISTRY_TOKEN: text = "" } = steps.find(({ run }) => run !== undefined)?.env ?? {};
      // The operators in this expression are those of JavaScript.
      const value = new Function("secrets", "vars", "github", `return ${text.slice(3, -2)}`);
      const secrets = { IMAGE_REGISTRY_TOKEN: own };
      expect(value(secrets, { IMAGE_REGISTRY: registry }, { token: "github" })).toBe(token);
    },
  );
});

describe("renovate.json", () => {
  const { customManagers } = JSON.parse(read("renovate.json")) as {
    readonly customManagers: readonly { readonly matchStrings: readonly string[] }[];
  };
  const found = (index: number, text: string) =>
    (customManagers[index]?.matchStrings ?? []).flatMap((pattern) =>
      [...text.matchAll(new RegExp(pattern, "g"))].map(({ groups = {} }) => groups),
    );

  test("the update of versions finds each Debian package of the image", () => {
    expect(found(0, read("deploy/image/packages.json"))).toEqual(
      readLock().packages.map(({ name, version, architecture }) => ({
        depName: name,
        currentValue: version,
        architecture,
      })),
    );
  });

  test("the update of versions finds the Go tools of the tests by their module", () => {
    const tools = found(1, read("test/tools/rig/deploy-tools.ts"));
    expect(tools.map(({ depName }) => depName)).toContain("helm.sh/helm/v4");
    expect(tools).toHaveLength(3);
  });
});
