// The systemd unit, and the script that installs it for one cluster. deploy/systemd is generated from it. Pure.

import type { Credential } from "./cloud-inputs.ts";
import { runtimeVariable } from "./pod.ts";

export interface UnitOptions {
  readonly program: string;
  /** The folder of the executable. */
  readonly folder?: string;
  /** The variables of the credentials; systemd reads those that are set from files. */
  readonly credentials: readonly { readonly variable: string; readonly isSet: boolean }[];
}

function credentialLines(credentials: UnitOptions["credentials"]): readonly string[] {
  const line = (variable: string) => `LoadCredential=${variable}:/etc/fairlead/%i/${variable}`;
  const others = credentials.filter(({ isSet }) => !isSet);
  return [
    ...credentials.filter(({ isSet }) => isSet).map(({ variable }) => line(variable)),
    ...(others.length === 0
      ? []
      : [
          "# A secret setting of the cloud, by the name of its variable (see --help). systemd requires that the file exists:",
          ...others.map(({ variable }) => `# ${line(variable)}`),
        ]),
  ];
}

/** A template: one instance per cluster. */
export function unitText({ program, folder = "/usr/local/bin", credentials }: UnitOptions): string {
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
# Flags as FAIRLEAD_FLAGS=…, and settings of the cloud: of all clusters, then of this one, which takes precedence.
EnvironmentFile=-/etc/fairlead/environment
EnvironmentFile=-/etc/fairlead/%i/environment
LoadCredential=kubeconfig:/etc/fairlead/%i/kubeconfig
${credentialLines(credentials).join("\n")}
# The embedded runtime reads these variables before the program starts.
UnsetEnvironment=BUN_BE_BUN BUN_OPTIONS BUN_INSPECT BUN_INSPECT_CONNECT_TO BUN_INSPECT_NOTIFY BUN_INSPECT_PRELOAD
UnsetEnvironment=BUN_CONFIG_VERBOSE_FETCH NODE_OPTIONS NODE_TLS_REJECT_UNAUTHORIZED
# Disables the slowest compiler of the runtime: it costs more memory and CPU than it gains (docs/operations.md).
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

export interface ScriptOptions {
  readonly program: string;
  /** Names the instance and its folder. */
  readonly cluster: string;
  readonly args: readonly string[];
  readonly variables: readonly { readonly name: string; readonly value: string }[];
  readonly credentials: readonly Credential[];
}

/** systemd reads a value in double quotes, where only these characters are special. */
const inQuotes = (value: string): string => `"${value.replaceAll(/["\\$`]/g, "\\$&")}"`;

function environmentText({ args, variables }: ScriptOptions): string {
  // systemd splits $FAIRLEAD_FLAGS at white space, and understands no quotes inside it.
  const lines = [["FAIRLEAD_FLAGS", args.join(" ")], ...variables.map(({ name, value }) => [name, value])];
  return lines.map(([name = "", value = ""]) => `${name}=${inQuotes(value)}\n`).join("");
}

/** The text is used literally, because the marker is in quotes and is no part of the text. */
function writeFile(path: string, mode: string, text: string): string {
  let marker = "END_OF_FILE";
  while (text.includes(marker)) marker += "_";
  return `put ${path} ${mode} <<'${marker}'\n${text}${text.endsWith("\n") ? "" : "\n"}${marker}\n`;
}

/** A script for sh: it prints nothing secret, and DESTDIR sets another root. */
export function installScript(options: ScriptOptions): string {
  const { program, cluster, credentials } = options;
  const unit = unitText({
    program,
    credentials: credentials.map(({ variable, value }) => ({ variable, isSet: value !== undefined })),
  });
  const folder = `/etc/fairlead/${cluster}`;
  const given = credentials.flatMap(({ variable, value }) =>
    value === undefined ? [] : [{ variable, value }],
  );
  const missing = credentials.filter(({ value }) => value === undefined);
  const remaining = [
    `the executable as /usr/local/bin/${program}`,
    `the kubeconfig as ${folder}/kubeconfig, readable for root only`,
    ...missing.map(
      ({ variable, text }) =>
        `if you need it: ${folder}/${variable} (${text}) and its LoadCredential line in the unit`,
    ),
    `systemctl daemon-reload && systemctl enable --now fairlead@${cluster}.service`,
  ];
  return `#!/bin/sh
# Installs ${program} as the systemd service fairlead@${cluster}. Read it, then run it as root: … | sudo sh
# DESTDIR writes below another folder.
set -eu
umask 077

# put PATH MODE: writes standard input to the file.
put() {
  mkdir -p "\${DESTDIR:-}$(dirname "$1")"
  cat > "\${DESTDIR:-}$1"
  chmod "$2" "\${DESTDIR:-}$1"
}

mkdir -p -m 0755 "\${DESTDIR:-}/etc/systemd/system"
${writeFile("/etc/systemd/system/fairlead@.service", "0644", unit)}
${writeFile(`${folder}/environment`, "0600", environmentText(options))}
${given.map(({ variable, value }) => `${writeFile(`${folder}/${variable}`, "0600", value)}\n`).join("")}cat <<'END_OF_TEXT'
Written: /etc/systemd/system/fairlead@.service and ${folder}.
What remains:
${remaining.map((step) => `- ${step}`).join("\n")}
END_OF_TEXT
`;
}
