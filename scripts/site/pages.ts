// The pages of the documentation site, generated from docs/ and the documents beside it. Pure.

import { posix } from "node:path";

/** The documents outside docs/, with their path in the site. */
export const outside: Readonly<Record<string, string>> = {
  "README.md": "overview.md",
  "CONTRIBUTING.md": "contributing.md",
  "SECURITY.md": "security.md",
  "CHANGELOG.md": "changelog.md",
  "GOVERNANCE.md": "governance.md",
  "MAINTAINERS.md": "maintainers.md",
  "ROADMAP.md": "roadmap.md",
  "CODE_OF_CONDUCT.md": "code-of-conduct.md",
};

/** A repository document's path on the site; undefined if the document is not part of the site. */
export function pageOf(path: string): string | undefined {
  if (path === "docs/README.md") return "all-pages.md";
  return path.startsWith("docs/") ? path.slice("docs/".length) : outside[path];
}

const isRelative = (link: string): boolean => !/^([a-z]+:|#|\/)/i.test(link);

/** A link to a page stays a link; a link to a source file becomes its path, because the site does not contain the file. */
function linkFrom(document: string, text: string, link: string): string {
  if (!isRelative(link)) return `[${text}](${link})`;
  const [path = "", anchor] = link.split("#");
  const target = posix.normalize(posix.join(posix.dirname(document), path));
  const page = pageOf(target);
  if (page === undefined || !page.endsWith(".md")) {
    const shown = text.replaceAll("`", "");
    return shown === target ? `\`${target}\`` : `${text} (\`${target}\`)`;
  }
  const own = pageOf(document) ?? document;
  const relative = posix.relative(posix.dirname(own), page);
  return `[${text}](${relative}${anchor === undefined ? "" : `#${anchor}`})`;
}

/** Images are part of the site, in the folders that they have below docs/. */
function imageFrom(document: string, alt: string, link: string): string {
  if (!isRelative(link)) return `![${alt}](${link})`;
  const target = posix.normalize(posix.join(posix.dirname(document), link));
  const own = pageOf(document) ?? document;
  return `![${alt}](./${posix.relative(posix.dirname(own), pageOf(target) ?? target)})`;
}

/** Applies the change to everything but code. */
function outsideCode(markdown: string, change: (text: string) => string): string {
  return markdown
    .split(/(^```[^\n]*\n[\s\S]*?^```$|`[^`\n]+`)/m)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join("");
}

/** The text of a document as a page of the site. */
export function pageText(document: string, markdown: string): string {
  // Links may have code in their text, so they are found in the whole text; fenced code has none.
  const linked = markdown
    .split(/(^```[^\n]*\n[\s\S]*?^```$)/m)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part
            .replaceAll(/!\[([^\]]*)\]\(([^)\s]+)\)/g, (_, alt: string, link: string) =>
              imageFrom(document, alt, link),
            )
            .replaceAll(/(?<!!)\[((?:[^\]`]|`[^`]*`)+)\]\(([^)\s]+)\)/g, (_, text: string, link: string) =>
              linkFrom(document, text, link),
            ),
    )
    .join("");
  // Vue would read these characters as its own syntax.
  return outsideCode(linked, (text) =>
    text.replaceAll("{{", "&#123;&#123;").replaceAll("}}", "&#125;&#125;"),
  );
}

export interface MenuGroup {
  readonly text: string;
  readonly collapsed: boolean;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

/** The text after the first heading mark, without code marks. */
export function titleOf(markdown: string): string {
  return (/^# (.+)$/m.exec(markdown)?.[1] ?? "").replaceAll("`", "");
}

/** The menu: the tables of docs/README.md, in its order. `titles` are the titles of documents by path. */
export function menuOf(index: string, titles: ReadonlyMap<string, string>): readonly MenuGroup[] {
  const groups: { text: string; collapsed: boolean; items: { text: string; link: string }[] }[] = [];
  const begin = (text: string): void => {
    groups.push({ text, collapsed: groups.length > 0, items: [] });
  };
  for (const line of index.split("\n")) {
    const heading = /^## (?:For )?([^,]+)/.exec(line)?.[1];
    if (heading !== undefined) begin(heading.charAt(0).toUpperCase() + heading.slice(1));
    if (line.startsWith("Reference, ")) begin("Reference");
    if (line.startsWith("Decision records ")) begin("Decisions");
    const link = /^\| \[[^\]]+\]\(([^)]+)\)/.exec(line)?.[1];
    if (link === undefined) continue;
    const document = posix.normalize(posix.join("docs", link));
    const page = pageOf(document);
    const title = titles.get(document);
    if (page === undefined || title === undefined)
      throw new Error(`docs/README.md lists ${link}, which does not exist.`);
    groups.at(-1)?.items.push({ text: title, link: `/${page.replace(/\.md$/, "")}` });
  }
  return groups;
}
