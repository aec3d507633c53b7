// The pure parts of a release: options, changelog, archives, keys, provenance, and the workflow that runs it.

import { afterAll, describe, expect, test } from "bun:test";
import { createPublicKey, createVerify } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { targets } from "../../scripts/build/targets.ts";
import { releasedSection, sectionOf } from "../../scripts/release/changelog.ts";
import { ReleaseFolder } from "../../scripts/release/folder.ts";
import { addressesOf, download } from "../../scripts/release/image/debian.ts";
import { imageSbom } from "../../scripts/release/image/image-sbom.ts";
import { ociLayout } from "../../scripts/release/image/layout.ts";
import { architectures, packageNames, purlOf, readLock } from "../../scripts/release/image/lock.ts";
import { releaseNotes } from "../../scripts/release/notes.ts";
import { readOptions } from "../../scripts/release/options.ts";
import { provenance } from "../../scripts/release/provenance.ts";
import { makeKey, readKey, requirePublicKey, signed } from "../../scripts/release/signature.ts";
import { foldersOf, gzip, tar } from "../../scripts/release/tar.ts";

const root = resolve(import.meta.dir, "../..");
const folder = mkdtempSync(join(tmpdir(), "fairlead-release-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("options", () => {
  test("release options select every provider except the simulated cloud, and every target [F92 F93 F94]", () => {
    const { clouds, targets: chosen } = readOptions([]);
    const providers = readdirSync(join(root, "providers")).filter((name) => name !== "fake");
    expect([clouds, chosen]).toEqual([[...providers.toSorted(), "kubectl-fairlead"], targets]);
  });

  test("release options narrow the clouds and targets, and can select the simulated cloud", () => {
    const { clouds, targets: chosen } = readOptions(["--cloud", "fake", "--target=linux-x64,linux-arm64"]);
    expect([clouds, chosen]).toEqual([["fake"], ["linux-x64", "linux-arm64"]]);
  });

  test.each([
    [["--clouds"], "Unknown option --clouds. Did you mean --cloud?"],
    [["--cloud"], "--cloud requires a value."],
    [["--cloud", "hetzer"], 'Unknown cloud "hetzer". Did you mean hetzner?'],
    [["--target", "windows-x64"], 'Unknown target "windows-x64".'],
  ])("the release rejects the arguments %p", (words, message) => {
    expect(() => readOptions(words)).toThrow(message);
  });
});

describe("the changelog", () => {
  const changelog =
    "# Changelog\n\n## [1.1.0] - Unreleased\n\nNew.\n\n## [1.0.0] - 2026-01-31\n\nOld.\n\n[1.0.0]: x\n";

  test("the changelog has a section per version, with its date", () => {
    expect(sectionOf(changelog, "1.1.0")).toEqual({ date: undefined, text: "New." });
    expect(sectionOf(changelog, "1.0.0")).toEqual({ date: "2026-01-31", text: "Old." });
    expect(sectionOf(changelog, "1.0")).toBeUndefined();
  });

  test("a release needs a section in the changelog, and a tag needs a section with its date and version", () => {
    expect(releasedSection(changelog, "1.1.0", undefined).text).toBe("New.");
    expect(releasedSection(changelog, "1.0.0", "v1.0.0").text).toBe("Old.");
    expect(() => releasedSection(changelog, "2.0.0", undefined)).toThrow('no section "## [2.0.0]"');
    expect(() => releasedSection(changelog, "1.1.0", "v1.1.0")).toThrow("has no date");
    expect(() => releasedSection(changelog, "1.0.0", "v1.0.1")).toThrow("the tag must be v1.0.0");
  });

  test("the changelog has a section for the version in package.json", () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    const text = readFileSync(join(root, "CHANGELOG.md"), "utf8");
    expect(releasedSection(text, version, undefined).text).not.toBe("");
  });
});

describe("the release folder", () => {
  test("the release folder has checksums of every file, and is emptied by the next release [F97]", () => {
    const path = join(folder, "out");
    const first = new ReleaseFolder(path);
    first.write("old", "x");
    expect(new TextDecoder().decode(first.finish())).toBe(
      "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  old\n",
    );
    const second = new ReleaseFolder(path);
    second.write("new", "y");
    second.finish();
    expect(readdirSync(path).toSorted()).toEqual(["SHA256SUMS", "new"]);
  });

  test("the release folder is never a folder with other files", () => {
    const path = mkdtempSync(join(folder, "mine-"));
    writeFileSync(join(path, "thesis.txt"), "x");
    expect(() => new ReleaseFolder(path)).toThrow("Nothing is deleted");
    expect(readdirSync(path)).toEqual(["thesis.txt"]);
  });
});

