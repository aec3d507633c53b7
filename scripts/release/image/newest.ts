// The newest Debian packages for the lock, from apt, which verifies the signatures of Debian. apt gets separate
// folders, so it works for any processor and changes nothing on this machine.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./debian.ts";
import {
  type Architecture,
  architectures,
  debian,
  type ImageLock,
  type LockedPackage,
  packageNames,
} from "./lock.ts";

/** The keyring of the package debian-archive-keyring. */
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
const mirror = "http://deb.debian.org";

const sources = [
  `${mirror}/debian ${debian.suite}`,
  `${mirror}/debian ${debian.suite}-updates`,
  `${mirror}/debian-security ${debian.suite}-security`,
].map((source) => `deb [signed-by=${keyring}] ${source} main\n`);

function newestFor(architecture: Architecture): readonly LockedPackage[] {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-apt-"));
  try {
    for (const path of ["lists/partial", "cache/archives/partial"]) {
      mkdirSync(join(folder, path), { recursive: true });
    }
    writeFileSync(join(folder, "status"), "");
    writeFileSync(join(folder, "sources.list"), sources.join(""));
    const apt = [
      ...["apt-get", `-oDir::State=${folder}`, `-oDir::State::status=${folder}/status`],
      ...[`-oDir::Cache=${folder}/cache`, `-oDir::Etc::sourcelist=${folder}/sources.list`],
      ...["-oDir::Etc::sourceparts=/nonexistent", "-oAPT::Sandbox::User=root"],
      ...[`-oAPT::Architecture=${architecture}`, `-oAPT::Architectures=${architecture}`, "-q"],
    ] as const satisfies readonly string[];
    run([...apt, "update"], folder);
    return packageNames.map((name) => {
      const { version, path, sha256 } = readLine(run([...apt, "download", "--print-uris", name], folder));
      return { name, version, architecture, path, sha256 };
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads a line such as `'http://…/libc6_2.41-12_amd64.deb' libc6_2.41-12_amd64.deb 2847132 SHA256:…`. */
function readLine(printed: string): Pick<LockedPackage, "version" | "path" | "sha256"> {
  const [, path = "", file = "", sha256 = ""] =
    /^'https?:\/\/[^/]+\/([^']+)' (\S+) \d+ SHA256:([0-9a-f]{64})/m.exec(printed) ?? [];
  const [, version = ""] = file.split("_");
  return { version: decodeURIComponent(version), path: decodeURIComponent(path), sha256 };
}

/** The snapshot is at the end of the day, because the archive of snapshots copies the mirrors some hours later. */
export function newestLock(now: Date): ImageLock {
  const day = now.toISOString().slice(0, 10).replaceAll("-", "");
  return { snapshot: `${day}T235959Z`, packages: architectures.flatMap(newestFor) };
}
