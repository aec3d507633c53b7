// The SBOM of a container image, as CycloneDX: its Debian packages, and its executables, which have their own SBOMs. Pure.

import { createHash } from "node:crypto";
import { serialOf } from "../../build/sbom.ts";
import { type LockedPackage, purlOf } from "./lock.ts";

export interface ImageSbomInput {
  readonly name: string;
  readonly version: string;
  readonly packages: readonly LockedPackage[];
  /** The files of the release. */
  readonly executables: readonly { readonly name: string; readonly content: Uint8Array }[];
}

const sha256Of = (content: Uint8Array | string): string => createHash("sha256").update(content).digest("hex");

export function imageSbom({ name, version, packages, executables }: ImageSbomInput) {
  const libraries = packages.map((each) => ({
    type: "library",
    "bom-ref": purlOf(each),
    name: each.name,
    version: each.version,
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
    // Derived from the content, so that the same image always has the same one.
    serialNumber: serialOf(sha256Of(JSON.stringify(components))),
    version: 1,
    metadata: { component: { type: "container", "bom-ref": name, name, version } },
    components,
    dependencies: [{ ref: name, dependsOn: components.map((each) => each["bom-ref"]) }],
  };
}