describe("keys", () => {
  const path = join(folder, "key");
  const shared = makeKey(path);
  const content = new TextEncoder().encode("sums");

  test("release keys sign only files that the public key verifies [F97]", () => {
    const key = readKey(readFileSync(path, "utf8"), path, join(folder, "none.pub"));
    const signature = signed(content, key);
    const verifies = (text: string): boolean =>
      createVerify("sha256")
        .update(text)
        .verify(createPublicKey(readFileSync(shared)), signature);
    expect([verifies("sums"), verifies("other")]).toEqual([true, false]);
  });

  test("release keys are readable only for their owner, and never overwritten", () => {
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(() => makeKey(path)).toThrow("A key is never overwritten");
  });

  test("rejects a tag while the repository has no public key for users", () => {
    const missing = join(folder, "none.pub");
    expect(() => requirePublicKey("v1.0.0", missing)).toThrow("commit the public key under that name");
    expect(() => requirePublicKey(undefined, missing)).not.toThrow();
    expect(() => requirePublicKey("v1.0.0", shared)).not.toThrow();
  });

  test("rejects the release keys when another public key is published", () => {
    const other = makeKey(join(folder, "other"));
    expect(() => readKey(readFileSync(path, "utf8"), path, other)).toThrow("does not belong to");
    expect(() => readKey("x", "FAIRLEAD_RELEASE_KEY", other)).toThrow(
      "FAIRLEAD_RELEASE_KEY is not a private key",
    );
  });
});

test("the release notes name the included versions, and state when a release is not signed", () => {
  const { packages } = readLock();
  const input = { version: "1.0.0", changes: "All.", bunVersion: "9.9.9", packages };
  const { version: libc } = packages.find(({ name }) => name === "libc6") ?? {};
  expect(releaseNotes({ ...input, isSigned: true })).toContain(
    `The executables contain Bun 9.9.9. The images contain libc6 ${libc}, libgcc-s1 `,
  );
  expect(releaseNotes({ ...input, packages: [], isSigned: true })).toContain("Bun 9.9.9.\n");
  expect(releaseNotes({ ...input, isSigned: false })).toContain("This release is not signed.");
  expect(releaseNotes({ ...input, isSigned: true })).toContain(
    "openssl dgst -sha256 -verify release-key.pub",
  );
});

describe("archives", () => {
  const content = new TextEncoder().encode("x".repeat(600));
  const entries = [...foldersOf(["usr/bin/x"]), { path: "usr/bin/x", mode: 0o755, content }];

  test("archives have the same bytes for the same entries, and their folders first [F92]", () => {
    expect(entries.map(({ path }) => path)).toEqual(["usr/", "usr/bin/", "usr/bin/x"]);
    expect(gzip(tar(entries, 5))).toEqual(gzip(tar(entries, 5)));
    expect(tar(entries, 5)).not.toEqual(tar(entries, 6));
    expect(tar(entries, 5).length % 512).toBe(0);
  });

  test("archives reject a path that is too long", () => {
    expect(() => tar([{ path: "x".repeat(101), mode: 0o644 }], 0)).toThrow("too long");
  });
});

describe("an OCI layout", () => {
  const text = (value: string): Uint8Array => new TextEncoder().encode(value);
  const layer = { compressed: text("zipped"), uncompressed: text("plain"), createdBy: "libc6 1" };
  const images = architectures.map((architecture) => ({ architecture, layers: [layer] }));
  const entries = ociLayout(images, {
    tag: "1.0.0",
    created: "2026-01-31T00:00:00Z",
    entrypoint: ["/usr/local/bin/x"],
    environment: [],
    labels: {},
  });
  const contents = new Map(entries.map(({ path, content }) => [path, new TextDecoder().decode(content)]));

  test("an OCI layout has every blob once, under its checksum [F93]", () => {
    const blobs = [...contents].filter(([path]) => /^blobs\/sha256\/./.test(path));
    // One shared layer, two configurations, two manifests and their index.
    expect(blobs).toHaveLength(6);
    for (const [path, content] of blobs) {
      expect(path).toBe(`blobs/sha256/${new Bun.CryptoHasher("sha256").update(content).digest("hex")}`);
    }
  });

  test("an OCI layout has a tag for the index, and a tag for each processor", () => {
    const { manifests } = JSON.parse(contents.get("index.json") ?? "") as {
      readonly manifests: readonly { readonly annotations: Readonly<Record<string, string>> }[];
    };
    expect(manifests.map(({ annotations }) => annotations["org.opencontainers.image.ref.name"])).toEqual([
      "1.0.0",
      "1.0.0-amd64",
      "1.0.0-arm64",
    ]);
  });
});

