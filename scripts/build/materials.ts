// Which packages are inside an executable, found in what the bundler says it took, with their licences. Nothing is taken
// from a list that somebody would have to keep.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Material {
  readonly name: string;
  readonly version: string;
  /** As its package.json says, an SPDX expression. */
  readonly license: string;
  /** The texts of its licence files. */
  readonly text: string;
}

const packageFolder = /^(.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/** The folders of packages among the files that were bundled, the innermost where they are nested. */
export function packageFolders(files: readonly string[]): readonly string[] {
  return [
    ...new Set(
      files.flatMap((file) => {
        const [, before = "", name] = packageFolder.exec(file) ?? [];
        return name === undefined ? [] : `${before}node_modules/${name}`;
      }),
    ),
  ];
}

const isLicence = (file: string): boolean => /^(licen[cs]e|notice|copying)(\.|-|$)/i.test(file);

export function readMaterial(folder: string): Material {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<
    string,
    string | undefined
  >;
  if (name === undefined || version === undefined || license === undefined) {
    throw new Error(`${folder}/package.json must name the package, its version and its licence.`);
  }
  const files = existsSync(folder) ? readdirSync(folder).filter(isLicence).toSorted() : [];
  const text = files.map((file) => readFileSync(join(folder, file), "utf8").trim()).join("\n\n");
  return { name, version, license, text };
}
