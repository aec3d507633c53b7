// The options of `npm run release`.

import { plugin } from "../build/plugin.ts";
import { readTarget, type Target, targets } from "../build/targets.ts";
import { fromCaller, parseWords } from "../command-line.ts";
import { readCloud, releasedClouds } from "./clouds.ts";

export const usage = `Usage: npm run release -- [options]

Builds every cloud for every platform into dist/release: executables, archives, SBOMs, provenance, checksums and release notes.
The checksums are signed if FAIRLEAD_RELEASE_KEY or --key has a private key.

  --cloud <name>      only this cloud, or kubectl-fairlead, repeatable (default: all except fake)
  --target <name>     only this platform, repeatable (default: all)
                      ${targets.join(", ")}
  --downloads <url>   URL of the folder from which users download the files, for the krew manifest and the Homebrew formula
                      (default: the release of GITHUB_REPOSITORY; without both, neither is written)
  --outdir <path>     output directory (default: dist/release)
  --key <path>        private key in PEM form; FAIRLEAD_RELEASE_KEY may hold the key itself
  --tag <name>        the tag of the release; it must be v and the version in package.json, CHANGELOG.md must have its
                      date, deploy/release-key.pub must be committed, and a private key is required
  --check             check the version and the changelog, and with --tag also the tag and the public key, and build nothing
  --allow-dirty       build although files differ from the commit, for trying
  --no-image          build no container image; an image needs dpkg-deb
  --lock-image        write the newest versions of the image's Debian packages to deploy/image/packages.json, and build
                      nothing; needs apt-get and debian-archive-keyring
  --make-key <path>   write a new private key, and its public key as <path>.pub, and build nothing
`;

export interface ReleaseOptions {
  readonly clouds: readonly string[];
  readonly targets: readonly Target[];
  readonly downloads: string | undefined;
  readonly outdir: string | undefined;
  readonly key: string | undefined;
  readonly tag: string | undefined;
  readonly allowDirty: boolean;
  readonly withImage: boolean;
  readonly lockImage: boolean;
  readonly makeKey: string | undefined;
  readonly check: boolean;
}

const repeatable = { type: "string" as const, multiple: true as const, default: [] as string[] };
const single = { type: "string" } as const;
const flag = { type: "boolean", default: false } as const;

export function readOptions(words: readonly string[]): ReleaseOptions {
  const { values } = parseWords(
    words,
    {
      cloud: repeatable,
      target: repeatable,
      downloads: single,
      outdir: single,
      key: single,
      tag: single,
      "make-key": single,
      check: flag,
      "allow-dirty": flag,
      "no-image": flag,
      "lock-image": flag,
    },
    0,
  );
  const list = <T>(given: readonly string[], read: (word: string) => T): readonly T[] => [
    ...new Set(given.flatMap((each) => each.split(",")).map(read)),
  ];
  const path = (value: string | undefined) => (value === undefined ? undefined : fromCaller(value));
  const clouds = list(values.cloud, readCloud);
  const chosen = list(values.target, (word) => readTarget(word));
  return {
    clouds: clouds.length === 0 ? [...releasedClouds(), plugin] : clouds,
    targets: chosen.length === 0 ? targets : chosen,
    downloads: values.downloads?.replace(/\/$/, ""),
    outdir: path(values.outdir),
    key: path(values.key),
    tag: values.tag,
    allowDirty: values["allow-dirty"],
    withImage: !values["no-image"],
    lockImage: values["lock-image"],
    makeKey: path(values["make-key"]),
    check: values.check,
  };
}
