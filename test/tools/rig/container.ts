// Runs an unpacked OCI bundle with crun as strictly as a restricted Pod: no capabilities, a read-only root, no new privileges.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type KeptProcess, startProcess } from "../../cluster/rig/kept-process.ts";

interface BundleConfig {
  process: {
    args: string[];
    env: string[];
    terminal: boolean;
    capabilities: object;
    noNewPrivileges: boolean;
  };
  root: { path: string; readonly: boolean };
  mounts: { destination: string; type: string; source: string; options?: string[] }[];
  linux: { namespaces: { type: string }[]; resources?: object };
}

export interface ContainerOptions {
  readonly args: readonly string[];
  readonly env: readonly string[];
  /** A folder of the host, at the same path and read-only. */
  readonly folder: string;
}

/**
 * The network is that of the host, as in a Pod with hostNetwork. Limits are omitted, because the machine may allow no cgroups.
 */
function restrict(bundle: string, { args, env, folder }: ContainerOptions): void {
  const path = join(bundle, "config.json");
  const config = JSON.parse(readFileSync(path, "utf8")) as BundleConfig;
  config.process.terminal = false;
  config.process.noNewPrivileges = true;
  config.process.capabilities = {};
  config.process.args.push(...args);
  config.process.env.push(...env);
  config.root.readonly = true;
  config.mounts = [
    ...config.mounts.filter(({ destination }) => destination !== "/sys/fs/cgroup" && destination !== "/sys"),
    { destination: folder, type: "bind", source: folder, options: ["rbind", "ro"] },
  ];
  delete config.linux.resources;
  config.linux.namespaces = config.linux.namespaces.filter(
    ({ type }) => !["cgroup", "network"].includes(type),
  );
  writeFileSync(path, JSON.stringify(config));
}

/** crun rejects a machine with both versions of cgroups, so the second one is hidden from it. */
const script = 'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$@"';

export function startContainer(bundle: string, options: ContainerOptions): KeptProcess {
  restrict(bundle, options);
  const crun = [
    "crun",
    "--cgroup-manager=disabled",
    "run",
    "--bundle",
    bundle,
    `fairlead-test-${process.pid}`,
  ];
  return startProcess(["unshare", "--mount", "sh", "-c", script, "sh", ...crun], { cwd: bundle });
}

/** The pid of the process inside, which is the only child of crun. */
export function pidInside(container: KeptProcess): number {
  return Number(readFileSync(`/proc/${container.pid}/task/${container.pid}/children`, "utf8").trim());
}
