// The content and the formats of packages, as far as no external tool is needed; test/tools reads them with dpkg and rpm.

import { describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { type PackageContent, packageVersion } from "../../scripts/release/packages/content.ts";
import { cpio } from "../../scripts/release/packages/cpio.ts";
import { debianPackage } from "../../scripts/release/packages/deb.ts";
import { environmentFile } from "../../scripts/release/packages/environment-file.ts";
import { rpmPackage } from "../../scripts/release/packages/rpm.ts";
import { rpmHeader } from "../../scripts/release/packages/rpm-header.ts";
import { debianScripts, rpmScripts } from "../../scripts/release/packages/scripts.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const content: PackageContent = {
  name: "x-cloud-controller-manager",
  version: "1.0.0~rc.1",
  summary: "A manager",
  description: ["One line."],
  files: [
    { path: "etc/fairlead/environment", mode: 0o600, content: bytes("A=1\n"), isConfig: true },
    { path: "usr/bin/x-cloud-controller-manager", mode: 0o755, content: bytes("\x7fELF") },
  ],
  folders: [{ path: "etc/fairlead/", mode: 0o700 }],
  time: 1_700_000_000,
};

describe("a Debian package", () => {
  const file = Buffer.from(debianPackage(content, "arm64"));
  const member = (name: string): string => {
    const at = file.indexOf(name.padEnd(16));
    const size = Number(file.subarray(at + 48, at + 58).toString());
    return gunzipSync(file.subarray(at + 60, at + 60 + size)).toString("latin1");
  };

  test("a Debian package is the same for the same content, and names its processor [F93 F96]", () => {
    expect(file.equals(Buffer.from(debianPackage(content, "arm64")))).toBe(true);
    expect(member("control.tar.gz")).toContain("Version: 1.0.0~rc.1\nArchitecture: arm64\n");
    expect(member("data.tar.gz")).toContain("./usr/bin/x-cloud-controller-manager");
  });

  test("a Debian package creates the folder of the configuration, which only root can read [F96]", () => {
    const data = member("data.tar.gz");
    const at = data.indexOf("./etc/fairlead/\0");
    expect(at).toBeGreaterThan(data.indexOf("./etc/\0"));
    expect(data.slice(at + 100, at + 107)).toBe("0000700");
  });

  test("a Debian package has a template instead of a conffile, so that no upgrade asks a question [F96]", () => {
    expect(member("control.tar.gz")).not.toContain("conffiles");
    expect(member("data.tar.gz")).not.toContain("./etc/fairlead/environment");
    expect(member("data.tar.gz")).toContain("./usr/share/x-cloud-controller-manager/environment");
    expect(member("control.tar.gz")).toContain(
      "install -m 0600 /usr/share/x-cloud-controller-manager/environment /etc/fairlead/environment",
    );
  });
});

describe("an RPM package", () => {
  test("an RPM package is the same for the same content [F92]", () => {
    expect(Buffer.from(rpmPackage(content, "aarch64")).equals(rpmPackage(content, "aarch64"))).toBe(true);
  });

  test("an RPM package has a header whose region ends with an entry that points to its beginning", () => {
    const header = rpmHeader(63, new Map([[1009, { type: "int32", values: [7] }]]));
    expect([header.readUInt32BE(8), header.readUInt32BE(12)]).toEqual([2, 20]);
    // The index entry of the region, of the tag, the number, and the end of the region.
    expect([header.readInt32BE(16), header.readInt32BE(32), header.readInt32BE(48)]).toEqual([63, 1009, 7]);
    expect(header.readInt32BE(header.length - 8)).toBe(-32);
  });

  test("an RPM package has an archive whose parts begin at multiples of four", () => {
    const archive = Buffer.from(cpio([{ path: "a/b", mode: 0o100644, content: bytes("12345") }], 0));
    expect(archive.length % 4).toBe(0);
    expect(archive.indexOf("070701", 1) % 4).toBe(0);
    expect(archive.toString("latin1")).toContain("TRAILER!!!");
  });
});

test("a pre-release has a version that sorts before the release", () => {
  expect(["1.0.0", "1.0.0-rc.1", "1.0.0-rc-1"].map(packageVersion)).toEqual([
    "1.0.0",
    "1.0.0~rc.1",
    "1.0.0~rc.1",
  ]);
});

test("the configuration file of a package contains only comments, and names every setting with a variable", () => {
  const text = environmentFile({
    program: "x-cloud-controller-manager",
    variables: [{ variable: "X_TOKEN", text: "Token of the cloud", isSecret: true }],
  });
  expect(text).toContain("# Token of the cloud\n#X_TOKEN=\n");
  expect(text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))).toEqual([]);
});

test("the scripts of packages do nothing without systemd, and remove configuration only on a purge", () => {
  const debian = debianScripts("x-cloud-controller-manager");
  const scripts = [...Object.values(debian), ...Object.values(rpmScripts)];
  for (const script of scripts) {
    for (const line of script.split("\n").filter((each) => each.includes("systemctl"))) {
      expect(line).toMatch(/^ {2}systemctl .+ \|\| true$/);
    }
    expect(Bun.spawnSync(["sh", "-n", "-c", script]).exitCode).toBe(0);
  }
  const removing = scripts.filter((script) => script.includes("rm -rf /etc/fairlead\n"));
  expect(removing).toEqual([debian.postrm]);
  expect(debian.postrm).toContain('if [ "$1" = purge ]; then\n  rm -rf /etc/fairlead\n');
});
