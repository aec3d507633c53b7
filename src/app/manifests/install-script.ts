// The script that installs the systemd unit for one cluster: `manifests --as systemd`. Pure.

import type { Credential } from "./cloud-inputs.ts";
import { unitText } from "./systemd-unit.ts";

export interface ScriptOptions {
  readonly program: string;
  /** The cluster name, which names the instance and its folder. */
  readonly cluster: string;
  readonly args: readonly string[];
  readonly variables: readonly { readonly name: string; readonly value: string }[];
  readonly credentials: readonly Credential[];
}

/** Quotes a value for systemd. Only these characters are special in double quotes. */
const inQuotes = (value: string): string => `"${value.replaceAll(/["\\$`]/g, "\\$&")}"`;

function environmentText({ args, variables }: ScriptOptions): string {
  // systemd splits $FAIRLEAD_FLAGS at white space and does not interpret quotes in it.
  const lines = [["FAIRLEAD_FLAGS", args.join(" ")], ...variables.map(({ name, value }) => [name, value])];
  return lines.map(([name = "", value = ""]) => `${name}=${inQuotes(value)}\n`).join("");
}

/** The text is used literally, because the marker is quoted and does not occur in the text. */
function writeFile(path: string, mode: string, text: string): string {
  let marker = "END_OF_FILE";
  while (text.includes(marker)) marker += "_";
  return `put ${path} ${mode} <<'${marker}'\n${text}${text.endsWith("\n") ? "" : "\n"}${marker}\n`;
}

/** The drop-in file of one instance, because all clusters on the machine share the unit. */
function credentialsText(credentials: ScriptOptions["credentials"]): string {
  const line = (variable: string) => `LoadCredential=${variable}:/etc/fairlead/%i/${variable}\n`;
  return [
    "# Written by manifests --as systemd. systemd requires that each file exists.\n[Service]\n",
    ...credentials.map(({ variable, value, text }) =>
      value === undefined ? `# ${text}\n# ${line(variable)}` : line(variable),
    ),
  ].join("");
}

/** A shell script that prints nothing secret. DESTDIR sets a different root. */
export function installScript(options: ScriptOptions): string {
  const { program, cluster, credentials } = options;
  const folder = `/etc/fairlead/${cluster}`;
  const dropIn = `/etc/systemd/system/fairlead@${cluster}.service.d/credentials.conf`;
  const given = credentials.flatMap(({ variable, value }) =>
    value === undefined ? [] : [{ variable, value }],
  );
  const missing = credentials.filter(({ value }) => value === undefined);
  return `#!/bin/sh
# Installs ${program} as the systemd service fairlead@${cluster}. Read it, then run it as root: … | sudo sh
# DESTDIR writes below another folder.
set -eu
umask 077
root=\${DESTDIR:-}

# put PATH MODE: writes standard input to the file.
put() {
  (umask 022; mkdir -p "$root$(dirname "$1")")
  cat > "$root$1"
  chmod "$2" "$root$1"
  echo "Written: $1"
}

# The unit of the package, if it is installed.
if [ ! -e "$root/usr/lib/systemd/system/fairlead@.service" ]; then
${writeFile("/etc/systemd/system/fairlead@.service", "0644", unitText({ program, variables: [] }))}
fi
(umask 022; mkdir -p "$root/etc/fairlead")
mkdir -p "$root${folder}"
chmod 0700 "$root${folder}"
${writeFile(`${folder}/environment`, "0600", environmentText(options))}
${credentials.length === 0 ? "" : writeFile(dropIn, "0644", credentialsText(credentials))}
${given.map(({ variable, value }) => `${writeFile(`${folder}/${variable}`, "0600", value)}\n`).join("")}echo "What remains:"
if [ ! -x "$root/usr/bin/${program}" ] && [ ! -x "$root/usr/local/bin/${program}" ]; then
  echo "- the executable as /usr/local/bin/${program}"
fi
if [ ! -e "$root${folder}/kubeconfig" ]; then
  echo "- the kubeconfig as ${folder}/kubeconfig, readable for root only"
fi
cat <<'END_OF_TEXT'
${[
  ...missing.map(
    ({ variable, text }) => `- if needed, ${folder}/${variable} (${text}) and its line in ${dropIn}`,
  ),
  `- systemctl daemon-reload && systemctl enable --now fairlead@${cluster}.service`,
].join("\n")}
END_OF_TEXT
`;
}
