// The provenance of a release: an in-toto statement with SLSA's predicate, version 1. It has no time, so that two builds of one
// commit have the same provenance. Pure.

import { type LockedPackage, purlOf } from "./image/lock.ts";

export interface Subject {
  readonly name: string;
  readonly sha256: string;
}

export interface ProvenanceInput {
  readonly subjects: readonly Subject[];
  readonly version: string;
  readonly commit: string;
  readonly clouds: readonly string[];
  readonly targets: readonly string[];
  /** The runtimes inside, with the checksum of package-lock.json. */
  readonly runtimes: readonly {
    readonly name: string;
    readonly version: string;
    readonly integrity: string;
  }[];
  /** The Debian packages in the images. */
  readonly packages: readonly LockedPackage[];
  readonly lockSha256: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const hexOf = (integrity: string): string =>
  Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");

/** Who built the release, and from where, if a workflow of GitHub built it. */
function origin({ environment, commit }: ProvenanceInput) {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_REF: ref } = environment;
  const isWorkflow = server !== undefined && repository !== undefined;
  const uri = isWorkflow ? `git+${server}/${repository}${ref === undefined ? "" : `@${ref}`}` : "git+file:.";
  const workflow = environment["GITHUB_WORKFLOW_REF"];
  return {
    source: { uri, digest: { gitCommit: commit.replace(".dirty", "") } },
    builder: isWorkflow && workflow !== undefined ? `${server}/${workflow}` : "urn:fairlead:local-build",
    run: isWorkflow
      ? `${server}/${repository}/actions/runs/${environment["GITHUB_RUN_ID"] ?? ""}`
      : undefined,
  };
}

export function provenance(input: ProvenanceInput) {
  const { source, builder, run } = origin(input);
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: input.subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "https://fairlead.dev/release/v1",
        externalParameters: {
          source: source.uri,
          version: input.version,
          clouds: input.clouds,
          targets: input.targets,
        },
        internalParameters: { isDirty: input.commit.endsWith(".dirty") },
        resolvedDependencies: [
          source,
          { name: "package-lock.json", digest: { sha256: input.lockSha256 } },
          ...input.runtimes.map(({ name, version, integrity }) => ({
            uri: `pkg:npm/${name.replace("@", "%40")}@${version}`,
            digest: { sha512: hexOf(integrity) },
          })),
          ...input.packages.map((each) => ({ uri: purlOf(each), digest: { sha256: each.sha256 } })),
        ],
      },
      runDetails: {
        builder: { id: builder },
        ...(run === undefined ? {} : { metadata: { invocationId: run } }),
      },
    },
  };
}
