// The section of a version in CHANGELOG.md, which has the form of keepachangelog.com. Pure.

import { ScriptError } from "../command-line.ts";

export interface ChangelogSection {
  /** Undefined while the version is not released. */
  readonly date: string | undefined;
  readonly text: string;
}

const heading = /^## \[([^\]]+)\](?: - (.+))?$/;

export function sectionOf(changelog: string, version: string): ChangelogSection | undefined {
  const lines = changelog.split("\n");
  const first = lines.findIndex((line) => heading.exec(line)?.[1] === version);
  if (first === -1) return undefined;
  const length = lines
    .slice(first + 1)
    .findIndex((line) => line.startsWith("## ") || /^\[[^\]]+\]: /.test(line));
  const body = lines.slice(first + 1, length === -1 ? undefined : first + 1 + length);
  const [, , date] = heading.exec(lines[first] ?? "") ?? [];
  return {
    date: /^\d{4}-\d{2}-\d{2}$/.test(date ?? "") ? date : undefined,
    text: body.join("\n").trim(),
  };
}

/** The section of the version. A release with a tag must also have the date. */
export function releasedSection(
  changelog: string,
  version: string,
  tag: string | undefined,
): ChangelogSection {
  const section = sectionOf(changelog, version);
  if (section === undefined || section.text === "") {
    throw new ScriptError(
      `CHANGELOG.md has no section "## [${version}]" with text, the version in package.json. Write what changes for users, then release again.`,
    );
  }
  if (tag === undefined) return section;
  if (tag !== `v${version}`) {
    throw new ScriptError(
      `The tag is ${tag}, but package.json has version ${version}, so the tag must be v${version}. Nothing is built.`,
    );
  }
  if (section.date === undefined) {
    throw new ScriptError(
      `The section [${version}] of CHANGELOG.md has no date. Write "## [${version}] - YYYY-MM-DD", then tag again.`,
    );
  }
  return section;
}
