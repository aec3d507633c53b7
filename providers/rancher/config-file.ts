// Parses the configuration file of the Go manager: sections in brackets and `name = value` lines. Pure.

import type { ConfigFile, ConfigValue } from "#ccm";

const names: Readonly<Record<string, string>> = {
  "cattle-url": "url",
  "cattle-access-key": "access-key",
  "cattle-secret-key": "secret-key",
};

/** Without quotes, and without a comment that follows. */
function unquoted(text: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"\s*(?:[#;].*)?$/.exec(text)?.[1];
  if (quoted !== undefined) return quoted.replaceAll(/\\(.)/g, "$1");
  return text.replace(/\s+[#;].*$/, "");
}

/** Other names of the section Global are settings of Fairlead. */
export function readConfigFile(text: string): ConfigFile {
  const settings: Record<string, ConfigValue> = {};
  const problems: ConfigFile["problems"][number][] = [];
  let section = "";
  for (const [index, raw] of text.split("\n").entries()) {
    const line = index + 1;
    const content = raw.trim();
    const report = (reason: string, problem: string) =>
      problems.push({ severity: "error", reason, text: problem, line });
    if (content === "" || content.startsWith("#") || content.startsWith(";")) continue;
    const header = /^\[\s*([^\]"]+?)\s*\]$/.exec(content)?.[1];
    if (header !== undefined) {
      section = header.toLowerCase();
      if (section !== "global") report("UnknownSection", `section [${header}] is unknown; expected [Global]`);
      continue;
    }
    const [, name, value = ""] = /^([\w-]+)\s*=\s*(.*)$/.exec(content) ?? [];
    // The line may contain a secret, so the message does not show it.
    if (name === undefined) report("InvalidLine", "expected a line such as cattle-url = http://rancher:8080");
    else if (section === "") report("InvalidLine", `${name} must be in the section [Global]`);
    else if (section === "global")
      settings[names[name.toLowerCase()] ?? name.toLowerCase()] = { text: unquoted(value.trim()), line };
  }
  return { settings, problems };
}
