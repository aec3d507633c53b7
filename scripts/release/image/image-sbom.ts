// The SBOM of a container image, as CycloneDX: its Debian packages, and its executables, which have their own SBOMs. Pure.

import { createHash } from "node:crypto";
import { sbomMetadata, serialOf } from "../../build/sbom.ts";
import { type Architecture, type LockedPackage, purlOf } from "./lock.ts";

export interface ImageSbomInput {
  readonly name: string;
  readonly version: string;
  /** The time of the commit, in seconds since 1970. */
  readonly time: number;
  readonly packages: readonly LockedPackage[];
  /** The release files. */
  readonly executables: readonly {
    readonly name: string;
    readonly architecture: Architecture;
    readonly content: Uint8Array;
  }[];
}

const sha256Of = (content: Uint8Array | string): string => createHash("sha256").update(content).digest("hex");

export function imageSbom({ name, version, time, packages, executables }: ImageSbomInput) {
  const libraries = packages.map((each) => ({
    type: "library",
    "bom-ref": purlOf(each),
    name: each.name,
    version: each.version,
    supplier: { name: "Debian", url: ["https://www.debian.org/"] },
    purl: purlOf(each),
    properties: [{ name: "fairlead:package-sha256", value: each.sha256 }],
  }));
  const programs = executables.map((each) => ({
    type: "application",
    "bom-ref": each.name,
    name: each.name,
    version,
    hashes: [{ alg: "SHA-256", content: sha256Of(each.content) }],
    externalReferences: [{ type: "bom", url: `${each.name}.cdx.json` }],
  }));
  const components = [...programs, ...libraries];
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    // Derived from the content, so that the same image always has the same number.
    serialNumber: serialOf(sha256Of(JSON.stringify(components))),
    version: 1,
    metadata: sbomMetadata({ type: "container", "bom-ref": name, name, version }, time),
    components,
    dependencies: [
      { ref: name, dependsOn: components.map((each) => each["bom-ref"]) },
      ...executables.map((program) => ({
        ref: program.name,
        dependsOn: packages.filter((each) => each.architecture === program.architecture).map(purlOf),
      })),
    ],
  };
}
