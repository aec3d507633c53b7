import { afterEach, beforeEach, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { milliseconds } from "../../src/core/brand.ts";
import { systemFiles } from "../../src/platform/files.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { CertificateSource } from "../../src/server/served-certificates.ts";
import { MemoryFiles } from "../../src/testing/virtual-time/memory-files.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

// The generated serving certificate: the files that store it, and the authority that signs it after a year.

const day = 86_400_000;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "certificates-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const sourceOf = (clock: VirtualClock, files = systemFiles, at = join(folder, "deep", "certs"), seed = 1) => {
  const problems: string[] = [];
  const source = new CertificateSource({
    settings: { byName: [], names: ["localhost"], keep: { folder: at, name: "ccm" } },
    files,
    clock,
    random: seededRandom(seed),
    onProblem: (text) => problems.push(text),
  });
  return { source, problems, at };
};

test("the generated certificate is stored in a new folder with mode 0700, and its keys with mode 0600", async () => {
  const { source, problems, at } = sourceOf(new VirtualClock());
  await source.first();
  expect(problems).toEqual([]);
  expect(readdirSync(at).toSorted()).toEqual(["ccm-ca.crt", "ccm-ca.key", "ccm.crt", "ccm.key"]);
  const modeOf = (path: string) => statSync(path).mode & 0o777;
  expect([modeOf(at), modeOf(join(at, "ccm.key")), modeOf(join(at, "ccm-ca.key"))]).toEqual([
    0o700, 0o600, 0o600,
  ]);
});

test("writing the generated certificate restricts an existing world-readable key to mode 0600", async () => {
  writeFileSync(join(folder, "ccm.key"), "old", { mode: 0o644 });
  const { source } = sourceOf(new VirtualClock(), systemFiles, folder);
  await source.first();
  expect(statSync(join(folder, "ccm.key")).mode & 0o777).toBe(0o600);
});

test("the next generated certificate has the same authority, in the same process and after a restart", async () => {
  const clock = new VirtualClock();
  const disk = new MemoryFiles();
  const { source } = sourceOf(clock, disk.files, "/certs");
  const first = await source.first();
  const { ca } = source;
  expect(ca).toContain("BEGIN CERTIFICATE");
  // A new process, a year later.
  await clock.advance(milliseconds(350 * day));
  const later = sourceOf(clock, disk.files, "/certs", 2).source;
  const second = await later.first();
  expect(second.cert).not.toBe(first.cert);
  expect(later.ca).toBe(ca);
  expect(new X509Certificate(second.cert).verify(new X509Certificate(ca ?? "").publicKey)).toBe(true);
  // The same process, another year later.
  await clock.advance(milliseconds(350 * day));
  const third = await later.first();
  expect(third.cert).not.toBe(second.cert);
  expect(later.ca).toBe(ca);
});

test("a new authority replaces an authority that would expire before its certificate", async () => {
  const clock = new VirtualClock();
  const disk = new MemoryFiles();
  const { source } = sourceOf(clock, disk.files, "/certs");
  await source.first();
  const { ca } = source;
  await clock.advance(milliseconds(9.5 * 365 * day));
  const later = sourceOf(clock, disk.files, "/certs", 2).source;
  await later.first();
  expect(later.ca).not.toBe(ca);
});

test("a key that does not match its certificate is replaced, not served", async () => {
  const clock = new VirtualClock();
  const disk = new MemoryFiles();
  await sourceOf(clock, disk.files, "/certs").source.first();
  await sourceOf(clock, disk.files, "/others", 2).source.first();
  disk.put("/certs/ccm.key", await disk.files.read("/others/ccm.key"));
  const { source } = sourceOf(clock, disk.files, "/certs", 3);
  const { cert, key } = await source.first();
  expect(key).not.toBe(await disk.files.read("/others/ccm.key"));
  expect(await disk.files.read("/certs/ccm.crt")).toBe(cert);
});
