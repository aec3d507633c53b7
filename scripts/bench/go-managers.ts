// The Go managers with which Fairlead is compared, each on the simulated cloud of its provider: how
// they are built and started. They are fastest with the flags of `goFlags`.

import { readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { goManagerFolder, goProgram } from "../../test/tools/rig/install.ts";
import type { LocalCloud } from "../clouds/local-cloud.ts";
import { configFile } from "../rehearse/clouds/aws.ts";

export interface GoManager {
  readonly cloud: string;
  /** The cloud, and the manager with its version, for the tables. */
  readonly place: string;
  readonly title: string;
  /** Builds the executable and returns its path. */
  readonly build: () => string;
  readonly flags: readonly string[];
  /** The content of the file for `--cloud-config`. */
  readonly config?: (cloud: LocalCloud) => string;
  readonly env?: Readonly<Record<string, string>>;
}

const tests = resolve(import.meta.dir, "../../test");

/** The version in the go.mod of a folder, for example "hcloud-go 2.52.0". */
function versionOf(folder: string, module: string, name = basename(module)): string {
  const text = readFileSync(join(tests, folder, "go.mod"), "utf8");
  const version = new RegExp(`\\b${module} v(\\S+)`).exec(text)?.[1];
  if (version === undefined) throw new Error(`${folder}/go.mod has no ${module}.`);
  return `${name} ${version}`;
}

const framework = "differential/upstream";
const hetzner = "providers/hetzner/clients/rehearsal/peer";
const openstack = "providers/openstack/clients/rehearsal/peer";
const aws = "providers/aws/clients/peer";
/** The module of a cloud's manager, and the folder with its command. */
const moduleOf = (cloud: string): string => `k8s.io/cloud-provider-${cloud}`;
const commandOf = (cloud: string): string => `${moduleOf(cloud)}/cmd/${cloud}-cloud-controller-manager`;

export const goManagers: readonly GoManager[] = [
  {
    cloud: "fake",
    place: "Fake cloud",
    title: `upstream's framework (${versionOf(framework, "k8s.io/cloud-provider")})`,
    build: () => goProgram(join(tests, framework), [goManagerFolder]),
    flags: ["--cloud-provider=fake"],
  },
  {
    cloud: "hetzner",
    place: "Hetzner Cloud",
    title: `a manager on ${versionOf(hetzner, "github.com/hetznercloud/hcloud-go/v2", "hcloud-go")}`,
    build: () => goProgram(join(tests, hetzner), [goManagerFolder]),
    flags: ["--cloud-provider=hcloud"],
  },
  {
    cloud: "openstack",
    place: "OpenStack",
    title: versionOf(openstack, moduleOf("openstack")),
    build: () => goProgram(join(tests, openstack), [], commandOf("openstack")),
    flags: ["--cloud-provider=openstack"],
    config: ({ settings: { "router-id": _, ...access } }) =>
      ["[Global]", ...Object.entries(access).map(([name, value]) => `${name} = ${value}`), ""].join("\n"),
  },
  {
    cloud: "aws",
    place: "AWS",
    title: versionOf(aws, moduleOf("aws")),
    build: () => goProgram(join(tests, aws), [], commandOf("aws")),
    flags: ["--cloud-provider=aws"],
    // The settings of a simulated cloud are those of its provider.
    config: ({ url, settings }) => configFile(url, settings as Parameters<typeof configFile>[1]),
    env: { AWS_EC2_METADATA_DISABLED: "true" },
  },
];

/** The Go manager's defaults are 20 writes per second and one worker. */
const fastest = [
  ...["--kube-api-qps=1000", "--kube-api-burst=2000"],
  ...["--concurrent-node-syncs=50", "--concurrent-service-syncs=50"],
];

export function goFlags({ flags, config }: GoManager, cloud: LocalCloud, folder: string): readonly string[] {
  const common = ["--allow-untagged-cloud", "--configure-cloud-routes=false", "--webhook-secure-port=0"];
  if (config === undefined) return [...common, ...fastest, ...flags];
  const path = join(folder, "cloud.conf");
  writeFileSync(path, config(cloud));
  return [...common, ...fastest, ...flags, `--cloud-config=${path}`];
}
