// Reads the two configuration files of OpenStack: `cloud.conf` of the Go manager (INI, as its parser gcfg reads it) and `clouds.yaml` of
// the OpenStack clients. Pure.

import type { ConfigFile, ConfigSection, ConfigValue } from "#ccm";

const sections: readonly string[] = ["global", "networking", "route", "loadbalancer", "metadata"];
const classSection = "loadbalancerclass";
/** Keys that may be repeated: each line adds an entry. */
const repeatable = new Set(["public-network-name", "internal-network-name"]);
/** The only key of all sections whose name says nothing without its section. */
const renamed: Readonly<Record<string, string>> = { "loadbalancer enabled": "load-balancers-enabled" };

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", b: "\b" };

/** Quotes may begin and end anywhere, and outside of them a comment ends the value. Undefined if a quote is not closed. */
function valueIn(raw: string): string | undefined {
  let [value, kept, isQuoted] = ["", 0, false];
  for (let at = 0; at < raw.length; at++) {
    const char = raw.charAt(at);
    if (char === '"') isQuoted = !isQuoted;
    else if (char === "\\") {
      at += 1;
      value += escapes[raw.charAt(at)] ?? raw.charAt(at);
    } else if (!isQuoted && /[#;]/.test(char)) break;
    else value += char;
    // Spaces at the end count inside of quotes only.
    if (isQuoted || char === '"' || !/\s/.test(char)) kept = value.length;
  }
  return isQuoted ? undefined : value.slice(0, kept);
}

interface Line {
  readonly line: number;
  readonly content: string;
}

/** A backslash at the end of a line continues it. */
function linesOf(text: string): readonly Line[] {
  const lines: Line[] = [];
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const last = lines.at(-1);
    if (last?.content.endsWith("\\"))
      lines[lines.length - 1] = { ...last, content: last.content.slice(0, -1) + raw };
    else lines.push({ line: index + 1, content: raw });
  }
  return lines.map(({ line, content }) => ({ line, content: content.trim() }));
}

export function readConfigFile(text: string): ConfigFile {
  const settings: Record<string, ConfigValue> = {};
  const classes: { readonly line: number; readonly values: Record<string, ConfigValue> }[] = [];
  const problems: ConfigFile["problems"][number][] = [];
  let section = "";
  let target: Record<string, ConfigValue> | undefined;
  for (const { line, content } of linesOf(text)) {
    const report = (reason: string, problem: string) =>
      problems.push({ severity: "error", reason, text: problem, line });
    if (content === "" || /^[#;]/.test(content)) continue;
    const [, header, , name] =
      /^\[\s*([\w-]+)\s*("((?:[^"\\]|\\.)*)")?\s*\]\s*(?:[#;].*)?$/.exec(content) ?? [];
    if (header !== undefined) {
      section = header.toLowerCase();
      const isClass = section === classSection && name !== undefined;
      target = isClass ? { name: { text: name.replaceAll(/\\(.)/g, "$1"), line } } : settings;
      if (isClass) classes.push({ line, values: target });
      else if (!sections.includes(section)) {
        target = undefined;
        const expected =
          'expected [Global], [Networking], [Route], [LoadBalancer], [Metadata] or [LoadBalancerClass "name"]';
        report("UnknownSection", `section [${header}] is unknown; ${expected}. Its settings are not read.`);
      }
      continue;
    }
    const [, key = "", assigned, raw = ""] = /^([\w-]+)\s*(=?)\s*(.*)$/.exec(content) ?? [];
    const value = assigned === "" ? "true" : valueIn(raw);
    // The line may contain a secret, so the message does not show it.
    if (key === "" || (assigned === "" && raw !== ""))
      report("InvalidLine", "expected a line such as auth-url = https://keystone.example:5000/v3");
    else if (value === undefined) report("InvalidLine", `the value of ${key} has a quote that is not closed`);
    else if (section === "") report("InvalidLine", `${key} must be in a section such as [Global]`);
    else if (target !== undefined) {
      const written = key.toLowerCase();
      const setting = renamed[`${section} ${written}`] ?? written;
      const before = target[setting];
      const isMore = before !== undefined && repeatable.has(setting);
      target[setting] = { text: isMore ? `${before.text}\n${value}` : value, line };
    }
  }
  const isEmpty = classes.length === 0;
  return {
    settings: isEmpty ? settings : { ...settings, "load-balancer-classes": classes as ConfigSection[] },
    problems,
  };
}

/** Where `clouds.yaml` has each setting. */
const cloudKeys = {
  ...{ auth_url: "auth-url", user_id: "user-id", username: "username", password: "password" },
  ...{
    project_id: "tenant-id",
    project_name: "tenant-name",
    domain_id: "domain-id",
    domain_name: "domain-name",
  },
  ...{ project_domain_id: "tenant-domain-id", project_domain_name: "tenant-domain-name" },
  ...{
    user_domain_id: "user-domain-id",
    user_domain_name: "user-domain-name",
    trust_id: "trust-id",
    token: "token",
  },
  ...{
    application_credential_id: "application-credential-id",
    region_name: "region",
    interface: "os-endpoint-type",
  },
  ...{ application_credential_name: "application-credential-name", endpoint_type: "os-endpoint-type" },
  ...{ application_credential_secret: "application-credential-secret" },
  ...{ cacert: "ca-file", cert: "cert-file", key: "key-file" },
} as const;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The settings of a cloud by our names, or why there are none. Without a name, the file must have one cloud. */
export function readClouds(
  text: string,
  wanted: string | undefined,
): Readonly<Record<string, string>> | string {
  let parsed: unknown;
  try {
    parsed = Bun.YAML.parse(text);
  } catch {
    // The parser's message may quote a secret.
    return "it is no YAML";
  }
  const clouds = isObject(parsed) && isObject(parsed["clouds"]) ? parsed["clouds"] : {};
  const names = Object.keys(clouds);
  const name = wanted ?? (names.length === 1 ? names[0] : undefined);
  const cloud = name === undefined ? undefined : clouds[name];
  const known = names.length === 0 ? "no clouds" : `the clouds ${names.join(", ")}`;
  if (!isObject(cloud))
    return name === undefined
      ? `it has ${known}, and cloud names none of them`
      : `it has ${known}, and not ${JSON.stringify(name)}`;
  const flat = { ...(isObject(cloud["auth"]) ? cloud["auth"] : {}), ...cloud };
  const entries = Object.entries(cloudKeys).flatMap(([key, setting]) => {
    const value = flat[key];
    return typeof value === "string" || typeof value === "number" ? [[setting, String(value)]] : [];
  });
  return { ...Object.fromEntries(entries), ...(flat["verify"] === false && { "tls-insecure": "true" }) };
}
