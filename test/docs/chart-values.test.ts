import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { hetzner } from "../../providers/hetzner/index.ts";
import { rancher } from "../../providers/rancher/index.ts";
import { vsphere } from "../../providers/vsphere/index.ts";
import { rowsOf } from "../../scripts/deploy/chart/value-tree.ts";
import { chartValues } from "../../scripts/deploy/chart/values.ts";
import { flagFields } from "../../src/app/flags/flag-table.ts";
import type { Fields } from "../../src/core/settings.ts";

// Values of the Helm chart on the pages about clouds, in the column that translates a Go manager's chart or manifests.

const paths = rowsOf(chartValues).map(({ path }) => path);
/** The first parts of values; other words in code are not values. */
const root = new Set(paths.map((path) => path.split(".")[0] ?? ""));

/** Free-form values, and whether a key below them exists. */
const below = (path: string, config: Fields): boolean => {
  const variables = Object.values(config).flatMap(({ env }) => env ?? []);
  const [, flag] = /^configuration\.flags\.([a-z-]+)$/.exec(path) ?? [];
  const [, setting] = /^configuration\.cloud\.([a-z-]+)$/.exec(path) ?? [];
  const [, variable] = /^secret\.keys\.([A-Z_]+)$/.exec(path) ?? [];
  if (flag !== undefined) return Object.hasOwn(flagFields, flag);
  if (setting !== undefined) return Object.hasOwn(config, setting);
  return variable !== undefined && variables.includes(variable);
};

const exists = (path: string, config: Fields): boolean =>
  paths.some((known) => known === path || known.startsWith(`${path}.`)) || below(path, config);

const namedIn = (page: string, heading: string, column: number): readonly string[] => {
  const text = readFileSync(resolve(import.meta.dir, "../../docs/clouds", page), "utf8");
  const section = text.slice(text.indexOf(heading));
  const table = section.slice(section.indexOf("\n|"), section.indexOf("\n\n", section.indexOf("\n|---")));
  const cells = table.split("\n").flatMap((line) => line.split("|")[column + 1] ?? []);
  return cells.flatMap((cell) =>
    [...cell.matchAll(/`([a-zA-Z][\w.-]*)/g)]
      .map(([, word = ""]) => word.replace(/\.$/, ""))
      .filter((word) => root.has(word.split(".")[0] ?? "")),
  );
};

test.each([
  ["hetzner.md", "| Go manager's chart |", 1, hetzner.config, 15],
  ["rancher.md", "| Go manager | Value of the chart |", 1, rancher.config, 4],
  ["vsphere.md", "| Go manager | Value of the chart |", 1, vsphere.config, 6],
] as const)("%s translates to values of the chart that exist", (page, heading, column, config, atLeast) => {
  const named = namedIn(page, `\n${heading}`, column);
  expect(named.length).toBeGreaterThanOrEqual(atLeast);
  expect(named.filter((path) => !exists(path, config))).toEqual([]);
});

test("the check of chart values finds a value that does not exist", () => {
  expect(exists("metrics.podMonitor", hetzner.config)).toBe(false);
  expect(exists("configuration.cloud.netwrk", hetzner.config)).toBe(false);
  expect(exists("configuration.flags.clustr-name", hetzner.config)).toBe(false);
  expect(exists("secret.keys.HCLOUD_TOKN", hetzner.config)).toBe(false);
});
