// The packages of the OpenStack services: a Debian system of debootstrap in the cache, in which the
// services run by chroot. It uses the apt configuration of this machine, and changes nothing on it.

import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cached, run } from "../../../../tools/rig/cached.ts";
import { debianTool, installing, needTool, Unavailable } from "../../../../tools/rig/install.ts";

/** Octavia of older releases does not complete load balancers that are created in one request. */
const suite = "trixie";

const packages = [
  ...["mariadb-server", "rabbitmq-server", "keystone", "glance-api", "placement-api", "nova-api"],
  ...["nova-conductor", "nova-scheduler", "nova-compute", "neutron-server", "octavia-api", "octavia-worker"],
  ...["cinder-api", "cinder-scheduler", "cinder-volume"],
  ...["python3-pymysql", "uwsgi", "uwsgi-plugin-python3"],
];

/** The environment of every command in the system, whatever the environment of this process. */
const environment = {
  PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/root",
  LANG: "C.UTF-8",
  DEBIAN_FRONTEND: "noninteractive",
};

/** The command in the form in which it runs in the system. */
export function inside(
  root: string,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): readonly string[] {
  const assigned = Object.entries({ ...environment, ...env }).map(([name, value]) => `${name}=${value}`);
  return ["chroot", root, "/usr/bin/env", ...assigned, ...command];
}

function install(root: string): void {
  const debootstrap = debianTool("debootstrap", ["debootstrap"]);
  const included = "--include=ca-certificates,python3,adduser,procps";
  run([debootstrap, "--variant=minbase", included, suite, root], "/");
  const policy = join(root, "usr/sbin/policy-rc.d");
  // No package starts a service.
  writeFileSync(policy, "#!/bin/sh\nexit 101\n");
  chmodSync(policy, 0o755);
  const apt = ["apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-confnew"];
  // The mounts end with the namespace.
  const mounted = ["unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0/proc" && exec "$@"', root];
  run([...mounted, ...inside(root, [...apt, "update"])], "/");
  run([...mounted, ...inside(root, [...apt, "install", "--no-install-recommends", ...packages])], "/");
  run(inside(root, ["apt-get", "clean"]), "/");
}

/** The folder of the system. Throws Unavailable if it cannot be created or used. */
export function servicePackages(): string {
  if (process.getuid?.() !== 0)
    throw new Unavailable("the OpenStack services run by chroot, which needs root");
  for (const tool of ["chroot", "unshare", "mount", "openssl"]) needTool(tool);
  const isolated = ["unshare", "--mount", "--pid", "--net", "--fork", "true"];
  if (Bun.spawnSync(isolated).exitCode !== 0) throw new Unavailable("this machine forbids namespaces");
  const names = Bun.hash(packages.join(" ")).toString(36);
  return installing("the OpenStack services", () => cached(`openstack-packages-${suite}-${names}`, install));
}
