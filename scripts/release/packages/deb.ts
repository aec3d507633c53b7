// Writes a Debian package: an ar archive of the format version, the control files and the installed files. Pure.

import { createHash } from "node:crypto";
import { foldersOf, gzip, type TarEntry, tar } from "../tar.ts";
import { maintainer, type PackageContent, type PackageFile } from "./content.ts";
import { debianScripts, templatePath } from "./scripts.ts";

const encoder = new TextEncoder();

/**
 * The runtime contains libraries and cannot be stripped, the licenses are complete, and the configuration may contain secrets.
 */
const overrides = [
  ...["embedded-library *", "unstripped-binary-or-object *", "hardening-no-pie *", "hardening-no-relro *"],
  ...["copyright-file-contains-full-apache-2-license", "copyright-not-using-common-license-for-lgpl"],
  ...["copyright-without-copyright-notice", "maintainer-script-calls-systemctl *"],
  ...["non-standard-dir-perm *", "non-standard-file-perm *"],
];

function arMember(name: string, content: Uint8Array, seconds: number): readonly Uint8Array[] {
  const fields = [
    name.padEnd(16),
    String(seconds).padEnd(12),
    "0".padEnd(6),
    "0".padEnd(6),
    "100644".padEnd(8),
  ];
  const header = encoder.encode(`${fields.join("")}${String(content.length).padEnd(10)}\`\n`);
  return content.length % 2 === 0 ? [header, content] : [header, content, encoder.encode("\n")];
}

function controlText(content: PackageContent, architecture: string): string {
  const kilobytes = Math.ceil(content.files.reduce((sum, file) => sum + file.content.length, 0) / 1024);
  return `Package: ${content.name}
Version: ${content.version}
Architecture: ${architecture}
Maintainer: ${maintainer}
Installed-Size: ${kilobytes}
Depends: libc6 (>= 2.17)
Recommends: ca-certificates
Provides: fairlead
Conflicts: fairlead
Section: admin
Priority: optional
Description: ${content.summary}
${content.description.map((line) => ` ${line}\n`).join("")}`;
}

const relative = (entry: TarEntry): TarEntry => ({ ...entry, path: `./${entry.path}` });

function controlArchive(content: PackageContent, architecture: string): Uint8Array {
  const file = (path: string, text: string, mode = 0o644): TarEntry => ({
    path,
    mode,
    content: encoder.encode(text),
  });
  const sum = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex");
  const entries = [
    file("control", controlText(content, architecture)),
    file("md5sums", content.files.map((each) => `${sum(each.content)}  ${each.path}\n`).join("")),
    ...Object.entries(debianScripts(content.name)).map(([name, text]) => file(name, text, 0o755)),
  ];
  return gzip(tar([{ path: "./", mode: 0o755 }, ...entries.map(relative)], content.time));
}

/** The files that Debian's policy requires. The package differs from the policy only for a reason. */
function debianFiles({ name, version, time }: PackageContent): readonly PackageFile[] {
  const date = new Date(time * 1000).toUTCString().replace("GMT", "+0000");
  const changelog = `${name} (${version}) stable; urgency=medium\n\n  * /usr/share/doc/fairlead/CHANGELOG.md lists the changes.\n\n -- ${maintainer}  ${date}\n`;
  return [
    {
      path: `usr/share/doc/${name}/changelog.gz`,
      mode: 0o644,
      content: Bun.gzipSync(changelog, { level: 9, library: "libdeflate" }),
    },
    {
      path: `usr/share/lintian/overrides/${name}`,
      mode: 0o644,
      content: encoder.encode(overrides.map((tag) => `${name}: ${tag}\n`).join("")),
    },
  ];
}

function dataArchive({ files, folders, time }: PackageContent): Uint8Array {
  const own = new Set(folders.map(({ path }) => path));
  const parents = foldersOf([...files, ...folders].map(({ path }) => path)).filter(
    ({ path }) => !own.has(path),
  );
  const sorted = [...parents, ...folders].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const entries = [...sorted, ...files.map(({ path, mode, content }) => ({ path, mode, content }))];
  return gzip(tar([{ path: "./", mode: 0o755 }, ...entries.map(relative)], time));
}

/**
 * The configuration file is installed as a template, which a script copies once. As a conffile, each upgrade that changes the template
 * would stop at a question, because users edit this file.
 */
const asTemplate =
  ({ name }: PackageContent) =>
  (file: PackageFile): PackageFile =>
    file.isConfig === true ? { ...file, path: templatePath(name), mode: 0o644 } : file;

export function debianPackage(all: PackageContent, architecture: string): Uint8Array {
  const content = { ...all, files: [...all.files.map(asTemplate(all)), ...debianFiles(all)] };
  return Buffer.concat([
    encoder.encode("!<arch>\n"),
    ...arMember("debian-binary", encoder.encode("2.0\n"), content.time),
    ...arMember("control.tar.gz", controlArchive(content, architecture), content.time),
    ...arMember("data.tar.gz", dataArchive(content), content.time),
  ]);
}
