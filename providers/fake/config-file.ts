// Parses the fake cloud's configuration file: `name = value` on each line, `#` for comments. With it, --cloud-config can be
// tried without a real cloud.

import type { ConfigFile } from "#ccm";

export function readConfigFile(text: string): ConfigFile {
  const settings: Record<string, { readonly text: string; readonly line: number }> = {};
  const problems: ConfigFile["problems"][number][] = [];
  const report = (line: number, reason: string, text: string) =>
    problems.push({ severity: "error", reason, text, line });
  for (const [index, raw] of text.split("\n").entries()) {
    const line = index + 1;
    const content = raw.trim();
    if (content === "" || content.startsWith("#")) continue;
    const equals = content.indexOf("=");
    const name = content.slice(0, Math.max(0, equals)).trim();
    // The line may contain a secret, so the message does not show it.
    if (name === "") report(line, "InvalidLine", "expected a line such as name = value");
    else if (Object.hasOwn(settings, name)) {
      report(line, "RepeatedSetting", `${name} is set more than once; keep one of the lines`);
    } else settings[name] = { text: content.slice(equals + 1).trim(), line };
  }
  return { settings, problems };
}
