// Finds the packages inside an executable, from the bundler's list of files, and reads their licenses.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Material {
  readonly name: string;
  readonly version: string;
  /** The SPDX expression in its package.json. */
  readonly license: string;
  /** The repository's URL. */
  readonly source: string | undefined;
  /** The text of the license files. */
  readonly text: string;
}

const packageFolder = /^(.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//;

/**
 * The package folders of the bundled files, sorted, because the order of the bundler varies; for nested packages the innermost
 * one.
 */
export function packageFolders(files: readonly string[]): readonly string[] {
  return [
    ...new Set(
      files.flatMap((file) => {
        const [, before = "", name] = packageFolder.exec(file) ?? [];
        return name === undefined ? [] : `${before}node_modules/${name}`;
      }),
    ),
  ].toSorted();
}

const isLicenseFile = (file: string): boolean => /^(licen[cs]e|notice|copying)(\.|-|$)/i.test(file);

/** npm's forms of a repository: `github:owner/name`, `owner/name`, an address, or an object with an address. */
export function sourceOf(repository: string | { readonly url?: string } | undefined): string | undefined {
  const given = typeof repository === "object" ? repository.url : repository;
  const short = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(given ?? "")?.[1];
  const address = short === undefined ? given?.replace(/^git\+/, "") : `https://github.com/${short}`;
  return address?.startsWith("https://") ? address.replace(/\.git$/, "") : undefined;
}

export function readMaterial(folder: string): Material {
  const { name, version, license, repository } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  ) as {
    readonly name?: string;
    readonly version?: string;
    readonly license?: string;
    readonly repository?: string | { readonly url?: string };
  };
  if (name === undefined || version === undefined || license === undefined) {
    throw new Error(`${folder}/package.json must have a name, a version and a license.`);
  }
  const files = existsSync(folder) ? readdirSync(folder).filter(isLicenseFile).toSorted() : [];
  const text = files.map((file) => readFileSync(join(folder, file), "utf8").trim()).join("\n\n");
  return { name, version, license, source: sourceOf(repository), text };
}
