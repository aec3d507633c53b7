// The options of `npm run release`.

import { resolve } from "node:path";
import { BuildError } from "../build/provider-module.ts";
import { readTarget, type Target, targets } from "../build/targets.ts";
import { readCloud, releasedClouds } from "./clouds.ts";

export const usage = `Usage: npm run release -- [options]

Builds every cloud for every platform into dist/release: executables, archives, SBOMs, provenance, checksums and release notes.
The checksums are signed if FAIRLEAD_RELEASE_KEY or --key has a private key.

  --cloud <name>      only this cloud, repeatable (default: all except fake)
  --target <name>     only this platform, repeatable (default: all)
                      ${targets.join(", ")}
  --outdir <path>     output directory (default: dist/release)
  --key <path>        private key in PEM form; FAIRLEAD_RELEASE_KEY may hold the key itself
  --tag <name>        the tag of the release; it must be v and the version in package.json, and CHANGELOG.md must have its date
  --allow-dirty       build although files differ from the commit, for trying
  --no-image          build no container image; an image needs apt-get and dpkg-deb
  --lock-image        write the newest versions of the image's Debian packages to deploy/image/packages.json, and build nothing
  --make-key <path>   write a new private key, and its public key as <path>.pub, and build nothing
`;

export interface ReleaseOptions {
  readonly clouds: readonly string[];
  readonly targets: readonly Target[];
  readonly outdir: string | undefined;
  readonly key: string | undefined;
  readonly tag: string | undefined;
  readonly allowDirty: boolean;
  readonly withImage: boolean;
  readonly lockImage: boolean;
  readonly makeKey: string | undefined;
}

const valued = ["--cloud", "--target", "--outdir", "--key", "--tag", "--make-key"];

const switches = ["--allow-dirty", "--no-image", "--lock-image"];

/** Relative paths are resolved against `from`. */
export function readOptions(words: readonly string[], from: string): ReleaseOptions {
  const given = new Map<string, string[]>();
  const set = new Set<string>();
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    const [name = "", inline] = word.split(/=(.*)/s);
    if (switches.includes(word)) set.add(word);
    else if (!valued.includes(name)) throw new BuildError(`Unknown option ${word}.\n\n${usage}`);
    else {
      const value = inline ?? words[++at];
      if (value === undefined || value === "") throw new BuildError(`${name} requires a value.\n\n${usage}`);
      given.set(name, [...(given.get(name) ?? []), value]);
    }
  }
  const list = (name: string): readonly string[] =>
    (given.get(name) ?? []).flatMap((each) => each.split(","));
  const last = (name: string): string | undefined => given.get(name)?.at(-1);
  const path = (name: string): string | undefined => {
    const value = last(name);
    return value === undefined ? undefined : resolve(from, value);
  };
  const clouds = list("--cloud").map(readCloud);
  const chosen = list("--target").map(readTarget);
  return {
    clouds: clouds.length === 0 ? releasedClouds() : [...new Set(clouds)],
    targets: chosen.length === 0 ? targets : [...new Set(chosen)],
    outdir: path("--outdir"),
    key: path("--key"),
    tag: last("--tag"),
    allowDirty: set.has("--allow-dirty"),
    withImage: !set.has("--no-image"),
    lockImage: set.has("--lock-image"),
    makeKey: path("--make-key"),
  };
}
