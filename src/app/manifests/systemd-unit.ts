// The systemd units of the manager and of node-volumes, which deploy/systemd and the packages contain. Pure.

import { runtimeVariable } from "../runtime-variables.ts";
import { nodeVolumesVariable } from "./pod.ts";

export interface UnitOptions {
  readonly program: string;
  /** The executable's folder. */
  readonly folder?: string;
  /** The variables of the credentials, which appear in comments. */
  readonly variables: readonly string[];
}

/** Commented out, because systemd requires that the file exists. */
function credentialLines(variables: readonly string[]): string {
  if (variables.length === 0) return "";
  const lines = variables.map((name) => `# LoadCredential=${name}:/etc/fairlead/%i/${name}\n`);
  return `# A secret setting of the cloud, by the name of its variable (see --help), in a drop-in. systemd requires that the file exists:\n${lines.join("")}`;
}

/** The variables with which a user would change the embedded runtime before the program starts. */
const runtimeLines = `# The embedded runtime reads these variables before the program starts.
UnsetEnvironment=BUN_BE_BUN BUN_OPTIONS BUN_INSPECT BUN_INSPECT_CONNECT_TO BUN_INSPECT_NOTIFY BUN_INSPECT_PRELOAD
UnsetEnvironment=BUN_CONFIG_VERBOSE_FETCH NODE_OPTIONS NODE_TLS_REJECT_UNAUTHORIZED
`;

/** A template with one instance per cluster. */
export function unitText({ program, folder = "/usr/local/bin", variables }: UnitOptions): string {
  return `# One instance per cluster: fairlead@prod.service reads /etc/fairlead/prod/.
# Credentials are files that only root can read; systemd passes them by name (docs/operations.md).
[Unit]
Description=Fairlead, cloud-controller-manager of cluster %i
Documentation=file:/usr/share/doc/fairlead/operations.md
After=network.target
# Does not wait for network-online or DNS: unavailable endpoints are retried.
StartLimitIntervalSec=0

[Service]
Type=notify
ExecStart=${folder}/${program} --cluster-name=%i $FAIRLEAD_FLAGS
# The shell has kill built in; /bin/kill is missing on minimal systems.
ExecReload=/bin/sh -c "kill -HUP $MAINPID"
# Flags as FAIRLEAD_FLAGS=…, and cloud settings: of all clusters, then of this one, which takes precedence.
EnvironmentFile=-/etc/fairlead/environment
EnvironmentFile=-/etc/fairlead/%i/environment
LoadCredential=kubeconfig:/etc/fairlead/%i/kubeconfig
${credentialLines(variables)}${runtimeLines}# Disables the optimizing compilers of the runtime: they cost more memory and CPU than they save (docs/operations.md).
Environment=${runtimeVariable.name}=${runtimeVariable.value}
Restart=always
RestartSec=2
# Exit code 2 is a configuration error; a restart would not help.
RestartPreventExitStatus=2
WatchdogSec=60
# Longer than --drain-timeout (10 s) plus the release of the Lease.
TimeoutStopSec=20

DynamicUser=yes
CapabilityBoundingSet=
AmbientCapabilities=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateUsers=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProcSubset=pid
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
UMask=0077
MemoryMax=512M
# Not MemoryDenyWriteExecute: the runtime has a JIT compiler.

[Install]
WantedBy=multi-user.target
`;
}

export interface VolumesUnitOptions extends Pick<UnitOptions, "program" | "folder"> {
  /** The name of the CSI driver. */
  readonly driver: string;
}

/**
 * Runs on each machine with a kubelet. The unit uses the machine's mounts, so no setting may create a mount namespace: the
 * kubelet must see the mounts.
 */
export function volumesUnitText({ program, folder = "/usr/local/bin", driver }: VolumesUnitOptions): string {
  return `# Formats and mounts volumes for the kubelet of this machine, with the programs of the machine (docs/volumes.md).
[Unit]
Description=Fairlead, volumes of this machine
Documentation=file:/usr/share/doc/fairlead/volumes.md
After=network.target
StartLimitIntervalSec=0

[Service]
Type=notify
# The name of the Node, if the kubelet does not use the name of the machine, and further flags: NODE_NAME=…, FAIRLEAD_VOLUMES_FLAGS=…
Environment=NODE_NAME=%H
Environment=FAIRLEAD_VOLUMES_FLAGS=--kubeconfig=/etc/kubernetes/kubelet.conf
EnvironmentFile=-/etc/fairlead/volumes
ExecStart=${folder}/${program} node-volumes --csi-endpoint=unix:///var/lib/kubelet/plugins/${driver}/csi.sock --http-endpoint=127.0.0.1:9808 $FAIRLEAD_VOLUMES_FLAGS
${runtimeLines}# Disables the compilers of the runtime that node-volumes does not need, for less memory (docs/volumes.md).
Environment=${nodeVolumesVariable.name}=${nodeVolumesVariable.value}
Restart=always
RestartSec=2
RestartPreventExitStatus=2
# A format that has begun goes on when this process ends, and keeps the lock of its disk.
KillMode=process
TimeoutStopSec=60

NoNewPrivileges=yes
CapabilityBoundingSet=CAP_SYS_ADMIN CAP_SYS_RESOURCE CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER CAP_CHOWN CAP_FSETID
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
UMask=0077
# No MemoryMax: the check of a large file system needs much memory. No ProtectSystem, PrivateTmp or PrivateMounts: they would hide mounts.

[Install]
WantedBy=multi-user.target
`;
}
