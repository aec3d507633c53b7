// The tested minor versions of Kubernetes are the same in .ci/run, the nightly workflow, docs/support.md and `doctor`.

import { expect, test } from "bun:test";
import { recordedVersions, withRecord } from "../../scripts/docs/tested-versions.ts";

const tested = recordedVersions();
const read = (path: string): Promise<string> => Bun.file(`${import.meta.dir}/../../${path}`).text();
const minorsIn = (text: string): readonly string[] =>
  [...new Set(text.match(/\b1\.3\d\b/g) ?? [])].toSorted();

test("every tested minor version has a record of all cluster tests", async () => {
  const recorded = tested.flatMap(({ server, suite }) => (suite === "whole" ? [server] : []));
  const minors = minorsIn(recorded.map((version) => version.replace(/\.\d+$/, "")).join(" "));
  expect(minors).toEqual(["1.35", "1.36", "1.37"]);
  expect(minorsIn(await read(".ci/run"))).toEqual(minors);
  expect(minorsIn(await read(".github/workflows/nightly.yml"))).toEqual(minors);
});

test("the newest version is tested without streaming lists, too", () => {
  const flags = tested.flatMap((record) => (record.server.startsWith("1.37.") ? [record.flags] : []));
  expect(flags).toContain("--feature-gates=WatchList=false");
});

test("a record replaces a record of the same minor version and flags, but a smoke run does not replace a full run", () => {
  const whole = {
    server: "1.37.2",
    flags: "",
    suite: "whole",
    passed: 9,
    skipped: 0,
    date: "2026-11-30",
  } as const;
  const newer = { ...whole, server: "1.37.3" };
  const variant = { ...whole, flags: "--feature-gates=WatchList=false" };
  expect(withRecord([whole, variant], newer)).toEqual([newer, variant]);
  expect(withRecord([whole], { ...newer, suite: "smoke" })).toEqual([whole]);
});
