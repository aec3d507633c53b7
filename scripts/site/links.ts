// Finds links and anchors of the built site without a target. VitePress itself does not check anchors.

import { posix } from "node:path";

const entities: Readonly<Record<string, string>> = { "&amp;": "&", "&quot;": '"', "&#39;": "'" };
const decoded = (text: string): string =>
  decodeURIComponent(text.replaceAll(/&(?:amp|quot|#39);/g, (entity) => entities[entity] ?? entity));

/** The file that a link leads to. */
function fileOf(path: string, target: string, base: string): string {
  const below = target.startsWith(base) ? target.slice(base.length) : posix.join(posix.dirname(path), target);
  const file = below.replace(/^\.\//, "");
  return file === "" || file.endsWith("/") ? `${file}index.html` : file;
}

/** `files` are the contents of all HTML files by path, such as `clouds/hetzner.html`; `others` are the paths of all other files. */
export function brokenLinks(
  files: ReadonlyMap<string, string>,
  others: ReadonlySet<string>,
  base: string,
): readonly string[] {
  const anchors = new Map(
    [...files].map(([path, html]) => [
      path,
      new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => decoded(id))),
    ]),
  );
  const problems = new Set<string>();
  for (const [path, html] of files) {
    for (const [, href = ""] of html.matchAll(/<a\s[^>]*?href="([^"]+)"/g)) {
      if (/^[a-z]+:/i.test(href)) continue;
      const [target = "", anchor] = decoded(href).split("#");
      const file = target === "" ? path : fileOf(path, target, base);
      if (!files.has(file) && !others.has(file)) problems.add(`${path}: ${href} leads to no page`);
      else if (anchor !== undefined && anchor !== "" && anchors.get(file)?.has(anchor) === false)
        problems.add(`${path}: ${href} leads to no heading`);
    }
  }
  return [...problems];
}
