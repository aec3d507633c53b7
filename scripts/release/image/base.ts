// The lower layer of an image: the libraries that the executable loads, CA certificates, and the files that name users. The
// layer has no shell and no package manager. Scanners find the versions of its packages in /var/lib/dpkg/status.d.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { foldersOf, type TarEntry } from "../tar.ts";
import { fetchPackage, unpack } from "./debian.ts";
import { debian, type ImageLock } from "./lock.ts";

const libraries =
  /^usr\/lib\/[\w-]+\/(ld-linux-[\w-]+|libc|libdl|libgcc_s|libm|libpthread|libresolv|librt|libnss_(dns|files))\.so(\.\d+)+$/;
const certificates = /^usr\/share\/ca-certificates\/.+\.crt$/;
const copyrights = /^usr\/share\/doc\/[^/]+\/copyright$/;

const encoder = new TextEncoder();

function file(path: string, text: string): TarEntry {
  return { path, mode: 0o644, content: encoder.encode(text) };
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name).slice(folder.length + 1))
    .toSorted();
}

/** The part of a package that the image needs, and its description for scanners. */
function contentOf(name: string, path: string): readonly TarEntry[] {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-package-"));
  try {
    const description = unpack(path, folder);
    const read = (path: string): Uint8Array => readFileSync(join(folder, path));
    const files = filesIn(folder);
    const bundle = files.filter((path) => certificates.test(path)).map((path) => read(path));
    return [
      ...files
        .filter((path) => libraries.test(path))
        .map((path) => ({ path, mode: 0o755, content: read(path) })),
      ...files
        .filter((path) => copyrights.test(path))
        .map((path) => ({ path, mode: 0o644, content: read(path) })),
      ...(bundle.length === 0
        ? []
        : [file("etc/ssl/certs/ca-certificates.crt", Buffer.concat(bundle).toString())]),
      file(`var/lib/dpkg/status.d/${name}`, description),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const identity: readonly TarEntry[] = [
  file("etc/passwd", "root:x:0:0:root:/:/sbin/nologin\nfairlead:x:65532:65532:Fairlead:/:/sbin/nologin\n"),
  file("etc/group", "root:x:0:\nfairlead:x:65532:\n"),
  file("etc/nsswitch.conf", "hosts: files dns\n"),
  file(
    "etc/os-release",
    `ID=debian\nVERSION_ID="${debian.version}"\nPRETTY_NAME="Debian GNU/Linux ${debian.version}, parts of it"\n`,
  ),
];

/** Where the kernel looks for the loader of each processor, if this differs from the path in the package. */
const loaders: readonly TarEntry[] = [
  { path: "lib64/ld-linux-x86-64.so.2", mode: 0o777, link: "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" },
  {
    path: "lib/ld-linux-aarch64.so.1",
    mode: 0o777,
    link: "/usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1",
  },
];

/** All entries of the layer, folders first. */
export async function baseLayer({ packages, snapshot }: ImageLock): Promise<readonly TarEntry[]> {
  const contents: TarEntry[] = [];
  for (const each of packages) contents.push(...contentOf(each.name, await fetchPackage(each, snapshot)));
  const found = new Set(contents.map(({ path }) => path));
  const links = loaders.filter(({ link = "" }) => found.has(link.slice(1)));
  const files = [...identity, ...contents, ...links].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  return [...foldersOf(files.map(({ path }) => path)), { path: "tmp/", mode: 0o1777 }, ...files];
}
