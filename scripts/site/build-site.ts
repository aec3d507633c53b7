// Builds the documentation site: copies the pages to a working folder outside the repository, where the site generator is
// installed, runs the generator, and checks every link.

import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { brokenLinks } from "./links.ts";
import { menuOf, outside, pageOf, pageText, titleOf } from "./pages.ts";

export interface SiteOptions {
  readonly root: string;
  /** The folder `node_modules` with the site generator. */
  readonly packages: string;
  readonly output: string;
  /** The path of the site on its server, with slashes at both ends. */
  readonly base: string;
}

function documentsOf(root: string): ReadonlyMap<string, string> {
  const paths = [...Object.keys(outside), ...new Bun.Glob("docs/**/*.md").scanSync({ cwd: root })].toSorted();
  return new Map(
    paths
      .filter((path) => existsSync(join(root, path)))
      .map((path) => [path, readFileSync(join(root, path), "utf8")]),
  );
}

function configuration(documents: ReadonlyMap<string, string>, base: string, output: string): object {
  const titles = new Map([...documents].map(([path, text]) => [path, titleOf(text)]));
  const sidebar = [
    { text: "Overview", link: "/overview" },
    ...menuOf(documents.get("docs/README.md") ?? "", titles),
    { text: "All pages", link: "/all-pages" },
  ];
  return {
    title: "Fairlead",
    description: "Kubernetes cloud-controller-manager: one executable per cloud",
    base,
    outDir: output,
    srcDir: "pages",
    themeConfig: {
      sidebar,
      nav: [
        { text: "Install", link: "/install" },
        { text: "Operate", link: "/operations" },
        { text: "Write a provider", link: "/write-a-provider" },
        { text: "Reference", link: "/flags" },
      ],
      search: { provider: "local" },
      outline: [2, 3],
    },
  };
}

/** Angle brackets in the documents are placeholders, not HTML. Anchors are the same as in the repository's view of the documents. */
const configFile = (config: string): string => `export default {
  ...${config},
  markdown: { html: false, linkify: false, anchor: { slugify: ${anchorOf} } },
};
`;

/** Returns a heading's anchor. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

/** Returns the problems: an empty list means that the site is complete. */
export async function buildSite(options: SiteOptions): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-site-"));
  try {
    symlinkSync(options.packages, join(folder, "node_modules"));
    return await buildIn(folder, options);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function buildIn(folder: string, { root, output, base }: SiteOptions): Promise<readonly string[]> {
  const documents = documentsOf(root);
  rmSync(output, { recursive: true, force: true });
  for (const [path, text] of documents) {
    const page = join(folder, "pages", pageOf(path) ?? path);
    mkdirSync(dirname(page), { recursive: true });
    writeFileSync(page, pageText(path, text));
  }
  for (const images of ["images", "charts"])
    cpSync(join(root, "docs", images), join(folder, "pages", images), { recursive: true });
  cpSync(join(root, "scripts/site/home.md"), join(folder, "pages/index.md"));
  mkdirSync(join(folder, ".vitepress"));
  const config = JSON.stringify(configuration(documents, base, output), null, 2);
  writeFileSync(join(folder, ".vitepress/config.mjs"), configFile(config));
  const failure = await generate(folder);
  return failure === undefined ? check(documents, output, base) : [failure];
}

/** The output of the generator if it failed. */
async function generate(folder: string): Promise<string | undefined> {
  const child = Bun.spawn(["node", "node_modules/vitepress/bin/vitepress.js", "build"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_ENV: "production" },
  });
  const texts = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
  const output = (await Promise.all(texts)).join("").trim();
  return (await child.exited) === 0 ? undefined : output;
}

function check(documents: ReadonlyMap<string, string>, output: string, base: string): readonly string[] {
  const files = [...new Bun.Glob("**/*").scanSync({ cwd: output })];
  const pages = files.filter((path) => path.endsWith(".html"));
  const html = new Map(pages.map((path) => [path, readFileSync(join(output, path), "utf8")]));
  const missing = [...documents.keys()]
    .map((path) => (pageOf(path) ?? path).replace(/\.md$/, ".html"))
    .filter((path) => !html.has(path))
    .map((path) => `${path} was not written`);
  return [...missing, ...brokenLinks(html, new Set(files), base)];
}
