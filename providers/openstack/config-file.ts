// Reads OpenStack's two configuration files: the Go manager's `cloud.conf`, and the OpenStack clients' `clouds.yaml`. Pure.

import { type ConfigFile, readGcfg, text } from "#ccm";
import { access, balancerClass, scope, sections } from "./settings.ts";

export function readConfigFile(content: string): ConfigFile {
  return readGcfg(content, {
    // The value is a text for the Go manager, and of gcfg's words for true only one disables the verification.
    sections: { ...sections, Global: { ...sections.Global, "tls-insecure": text("") } },
    records: [
      { section: "LoadBalancerClass", setting: "load-balancer-classes", entry: balancerClass },
      { section: "Scope", setting: "scopes", entry: scope, isOwn: true },
    ],
    // This is the only key that is ambiguous without its section.
    nameOf: (key, section) => (section + key === "loadbalancerenabled" ? "load-balancers-enabled" : key),
    example: "auth-url = https://keystone.example:5000/v3",
    ignoresUnknown: true,
  });
}

/** The names in `clouds.yaml` that differ from those of the settings by more than underscores. */
const cloudKeys: Readonly<Record<string, readonly string[]>> = {
  region: ["region_name"],
  "os-endpoint-type": ["interface", "endpoint_type"],
};

const keysOf = (setting: string): readonly string[] =>
  cloudKeys[setting] ?? [setting.replace(/^tenant-/, "project-").replaceAll("-", "_")];

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The settings of a cloud by the names of Fairlead, or why there are none. Without a name, the file must have exactly one cloud.
 */
export function readClouds(
  text: string,
  wanted: string | undefined,
): Readonly<Record<string, string>> | string {
  let parsed: unknown;
  try {
    parsed = Bun.YAML.parse(text);
  } catch {
    // The message of the parser may contain a secret.
    return "it is not YAML";
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
  const entries = Object.keys(access).flatMap((setting) => {
    const value = keysOf(setting).flatMap((key) => flat[key] ?? [])[0];
    return typeof value === "string" || typeof value === "number" ? [[setting, String(value)]] : [];
  });
  return { ...Object.fromEntries(entries), ...(flat["verify"] === false && { "tls-insecure": "true" }) };
}
