// The workflows and renovate.json, checked by tools that implement the rules of GitHub and Renovate.

import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pythonPackages } from "../clients/rig/prepare.ts";
import { run } from "./rig/deploy-tools.ts";
import { goTool, orSkipped } from "./rig/install.ts";

const root = resolve(import.meta.dir, "../..");
const folder = join(root, ".github/workflows");
const workflows = readdirSync(folder).map((name) => join(folder, name));

const python = orSkipped("schemas and zizmor", () =>
  join(pythonPackages("the tools", join(import.meta.dir, "python")), "bin"),
);
const actionlint = orSkipped("actionlint", () =>
  goTool({
    path: "github.com/rhysd/actionlint/cmd/actionlint",
    version: "v1.7.12",
    name: "actionlint",
  }),
);

const schema = (name: string): readonly string[] => [
  `${python}/check-jsonschema`,
  ...["--builtin-schema", `vendor.${name}`],
];

test.skipIf(python === undefined)(
  "the workflows match GitHub's schema, and renovate.json matches Renovate's schema",
  () => {
    expect(run([...schema("github-workflows"), ...workflows])).toMatchObject({ code: 0 });
    expect(run([...schema("renovate"), join(root, "renovate.json")])).toMatchObject({ code: 0 });
  },
);

test.skipIf(python === undefined)("zizmor has no finding in the workflows", () => {
  const { code, out } = run([`${python}/zizmor`, "--offline", "--no-progress", folder]);
  expect([code, out]).toEqual([0, expect.stringContaining("No findings to report.")]);
});

test.skipIf(actionlint === undefined)("actionlint has no finding in the workflows", () => {
  expect(run([actionlint ?? "", ...workflows])).toEqual({ code: 0, out: "", err: "" });
});
