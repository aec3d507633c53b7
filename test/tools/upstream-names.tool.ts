// The flags and feature gates of the framework at the version that test/differential/upstream pins: each one is accepted, so that a
// manifest of that version starts.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { metricsPage } from "../../scripts/docs/metrics-page.ts";
import { flagFields } from "../../src/app/flags/flag-table.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { upstreamFolder } from "../differential/rig/managers.ts";
import { goManagerFolder, goModule, goProgram, needTool, orSkipped } from "./rig/install.ts";

const [, pinned = ""] =
  /k8s\.io\/cloud-provider (v\S+)/.exec(readFileSync(join(upstreamFolder, "go.mod"), "utf8")) ?? [];

/** Folders whose gates the options of the framework register. */
const gateFolders = {
  "k8s.io/apiserver": "pkg/features",
  "k8s.io/component-base": "{zpages/features,logs/api/v1,metrics/features}",
  "k8s.io/controller-manager": "pkg/features",
} as const;

/** One that is declared but not registered, and an example in a comment. */
const notRegistered = new Set(["LoggingStableOptions", "MyFeature"]);

function gatesOf(version: string): readonly string[] {
  const texts = Object.entries(gateFolders).flatMap(([module, folders]) => {
    const root = goModule(module, version);
    const paths = [...new Bun.Glob(`${folders}/*.go`).scanSync(root)];
    return paths.map((path) => readFileSync(join(root, path), "utf8"));
  });
  const names = texts.join("\n").matchAll(/featuregate\.Feature = "(\w+)"/g);
  return [...new Set([...names].map(([, name = ""]) => name))].filter((name) => !notRegistered.has(name));
}

const go = orSkipped("names of upstream", () => needTool("go"));
describe.skipIf(go === undefined)(`The framework ${pinned}`, () => {
  test("has no feature gate that Fairlead does not know", () => {
    const gates = gatesOf(pinned);
    expect(gates.length).toBeGreaterThan(40);
    const { problems } = readFlags([`--feature-gates=${gates.map((name) => `${name}=true`).join(",")}`]);
    expect(problems.filter(({ reason }) => reason === "UnknownFeatureGate")).toEqual([]);
  });

  test("has no metric of its client that docs/metrics.md lacks", () => {
    const path = join(goModule("k8s.io/component-base", pinned), "metrics/prometheus/restclient/metrics.go");
    const names = [...readFileSync(path, "utf8").matchAll(/Name: +"(\w+)"/g)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(10);
    const page = metricsPage();
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  test("has no flag that Fairlead does not know", () => {
    const program = goProgram(upstreamFolder, [goManagerFolder]);
    const help = Bun.spawnSync([program, "--help"]).stdout.toString();
    const names = [...help.matchAll(/^ +(?:-\w, )?--([\w-]+)/gm)].map(([, name = ""]) => name);
    expect(names.length).toBeGreaterThan(60);
    expect(names.filter((name) => !Object.hasOwn(flagFields, name))).toEqual([]);
  });
});
