// Writes an RPM package: a lead, a header with checksums, a header with the description, and a cpio archive. Pure.

import { createHash } from "node:crypto";
import { gzip } from "../tar.ts";
import { maintainer, type PackageContent } from "./content.ts";
import { type CpioEntry, cpio } from "./cpio.ts";
import { type RpmTags, type RpmValue, rpmHeader } from "./rpm-header.ts";
import { rpmScripts } from "./scripts.ts";

const release = "1";
const config = 1 | 16; // %config(noreplace)
const documentation = 2;
/** Flags of a dependency: less or equal, equal, and a feature of rpm itself. */
const atMost = 2 | 8;
const equal = 8;
const ofRpm = 1 << 24;

const string = (value: string): RpmValue => ({ type: "string", value });
const translated = (value: string): RpmValue => ({ type: "translated", value });
const strings = (values: readonly string[]): RpmValue => ({ type: "strings", values });
const int32 = (...values: readonly number[]): RpmValue => ({ type: "int32", values });

function hex(algorithm: string, content: Uint8Array): string {
  return createHash(algorithm).update(content).digest("hex");
}

interface Entry extends CpioEntry {
  readonly flags: number;
}

function entriesOf({ files, folders }: PackageContent): readonly Entry[] {
  return [
    ...folders.map(({ path, mode }) => ({ path: path.replace(/\/$/, ""), mode: 0o040000 | mode, flags: 0 })),
    ...files.map(({ path, mode, content, isConfig, isDocumentation }) => ({
      path,
      mode: 0o100000 | mode,
      content,
      flags: (isConfig === true ? config : 0) | (isDocumentation === true ? documentation : 0),
    })),
  ].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

type Tag = readonly [number, RpmValue];

function fileTags(entries: readonly Entry[], time: number): readonly Tag[] {
  const folder = (path: string): string => `/${path.slice(0, path.lastIndexOf("/") + 1)}`;
  const folders = [...new Set(entries.map(({ path }) => folder(path)))];
  const each = (value: (entry: Entry, index: number) => number): RpmValue => int32(...entries.map(value));
  return [
    [1028, each(({ content }) => content?.length ?? 4096)],
    [1030, { type: "int16", values: entries.map(({ mode }) => mode) }],
    [1033, { type: "int16", values: entries.map(() => 0) }],
    [1034, each(() => time)],
    [1035, strings(entries.map(({ content }) => (content === undefined ? "" : hex("sha256", content))))],
    [1036, strings(entries.map(() => ""))],
    [1037, each(({ flags }) => flags)],
    [1039, strings(entries.map(() => "root"))],
    [1040, strings(entries.map(() => "root"))],
    [1045, each(() => -1)],
    [1095, each(() => 1)],
    [1096, each((_, index) => index + 1)],
    [1097, strings(entries.map(() => ""))],
    [1116, each(({ path }) => folders.indexOf(folder(path)))],
    [1117, strings(entries.map(({ path }) => path.slice(path.lastIndexOf("/") + 1)))],
    [1118, strings(folders)],
    [5011, int32(8)],
  ];
}

function dependencyTags({ name, version }: PackageContent, architecture: string): readonly Tag[] {
  const required: readonly (readonly [string, number, string])[] = [
    ["/bin/sh", 0, ""],
    ["libc.so.6(GLIBC_2.17)(64bit)", 0, ""],
    ["rpmlib(CompressedFileNames)", atMost | ofRpm, "3.0.4-1"],
    ["rpmlib(FileDigests)", atMost | ofRpm, "4.6.0-1"],
    ["rpmlib(PayloadFilesHavePrefix)", atMost | ofRpm, "4.0-1"],
    ...(version.includes("~") ? ([["rpmlib(TildeInVersions)", atMost | ofRpm, "4.10.0-1"]] as const) : []),
  ];
  const full = `${version}-${release}`;
  const bits = architecture.replace("_", "-").replace("aarch64", "aarch-64");
  return [
    [1047, strings([name, `${name}(${bits})`, "fairlead"])],
    [1112, int32(equal, equal, 0)],
    [1113, strings([full, full, ""])],
    [1049, strings(required.map(([what]) => what))],
    [1048, int32(...required.map(([, flags]) => flags))],
    [1050, strings(required.map(([, , wanted]) => wanted))],
    [1054, strings(["fairlead"])],
    [1053, int32(0)],
    [1055, strings([""])],
  ];
}

function descriptionTags(content: PackageContent, architecture: string): readonly Tag[] {
  const size = content.files.reduce((sum, file) => sum + file.content.length, 0);
  return [
    [100, strings(["C"])],
    [1000, string(content.name)],
    [1001, string(content.version)],
    [1002, string(release)],
    [1004, translated(content.summary)],
    [1005, translated(content.description.join("\n"))],
    [1006, int32(content.time)],
    [1007, string("localhost")],
    [1009, int32(size)],
    [1014, string("Apache-2.0")],
    [1015, string(maintainer)],
    [1016, translated("System Environment/Daemons")],
    [1021, string("linux")],
    [1022, string(architecture)],
    [1024, string(rpmScripts.post)],
    [1025, string(rpmScripts.preun)],
    [1026, string(rpmScripts.postun)],
    [1086, string("/bin/sh")],
    [1087, string("/bin/sh")],
    [1088, string("/bin/sh")],
    [1044, string(`${content.name}-${content.version}-${release}.src.rpm`)],
    [5062, string("utf-8")],
  ];
}

function lead({ name, version }: PackageContent): Buffer {
  const bytes = Buffer.alloc(96);
  bytes.set([0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0, 0, 1]);
  bytes.write(`${name}-${version}-${release}`.slice(0, 65), 10);
  bytes.set([0, 1, 0, 5], 76);
  return bytes;
}

function signatureTags(header: Buffer, payload: Uint8Array, unpacked: number): RpmTags {
  const md5 = createHash("md5").update(header).update(payload).digest();
  return new Map<number, RpmValue>([
    [269, string(hex("sha1", header))],
    [273, string(hex("sha256", header))],
    [1000, int32(header.length + payload.length)],
    [1004, { type: "binary", value: md5 }],
    [1007, int32(unpacked)],
  ]);
}

export function rpmPackage(content: PackageContent, architecture: string): Uint8Array {
  const entries = entriesOf(content);
  const archive = cpio(entries, content.time);
  const payload = gzip(archive);
  const header = rpmHeader(
    63,
    new Map<number, RpmValue>([
      ...descriptionTags(content, architecture),
      ...fileTags(entries, content.time),
      ...dependencyTags(content, architecture),
      [1124, string("cpio")],
      [1125, string("gzip")],
      [1126, string("9")],
      [5092, strings([hex("sha256", payload)])],
      [5093, int32(8)],
    ]),
  );
  const signature = rpmHeader(62, signatureTags(header, payload, archive.length));
  const padding = Buffer.alloc(-signature.length & 7);
  return Buffer.concat([lead(content), signature, padding, header, payload]);
}
