// The files of a new provider, from the real files in `template/`: names put in, imports turned to where they will stand.
// It writes nothing.

import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { ProviderName } from "./provider-name.ts";

const template = join(import.meta.dir, "template");
export const repository = join(import.meta.dir, "../..");

/** Below `root` in `providers/` and `test/providers/`; or all in one folder, anywhere. */
export type Place =
  | { readonly kind: "inside"; readonly root: string }
  | { readonly kind: "outside"; readonly folder: string };

export interface Skeleton {
  /** Absolute path to content, not formatted yet. */
  readonly files: ReadonlyMap<string, string>;
  readonly folder: string;
  readonly test: string;
}

function named(text: string, { kebab, camel, title, upper }: ProviderName): string {
  return text
    .replaceAll("acmeCloud", camel)
    .replaceAll("ACME_", `${upper}_`)
    .replaceAll("acme", kebab)
    .replaceAll("Acme", title);
}

/** The one place outside that knows where Fairlead is. */
function tsconfig(folder: string): string {
  const way = relative(folder, repository).replaceAll("\\", "/");
  const settings = {
    extends: `${way}/tsconfig.json`,
    compilerOptions: {
      paths: { "#ccm": [`${way}/src/index.ts`], "#ccm/testing": [`${way}/src/testing/index.ts`] },
      typeRoots: [`${way}/node_modules/@types`],
    },
    include: ["**/*.ts"],
  };
  return `${JSON.stringify(settings, null, 2)}\n`;
}

export function skeletonOf(name: ProviderName, place: Place): Skeleton {
  const isInside = place.kind === "inside";
  const folder = isInside ? join(place.root, "providers", name.kebab) : place.folder;
  const test = join(isInside ? join(place.root, "test/providers") : folder, `${name.kebab}.test.ts`);
  const files = new Map<string, string>();
  const provider = join(template, "provider");
  for (const path of readdirSync(provider, { recursive: true, encoding: "utf8" }).toSorted()) {
    if (path.endsWith(".ts"))
      files.set(join(folder, path), named(readFileSync(join(provider, path), "utf8"), name));
  }
  const testText = readFileSync(join(template, "acme.test.ts"), "utf8").replaceAll(
    '"./provider/',
    isInside ? '"../../providers/acme/' : '"./',
  );
  files.set(test, named(testText, name));
  if (!isInside) files.set(join(folder, "tsconfig.json"), tsconfig(folder));
  return { files, folder, test };
}
