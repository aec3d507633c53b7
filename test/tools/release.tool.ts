// A release after its download: verified with OpenSSL, unpacked with tar, and built twice.

import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pythonPackages } from "../clients/rig/prepare.ts";
import { tools as deployTools } from "./rig/deploy-tools.ts";
import { needTool, orSkipped } from "./rig/install.ts";
import { builtRelease, hasImages, releaseOptions, runRelease } from "./rig/release.ts";

const tools = orSkipped("release", () => ["openssl", "sha256sum", "tar"].map(needTool));

const python = orSkipped("SBOM schema", () =>
  join(pythonPackages("the tools", join(import.meta.dir, "python")), "bin/python"),
);
const validate = join(import.meta.dir, "python/validate_sbom.py");

const { version } = JSON.parse(readFileSync(`${import.meta.dir}/../../package.json`, "utf8")) as {
  readonly version: string;
};

const verify = "openssl dgst -sha256 -verify release-key.pub -signature SHA256SUMS.sig SHA256SUMS";

/** Runs a command of docs/install.md. */
function shell(command: string, cwd: string): { readonly code: number; readonly output: string } {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["sh", "-c", command], { cwd, stdin: "ignore" });
  return { code: exitCode, output: `${stdout}${stderr}` };
}

/** The checksum of the image for amd64 and all its contents. */
function imageDigest(release: string): string | undefined {
  const archive = join(release, "fake-cloud-controller-manager-image.oci.tar");
  const { manifests } = JSON.parse(shell(`tar -xOf ${archive} index.json`, release).output) as {
    readonly manifests: readonly {
      readonly digest: string;
      readonly annotations: Readonly<Record<string, string>>;
    }[];
  };
  return manifests.find(({ annotations }) =>
    annotations["org.opencontainers.image.ref.name"]?.endsWith("-amd64"),
  )?.digest;
}

function inFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-download-"));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe.skipIf(tools === undefined)("a release", () => {
  test("a release is verified with OpenSSL and sha256sum, which find any change [F97]", () => {
    const { folder, publicKey, output } = builtRelease();
    expect(output).toContain("Signed. To verify: openssl");
    inFolder((download) => {
      for (const name of readdirSync(folder)) {
        if (/^SHA256SUMS|\.json$|\.md$/.test(name)) cpSync(join(folder, name), join(download, name));
      }
      cpSync(publicKey, join(download, "release-key.pub"));
      expect(shell(verify, download)).toEqual({ code: 0, output: "Verified OK\n" });
      const check = shell("sha256sum --check --ignore-missing SHA256SUMS", download);
      expect(check).toMatchObject({ code: 0, output: expect.stringContaining("provenance.intoto.json: OK") });
      writeFileSync(join(download, "provenance.intoto.json"), "{}");
      expect(shell("sha256sum --check --ignore-missing SHA256SUMS", download).code).toBe(1);
      writeFileSync(join(download, "SHA256SUMS"), "");
      expect(shell(verify, download).output).toContain("Verification failure");
    });
  });

  test("a release has an executable, an archive and an SBOM per target, provenance and notes [F92 F97]", () => {
    const { folder } = builtRelease();
    const name = "fake-cloud-controller-manager-linux-x64";
    const files = readdirSync(folder);
    for (const file of [
      name,
      `${name}.tar.gz`,
      `${name}.cdx.json`,
      "provenance.intoto.json",
      "RELEASE_NOTES.md",
    ]) {
      expect(files).toContain(file);
    }
    const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8");
    const listed = sums
      .trimEnd()
      .split("\n")
      .map((line) => line.slice(66));
    expect(listed).toEqual(files.filter((file) => !file.startsWith("SHA256SUMS")).toSorted());
    const { subject } = JSON.parse(readFileSync(join(folder, "provenance.intoto.json"), "utf8")) as {
      readonly subject: readonly { readonly name: string; readonly digest: { readonly sha256: string } }[];
    };
    for (const { name, digest } of subject) expect(sums).toContain(`${digest.sha256}  ${name}\n`);
    expect(subject.map((each) => each.name)).toEqual(
      listed.filter((file) => file !== "provenance.intoto.json"),
    );
  });

  test.skipIf(python === undefined)("a release has SBOMs that match the schema of CycloneDX [F97]", () => {
    const { folder } = builtRelease();
    const lists = readdirSync(folder).filter((name) => name.endsWith(".cdx.json"));
    expect(lists.length).toBeGreaterThan(1);
    expect(shell(`${python} ${validate} ${lists.join(" ")}`, folder)).toEqual({ code: 0, output: "" });
  });

  test("a release has an archive that tar unpacks into an executable [F92]", () => {
    const { folder } = builtRelease();
    inFolder((download) => {
      const archive = join(folder, "fake-cloud-controller-manager-linux-x64.tar.gz");
      expect(shell(`tar -xzf ${archive}`, download)).toEqual({ code: 0, output: "" });
      expect(readdirSync(download).toSorted()).toEqual(["LICENSE", "fake-cloud-controller-manager"]);
      expect(shell("./fake-cloud-controller-manager --version", download).output).toStartWith(
        "fake-cloud-controller-manager v",
      );
    });
  });

  test.skipIf(deployTools === undefined)("a release has a chart that helm accepts [F95]", () => {
    const archive = join(builtRelease().folder, `fairlead-${version}.tgz`);
    const helm = deployTools?.helm ?? "";
    const values = "--set cloud=hetzner --set image.repository=registry.example.com/hetzner";
    const { code, output } = shell(`${helm} template fairlead ${archive} ${values}`, tmpdir());
    expect([code, output.includes(`registry.example.com/hetzner:${version}`)]).toEqual([0, true]);
  });

  test("a release is the same when it is built again, and reports a missing key [F92]", () => {
    const { folder } = builtRelease();
    inFolder((parent) => {
      const again = join(parent, "release");
      const output = runRelease(...releaseOptions, "--target=linux-x64", "--outdir", again);
      expect(output).toContain("UNSIGNED");
      expect(existsSync(join(again, "SHA256SUMS.sig"))).toBe(false);
      const sums = (path: string): readonly string[] =>
        readFileSync(join(path, "SHA256SUMS"), "utf8")
          .split("\n")
          .filter((line) => /linux-x64|amd64|x86_64/.test(line));
      expect(sums(again).length).toBeGreaterThan(2);
      expect(sums(again)).toEqual(sums(folder));
      if (!hasImages) return;
      expect(imageDigest(again)).toStartWith("sha256:");
      expect(imageDigest(again)).toBe(imageDigest(folder));
    });
  }, 180_000);
});
