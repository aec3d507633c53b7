// The content of a cloud's Debian and RPM packages: the executable, the unit, its documentation and one configuration file.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { unitText, volumesUnitText } from "../../../src/app/manifests/systemd-unit.ts";
import type { Prepared } from "../../build/executable.ts";
import { environmentFile } from "./environment-file.ts";
import { type Format, type ProgramTexts, textFiles } from "./program-texts.ts";

const root = resolve(import.meta.dir, "../../..");

/** The processors of packages by the names of Debian and RPM, and the target of the executable. */
export const packageTargets = [
  { debian: "amd64", rpm: "x86_64", target: "linux-x64" },
  { debian: "arm64", rpm: "aarch64", target: "linux-arm64" },
] as const;
export type PackageTarget = (typeof packageTargets)[number];

export interface PackageFile {
  /** The path without a slash at the beginning. */
  readonly path: string;
  readonly mode: number;
  readonly content: Uint8Array;
  /** Whether an upgrade keeps the file as the user changed it. */
  readonly isConfig?: boolean;
  readonly isDocumentation?: boolean;
}

export interface PackageContent {
  readonly name: string;
  readonly version: string;
  readonly summary: string;
  readonly description: readonly string[];
  readonly files: readonly PackageFile[];
  /** Folders that not every system has, with their mode. */
  readonly folders: readonly { readonly path: string; readonly mode: number }[];
  readonly time: number;
}

/** A pre-release follows a tilde, so that it sorts before the release; another dash is not allowed. */
export function packageVersion(released: string): string {
  return released.replace("-", "~").replaceAll("-", ".");
}

export const maintainer = "Fairlead authors <noreply@fairlead.dev>";

const text = (content: string): Uint8Array => new TextEncoder().encode(content);
const fileOf = (path: string): Uint8Array => readFileSync(resolve(root, path));

export interface PackageInput {
  readonly cloud: Prepared;
  readonly executable: Uint8Array;
  readonly texts: ProgramTexts;
  readonly format: Format;
}

/** The unit that is installed for clouds with volumes, and runs on each machine that enables it. */
function volumesUnit({ program, driver }: Prepared["provider"]): readonly PackageFile[] {
  if (driver === undefined) return [];
  const unit = volumesUnitText({ program, folder: "/usr/bin", driver });
  const path = "usr/lib/systemd/system/fairlead-volumes.service";
  return [{ path, mode: 0o644, content: text(unit) }];
}

export function packageContent({ cloud, executable, texts, format }: PackageInput): PackageContent {
  const { provider, sources, notices } = cloud;
  const documentation = (path: string, content: Uint8Array): PackageFile => {
    return { path: `usr/share/doc/${path}`, mode: 0o644, content, isDocumentation: true };
  };
  const secrets = provider.variables.filter(({ isSecret }) => isSecret);
  const unit = unitText({
    program: provider.program,
    folder: "/usr/bin",
    variables: secrets.map(({ variable }) => variable),
  });
  return {
    name: provider.program,
    version: packageVersion(sources.released),
    summary: `Kubernetes cloud-controller-manager for ${provider.name}`,
    description: [
      "Initializes Nodes with the facts of their instances, deletes Nodes whose",
      "instances are proven to be gone, and reconciles load balancers and routes.",
      "The unit fairlead@.service runs one instance per cluster.",
    ],
    files: [
      {
        path: "etc/fairlead/environment",
        mode: 0o600,
        content: text(environmentFile(provider)),
        isConfig: true,
      },
      { path: `usr/bin/${provider.program}`, mode: 0o755, content: executable },
      { path: "usr/lib/systemd/system/fairlead@.service", mode: 0o644, content: text(unit) },
      ...volumesUnit(provider),
      documentation("fairlead/operations.md", fileOf("docs/operations.md")),
      documentation("fairlead/volumes.md", fileOf("docs/volumes.md")),
      documentation("fairlead/CHANGELOG.md", fileOf("CHANGELOG.md")),
      documentation(`${provider.program}/copyright`, text(notices)),
      ...textFiles(provider.program, texts, format),
    ],
    folders: [
      { path: "etc/fairlead/", mode: 0o700 },
      { path: "usr/share/doc/fairlead/", mode: 0o755 },
      { path: `usr/share/doc/${provider.program}/`, mode: 0o755 },
    ],
    time: sources.time,
  };
}
