// The krew manifest and the Homebrew formula of kubectl-fairlead.

import { describe, expect, test } from "bun:test";
import { parse } from "yaml";
import { pluginTargets, targets } from "../../scripts/build/targets.ts";
import { homebrewFormula } from "../../scripts/release/homebrew.ts";
import { krewManifest } from "../../scripts/release/krew.ts";
import { readOptions } from "../../scripts/release/options.ts";
import { githubDownloads, pluginTargetsOf } from "../../scripts/release/plugin.ts";

const downloads = pluginTargets.map((target, index) => ({
  target,
  url: `https://example.com/v1.2.3/kubectl-fairlead-${target}.tar.gz`,
  sha256: String(index).repeat(64),
}));
const release = { version: "1.2.3", downloads };

test("the krew manifest has an archive for each platform of kubectl, under the names of Go", () => {
  const { metadata, spec } = parse(krewManifest(release)) as {
    readonly metadata: object;
    readonly spec: {
      readonly version: string;
      readonly shortDescription: string;
      readonly platforms: object[];
    };
  };
  expect([metadata, spec.version]).toEqual([{ name: "fairlead" }, "v1.2.3"]);
  // The length that krew's index shows.
  expect(spec.shortDescription.length).toBeLessThanOrEqual(50);
  const platform = (os: string, arch: string, target: string, index: number, bin = "kubectl-fairlead") => ({
    selector: { matchLabels: { os, arch } },
    uri: `https://example.com/v1.2.3/kubectl-fairlead-${target}.tar.gz`,
    sha256: String(index).repeat(64),
    bin,
  });
  expect(spec.platforms).toEqual([
    platform("linux", "amd64", "linux-x64", 0),
    platform("linux", "arm64", "linux-arm64", 1),
    platform("darwin", "amd64", "darwin-x64", 2),
    platform("darwin", "arm64", "darwin-arm64", 3),
    platform("windows", "amd64", "windows-x64", 4, "kubectl-fairlead.exe"),
  ]);
});

describe("the Homebrew formula", () => {
  test("the Homebrew formula has an archive for each processor of macOS and Linux, and links the completion", () => {
    const formula = homebrewFormula(release);
    const block = (name: string, target: string, index: number) =>
      `    ${name} do\n      url "https://example.com/v1.2.3/kubectl-fairlead-${target}.tar.gz"\n      sha256 "${String(index).repeat(64)}"\n    end\n`;
    expect(formula).toContain(
      `  on_macos do\n${block("on_arm", "darwin-arm64", 3)}${block("on_intel", "darwin-x64", 2)}  end\n`,
    );
    expect(formula).toContain(
      `  on_linux do\n${block("on_arm", "linux-arm64", 1)}${block("on_intel", "linux-x64", 0)}  end\n`,
    );
    expect(formula).toContain('"kubectl-fairlead" => "kubectl_complete-fairlead"');
    expect(formula).not.toContain("windows");
  });

  test("the Homebrew formula lists no system without an archive", () => {
    const [linux] = downloads.filter(({ target }) => target === "linux-x64");
    expect(homebrewFormula({ version: "1.2.3", downloads: linux === undefined ? [] : [linux] })).not.toMatch(
      /on_macos|on_arm/,
    );
  });
});

test("the plugin is built for every platform of kubectl, or for chosen platforms", () => {
  expect(pluginTargetsOf(targets)).toEqual(pluginTargets);
  expect(pluginTargetsOf(["linux-x64", "linux-x64-musl"])).toEqual(["linux-x64"]);
});

test("downloads come from the release of the GitHub repository, or from --downloads", () => {
  const environment = { GITHUB_SERVER_URL: "https://github.example", GITHUB_REPOSITORY: "o/r" };
  expect(githubDownloads(environment, "1.2.3")).toBe("https://github.example/o/r/releases/download/v1.2.3");
  expect(githubDownloads({}, "1.2.3")).toBeUndefined();
  expect(readOptions(["--downloads=https://mirror.example/v1/"]).downloads).toBe("https://mirror.example/v1");
});
