// The manifest of kubectl-fairlead for krew, which installs plugins of kubectl. Pure.

import packageJson from "../../package.json" with { type: "json" };
import { toYaml } from "../../src/app/manifests/to-yaml.ts";
import { endingOf, type Target } from "../build/targets.ts";

/** An archive that users download. */
export interface Download {
  readonly target: Target;
  readonly url: string;
  readonly sha256: string;
}

export interface PluginDownloads {
  /** The version without `v`. */
  readonly version: string;
  readonly downloads: readonly Download[];
}

const { homepage } = packageJson;

/** krew uses the names of Go. */
function platformOf({ target, url, sha256 }: Download): object {
  const [os, arch] = target.split("-");
  return {
    selector: { matchLabels: { os, arch: arch === "x64" ? "amd64" : arch } },
    uri: url,
    sha256,
    bin: `kubectl-fairlead${endingOf(target)}`,
  };
}

export function krewManifest({ version, downloads }: PluginDownloads): string {
  return toYaml({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "fairlead" },
    spec: {
      version: `v${version}`,
      homepage,
      shortDescription: "Explain and check a cloud controller manager",
      description:
        "Explains why a Node, a Service or a volume is pending, shows what a start of the\nmanager would change, checks the set-up of cluster and cloud, lints manifests, and\ncleans up what a cluster left in the cloud. For clusters that run or will run\nFairlead, a cloud-controller-manager.\n",
      platforms: downloads.map(platformOf),
    },
  });
}
