// The Debian packages of an image: exact versions and checksums, and where they remain available, in deploy/image/packages.json.

import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";

const path = resolve(import.meta.dir, "../../../deploy/image/packages.json");

/** The release of Debian that the packages are from. */
export const debian = { version: "13", suite: "trixie" } as const;

/** The processors that images are built for, by the names of OCI and Debian. */
export const architectures = ["amd64", "arm64"] as const;
export type Architecture = (typeof architectures)[number];

/** libgcc-s1 is loaded by the C library when a thread ends. Time zones and certificate parsing are in the executable. */
export const packageNames = ["libc6", "libgcc-s1", "ca-certificates"] as const;

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: Architecture;
  /** The path on a mirror of Debian, beginning with the archive: `debian/pool/…` or `debian-security/pool/…`. */
  readonly path: string;
  readonly sha256: string;
}

export interface ImageLock {
  /** A time at which snapshot.debian.org has these versions, for example 20261130T235959Z. */
  readonly snapshot: string;
  readonly packages: readonly LockedPackage[];
}

/** The name of the package for scanners. */
export function purlOf({
  name,
  version,
  architecture,
}: Pick<LockedPackage, "name" | "version" | "architecture">): string {
  return `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-${debian.version}`;
}

export function readLock(): ImageLock {
  return JSON.parse(readFileSync(path, "utf8")) as ImageLock;
}

export function writeLock(lock: ImageLock): string {
  writeFileSync(path, `${JSON.stringify(lock, undefined, 2)}\n`);
  return path;
}
