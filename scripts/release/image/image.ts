// The container image of one cloud, as an OCI archive for all processors that were built.

import { readFileSync } from "node:fs";
import { runtimeVariable } from "../../../src/app/runtime-variables.ts";
import type { Prepared } from "../../build/executable.ts";
import type { Target } from "../../build/targets.ts";
import { type Artefact, executableName } from "../artefact.ts";
import { foldersOf, gzip, tar } from "../tar.ts";
import { baseLayer } from "./base.ts";
import { imageSbom } from "./image-sbom.ts";
import { type Image, type Layer, type LayoutOptions, ociLayout } from "./layout.ts";
import { type Architecture, architectures, type LockedPackage, readLock } from "./lock.ts";

const imageTargets: Readonly<Record<Architecture, Target>> = {
  amd64: "linux-x64",
  arm64: "linux-arm64",
};

function layer(entries: Parameters<typeof tar>[0], seconds: number, createdBy: string): Layer {
  const uncompressed = tar(entries, seconds);
  return { uncompressed, compressed: gzip(uncompressed), createdBy };
}

function optionsOf({ provider, sources }: Prepared): LayoutOptions {
  const created = new Date(sources.time * 1000).toISOString().replace(".000Z", "Z");
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = process.env;
  const name = (key: string): string => `org.opencontainers.image.${key}`;
  return {
    tag: sources.released,
    created,
    entrypoint: [`/usr/local/bin/${provider.program}`],
    // As in the systemd unit, without the slowest compiler of the runtime, which costs more than it gains.
    environment: ["PATH=/usr/local/bin", `${runtimeVariable.name}=${runtimeVariable.value}`],
    labels: {
      [name("title")]: provider.program,
      [name("description")]: `Kubernetes cloud-controller-manager for ${provider.name}`,
      [name("version")]: sources.released,
      [name("revision")]: sources.commit,
      [name("created")]: created,
      [name("licenses")]: "Apache-2.0",
      // The forge shows the image next to this repository.
      ...(server === undefined || repository === undefined
        ? {}
        : { [name("source")]: `${server}/${repository}` }),
    },
  };
}

async function imageOf(cloud: Prepared, architecture: Architecture, executable: Uint8Array): Promise<Image> {
  const { time } = cloud.sources;
  const { snapshot, packages } = readLock();
  const locked = packages.filter((each) => each.architecture === architecture);
  const base = await baseLayer({ snapshot, packages: locked });
  const path = `usr/local/bin/${cloud.provider.program}`;
  const program = { path, mode: 0o755, content: executable };
  return {
    architecture,
    layers: [
      layer(base, time, locked.map(({ name, version }) => `${name} ${version}`).join(", ")),
      layer([...foldersOf([path]), program], time, `${cloud.provider.program} ${cloud.sources.version}`),
    ],
  };
}

function architecturesOf(targets: readonly Target[]): readonly Architecture[] {
  return architectures.filter((architecture) => targets.includes(imageTargets[architecture]));
}

/** The Debian packages that the images of these targets contain. */
export function packagesOf(targets: readonly Target[]): readonly LockedPackage[] {
  const chosen = architecturesOf(targets);
  return readLock().packages.filter(({ architecture }) => chosen.includes(architecture));
}

/** No artefact if the targets have none of the processors. */
export function imageArtefacts(cloud: Prepared, targets: readonly Target[]): readonly Artefact[] {
  const chosen = architecturesOf(targets);
  if (chosen.length === 0) return [];
  const name = `${cloud.provider.program}-image.oci.tar`;
  return [
    {
      name,
      make: async (folder) => {
        const executables = chosen.map((architecture) => {
          const file = executableName(cloud, imageTargets[architecture]);
          return { architecture, name: file, content: readFileSync(folder.at(file)) };
        });
        const { program } = cloud.provider;
        const { released: version, time } = cloud.sources;
        const list = imageSbom({ name: program, version, time, packages: packagesOf(targets), executables });
        folder.write(`${program}-image.cdx.json`, `${JSON.stringify(list, undefined, 2)}\n`);
        const images: Image[] = [];
        for (const { architecture, content } of executables) {
          images.push(await imageOf(cloud, architecture, content));
        }
        return folder.write(name, tar(ociLayout(images, optionsOf(cloud)), time));
      },
    },
  ];
}
