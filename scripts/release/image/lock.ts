// The Debian packages of an image: exact versions and checksums, in deploy/image/packages.json.

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const path = resolve(import.meta.dir, "../../../deploy/image/packages.json");

/** The processors that images are built for, as OCI and Debian call them. */
export const architectures = ["amd64", "arm64"] as const;
export type Architecture = (typeof architectures)[number];

/** libgcc-s1 is loaded by the C library when a thread ends. Time zones and certificate parsing are in the executable. */
export const packageNames = ["libc6", "libgcc-s1", "ca-certificates"] as const;

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: Architecture;
  readonly sha256: string;
}

/** The name of the package for scanners. */
export function purlOf({ name, version, architecture }: LockedPackage): string {
  return `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-12`;
}

export function readLock(): readonly LockedPackage[] {
  return JSON.parse(readFileSync(path, "utf8")) as readonly LockedPackage[];
}

export function writeLock(packages: readonly LockedPackage[]): string {
  writeFileSync(path, `${JSON.stringify(packages, undefined, 2)}\n`);
  return path;
}
