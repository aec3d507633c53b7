// `npm run release`: builds every cloud for every platform, with checksums, a signature, SBOMs, provenance and release notes.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { readSources } from "./build/sources.ts";
import { fail, orFail, printHelp, ScriptError } from "./command-line.ts";
import { releasedSection } from "./release/changelog.ts";
import { writeLock } from "./release/image/lock.ts";
import { newestLock } from "./release/image/newest.ts";
import { verifyCommand } from "./release/notes.ts";
import { type ReleaseOptions, readOptions, usage } from "./release/options.ts";
import { githubDownloads } from "./release/plugin.ts";
import { release } from "./release/release.ts";
import { makeKey, readKey, requirePublicKey } from "./release/signature.ts";

const root = resolve(import.meta.dir, "..");
const published = resolve(root, "deploy/release-key.pub");
const print = (line: string): boolean => process.stdout.write(`${line}\n`);

function keyOf({ key: path }: ReleaseOptions) {
  if (path !== undefined) return readKey(readFileSync(path, "utf8"), path, published);
  const pem = process.env["FAIRLEAD_RELEASE_KEY"] ?? "";
  return pem === "" ? undefined : readKey(pem, "FAIRLEAD_RELEASE_KEY", published);
}

async function main(words: readonly string[]): Promise<void> {
  printHelp(usage, words);
  const options = orFail(() => readOptions(words), usage);
  if (options.makeKey !== undefined) {
    const shared = makeKey(options.makeKey);
    print(`Private key: ${options.makeKey} (keep it secret; pass it as FAIRLEAD_RELEASE_KEY or --key)`);
    print(`Public key:  ${shared} (commit it as deploy/release-key.pub; users verify with it)`);
    return;
  }
  if (options.lockImage) {
    print(`${writeLock(newestLock(new Date()))} has the newest versions. Commit it.`);
    return;
  }
  const sources = readSources();
  const { tag } = options;
  const { text: changes } = releasedSection(
    readFileSync(resolve(root, "CHANGELOG.md"), "utf8"),
    sources.released,
    tag,
  );
  requirePublicKey(tag, published);
  if (options.check) {
    print(
      tag === undefined
        ? `CHANGELOG.md has the section of ${sources.released}. With --tag, its date and the public key are checked too.`
        : `${tag} can be released.`,
    );
    return;
  }
  const key = keyOf(options);
  if (tag !== undefined && key === undefined) {
    throw new ScriptError(
      `The release ${tag} must be signed, but neither FAIRLEAD_RELEASE_KEY nor --key has a private key. Nothing is built.`,
    );
  }
  const outdir = options.outdir ?? resolve(root, "dist/release");
  const started = performance.now();
  const downloads = options.downloads ?? githubDownloads(process.env, sources.released);
  await release({ ...options, downloads, sources, changes, outdir, key, print });
  print(`${outdir} is complete after ${((performance.now() - started) / 1000).toFixed(0)} s.`);
  print(
    key === undefined
      ? "UNSIGNED: neither FAIRLEAD_RELEASE_KEY nor --key has a private key. Do not publish this release."
      : `Signed. To verify: ${verifyCommand}`,
  );
}

await main(process.argv.slice(2)).catch(fail);
