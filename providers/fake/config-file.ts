// The fake cloud's own configuration file: `name = value` on each line, `#` for comments. It is there so that everything
// about --cloud-config can be tried without a real cloud.

import type { ConfigFile } from "#ccm";

export function readConfigFile(text: string): ConfigFile {
  const settings: Record<string, { readonly text: string; readonly line: number }> = {};
  const problems: ConfigFile["problems"][number][] = [];
  const complain = (line: number, reason: string, says: string) =>
    problems.push({ severity: "error", reason, text: says, line });
  for (const [index, written] of text.split("\n").entries()) {
    const line = index + 1;
    const content = written.trim();
    if (content === "" || content.startsWith("#")) continue;
    const equals = content.indexOf("=");
    const name = content.slice(0, Math.max(0, equals)).trim();
    // The line is not shown: it may hold a secret.
    if (name === "") complain(line, "InvalidLine", "a line such as name = value was expected");
    else if (Object.hasOwn(settings, name)) {
      complain(line, "RepeatedSetting", `${name} is given more than once; keep one`);
    } else settings[name] = { text: content.slice(equals + 1).trim(), line };
  }
  return { settings, problems };
}