test("the SBOM of an image lists its executables and its Debian packages [F97]", () => {
  const name = "x-cloud-controller-manager";
  const { packages } = readLock();
  const content = new TextEncoder().encode("x");
  const input = {
    name,
    version: "1.0.0",
    time: 0,
    packages,
    executables: [{ name: `${name}-linux-x64`, architecture: "amd64" as const, content }],
  };
  const { components, dependencies, serialNumber, metadata } = imageSbom(input);
  expect(metadata.timestamp).toBe("1970-01-01T00:00:00.000Z");
  expect(components.map((each) => each["bom-ref"])).toEqual([`${name}-linux-x64`, ...packages.map(purlOf)]);
  expect(dependencies[0]?.dependsOn).toHaveLength(new Set(components.map((each) => each["bom-ref"])).size);
  const amd64 = packages.filter(({ architecture }) => architecture === "amd64");
  expect(dependencies[1]).toEqual({ ref: `${name}-linux-x64`, dependsOn: amd64.map(purlOf) });
  expect(imageSbom(input).serialNumber).toBe(serialNumber);
});

test("the lock of the image has every package for each processor, with a checksum", () => {
  const { packages: locked } = readLock();
  expect(locked.map(({ name, architecture }) => `${name} ${architecture}`)).toEqual(
    architectures.flatMap((architecture) => packageNames.map((name) => `${name} ${architecture}`)),
  );
  for (const { sha256 } of locked) expect(sha256).toMatch(/^[0-9a-f]{64}$/);
});

describe("the packages of the image", () => {
  const sha256 = new Bun.CryptoHasher("sha256").update("package").digest("hex");
  const locked = { name: "libc6", version: "2.41", sha256 };

  /** Serves one file, and returns the addresses of a missing file, of this file and of a changed one. */
  async function withMirror(
    work: (addresses: Record<"gone" | "there" | "changed", string>) => Promise<void>,
  ) {
    const contents: Readonly<Record<string, string>> = { "/there": "package", "/changed": "other" };
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) => {
        const content = contents[new URL(url).pathname];
        return content === undefined ? new Response("", { status: 404 }) : new Response(content);
      },
    });
    try {
      const at = (path: string): string => new URL(path, server.url).href;
      await work({ gone: at("/gone"), there: at("/there"), changed: at("/changed") });
    } finally {
      await server.stop(true);
    }
  }

  test("the packages of the image come from a mirror, and later from the snapshot of the lock [F93]", async () => {
    expect(addressesOf({ path: "debian-security/pool/a/b.deb" }, "20260131T235959Z")).toEqual([
      "https://deb.debian.org/debian-security/pool/a/b.deb",
      "https://snapshot.debian.org/archive/debian-security/20260131T235959Z/pool/a/b.deb",
    ]);
    await withMirror(async ({ gone, there }) => {
      expect(new TextDecoder().decode(await download(locked, [gone, there]))).toBe("package");
    });
  });

  test("packages of the image with another checksum are rejected, and each failed address is named", async () => {
    await withMirror(async ({ gone, changed }) => {
      await expect(download(locked, [changed])).rejects.toThrow("It is not used.");
      await expect(download(locked, [gone])).rejects.toThrow(
        `libc6 2.41 could not be downloaded:\n  ${gone}: 404`,
      );
    });
  });
});

test("the provenance names every file, the commit, the runtimes and the workflow [F97]", () => {
  const input = {
    subjects: [{ name: "x", sha256: "ab" }],
    version: "1.0.0",
    commit: "c0ffee",
    clouds: ["hetzner"],
    targets: ["linux-x64"],
    runtimes: [{ name: "@oven/bun-linux-x64", version: "1.4.5", integrity: "sha512-/w==" }],
    packages: [
      { name: "libc6", version: "2.41-12+deb13u5", architecture: "arm64" as const, path: "", sha256: "ef" },
    ],
    lockSha256: "cd",
  };
  const environment = {
    GITHUB_SERVER_URL: "https://forge.example",
    GITHUB_REPOSITORY: "a/b",
    GITHUB_REF: "refs/tags/v1.0.0",
    GITHUB_WORKFLOW_REF: "a/b/.github/workflows/release.yml@refs/tags/v1.0.0",
    GITHUB_RUN_ID: "7",
  };
  const built = provenance({ ...input, environment });
  expect(built.subject).toEqual([{ name: "x", digest: { sha256: "ab" } }]);
  expect(built.predicate.buildDefinition.resolvedDependencies).toEqual([
    { uri: "git+https://forge.example/a/b@refs/tags/v1.0.0", digest: { gitCommit: "c0ffee" } },
    { name: "package-lock.json", digest: { sha256: "cd" } },
    { uri: "pkg:npm/%40oven/bun-linux-x64@1.4.5", digest: { sha512: "ff" } },
    { uri: "pkg:deb/debian/libc6@2.41-12%2Bdeb13u5?arch=arm64&distro=debian-13", digest: { sha256: "ef" } },
  ]);
  expect(built.predicate.runDetails).toEqual({
    builder: { id: "https://forge.example/a/b/.github/workflows/release.yml@refs/tags/v1.0.0" },
    metadata: { invocationId: "https://forge.example/a/b/actions/runs/7" },
  });
  expect(provenance({ ...input, environment: {} }).predicate.runDetails).toEqual({
    builder: { id: "urn:fairlead:local-build" },
  });
});
