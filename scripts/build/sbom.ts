// An executable's SBOM, as CycloneDX, with NTIA's minimum elements. Bun's parts have Bun's version, because Bun lists no versions
// for them. The same commit gives the same SBOM. Pure.

import type { Material } from "./materials.ts";
import { runtimeParts } from "./runtime-parts.ts";

export interface SbomInput {
  readonly executable: string;
  readonly version: string;
  /** The time of the commit, in seconds since 1970. */
  readonly time: number;
  readonly sha256: string;
  readonly bunVersion: string;
  readonly materials: readonly Material[];
}

const npmUrl = (name: string, version: string): string => `pkg:npm/${name.replace("@", "%40")}@${version}`;

/** CycloneDX distinguishes a single license id from an expression. */
function licenses(expression: string) {
  return / (AND|OR|WITH) /.test(expression) ? [{ expression }] : [{ license: { id: expression } }];
}

/** The repository's owner. */
function supplierOf(source: string) {
  const { hostname, pathname } = new URL(source);
  const [, owner = ""] = pathname.split("/");
  return { name: hostname === "github.com" ? owner : hostname, url: [source] };
}

const authors = "Fairlead authors";

/** The author, time and tool of the description. */
export function sbomMetadata<T extends { readonly version: string }>(component: T, time: number) {
  return {
    timestamp: new Date(time * 1000).toISOString(),
    tools: {
      components: [{ type: "application", name: "fairlead-build", version: component.version }],
    },
    authors: [{ name: authors }],
    component: { ...component, supplier: { name: authors } },
    supplier: { name: authors },
  };
}

/** A UUID derived from the checksum, so that the same file always has the same UUID. */
export function serialOf(sha256: string): string {
  return `urn:uuid:${sha256.slice(0, 8)}-${sha256.slice(8, 12)}-8${sha256.slice(13, 16)}-a${sha256.slice(17, 20)}-${sha256.slice(20, 32)}`;
}

export function sbom({ executable, version, time, sha256, bunVersion, materials }: SbomInput) {
  const root = {
    type: "application",
    "bom-ref": executable,
    name: executable,
    version,
    hashes: [{ alg: "SHA-256", content: sha256 }],
    licenses: licenses("Apache-2.0"),
  };
  const bun = {
    type: "platform",
    "bom-ref": "bun",
    name: "bun",
    version: bunVersion,
    supplier: supplierOf("https://github.com/oven-sh/bun"),
    purl: npmUrl("bun", bunVersion),
    licenses: licenses("MIT"),
    components: runtimeParts.map(([name, license, source]) => ({
      type: "library",
      "bom-ref": `bun/${name}`,
      name,
      version: `as in Bun ${bunVersion}`,
      supplier: supplierOf(source),
      licenses: licenses(license),
      externalReferences: [{ type: "vcs", url: source }],
    })),
  };
  const packages = materials.map((each) => ({
    type: "library",
    "bom-ref": npmUrl(each.name, each.version),
    name: each.name,
    version: each.version,
    ...(each.source === undefined ? {} : { supplier: supplierOf(each.source) }),
    purl: npmUrl(each.name, each.version),
    licenses: licenses(each.license),
  }));
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: serialOf(sha256),
    version: 1,
    metadata: sbomMetadata(root, time),
    components: [...packages, bun],
    dependencies: [
      { ref: executable, dependsOn: [...packages.map(({ purl }) => purl), "bun"] },
      ...packages.map(({ purl }) => ({ ref: purl })),
      { ref: "bun", dependsOn: runtimeParts.map(([name]) => `bun/${name}`) },
    ],
  };
}
