// The files of a new provider, generated from a template: with its name, and with imports that fit their new place.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { capital, type ProviderName } from "./provider-name.ts";

/** The folder of Fairlead; in the npm package, the folder of the package. */
export const repository = join(import.meta.dir, "../..");
const template = join(import.meta.dir, "template");

/** A folder with a provider, and the name of its cloud in it. */
interface Template {
  readonly folder: string;
  readonly cloud: string;
}

/** `simple` throws where code is missing. `hard` is the complete provider of docs/write-a-hard-provider.md. */
const templates = {
  simple: { folder: join(template, "provider"), cloud: "acme" },
  hard: { folder: join(repository, "test/support/quarry"), cloud: "quarry" },
} as const satisfies Readonly<Record<string, Template>>;
export type TemplateName = keyof typeof templates;
export const isPackage: boolean = !existsSync(join(repository, "providers"));

/** Inside a repository at `root`, in `providers/` and `test/providers/`; or outside, all in one folder. */
export type Place =
  | { readonly kind: "inside"; readonly root: string }
  | { readonly kind: "outside"; readonly folder: string };

export interface Skeleton {
  /** Contents by absolute path, before formatting. */
  readonly files: ReadonlyMap<string, string>;
  readonly folder: string;
  readonly test: string;
}

function named(text: string, cloud: string, { kebab, camel, title, upper }: ProviderName): string {
  return text
    .replaceAll(`${cloud}Cloud`, camel)
    .replaceAll(`${cloud.toUpperCase()}_`, `${upper}_`)
    .replaceAll(cloud, kebab)
    .replaceAll(capital(cloud), title);
}

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

/** A provider that depends on the npm package: the compiler, the tests and the build find `#ccm` through its package.json. */
function packageFiles(name: string): Readonly<Record<string, string>> {
  const { name: own, version } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
  };
  const command = "fairlead-provider";
  return {
    "package.json": json({
      name: `${name}-cloud-controller-manager`,
      private: true,
      type: "module",
      imports: { "#ccm": own, "#ccm/testing": `${own}/testing` },
      scripts: {
        test: `${command} test`,
        check: "tsc --project .",
        build: `${command} build`,
      },
      dependencies: { [own]: version },
    }),
    "tsconfig.json": json({ extends: `${own}/tsconfig.json`, include: ["**/*.ts"] }),
  };
}

/** In a folder outside the repository, only this file knows where Fairlead is. */
function tsconfig(folder: string): string {
  const path = relative(folder, repository).replaceAll("\\", "/");
  const settings = {
    extends: `${path}/tsconfig.json`,
    compilerOptions: {
      paths: { "#ccm": [`${path}/src/index.ts`], "#ccm/testing": [`${path}/src/testing/index.ts`] },
      typeRoots: [`${path}/node_modules/@types`],
    },
    include: ["**/*.ts"],
  };
  return json(settings);
}

export function skeletonOf(name: ProviderName, place: Place, from: TemplateName = "simple"): Skeleton {
  const isInside = place.kind === "inside";
  const folder = isInside ? join(place.root, "providers", name.kebab) : place.folder;
  const test = join(isInside ? join(place.root, "test/providers") : folder, `${name.kebab}.test.ts`);
  const files = new Map<string, string>();
  const { folder: provider, cloud } = templates[from];
  for (const path of readdirSync(provider, { recursive: true, encoding: "utf8" }).toSorted()) {
    if (path.endsWith(".ts"))
      files.set(join(folder, path), named(readFileSync(join(provider, path), "utf8"), cloud, name));
  }
  const testText = readFileSync(join(template, "acme.test.ts"), "utf8").replaceAll(
    '"./provider/',
    isInside ? '"../../providers/acme/' : '"./',
  );
  files.set(test, named(testText, "acme", name));
  const own = isPackage ? packageFiles(name.kebab) : { "tsconfig.json": tsconfig(folder) };
  if (!isInside) for (const [path, text] of Object.entries(own)) files.set(join(folder, path), text);
  return { files, folder, test };
}
