// Reads the two formats of `vsphere.conf`, YAML and INI. Load balancers and routes of NSX-T are not supported.

import { type ConfigFile, dashed, readGcfg, readYamlFile } from "#ccm";
import { sections, vcenter } from "./settings.ts";

/**
 * The objects that the Go manager manages with a section, by the name of the section in lower case. With Fairlead, they would
 * have no manager.
 */
const unsupported: ReadonlyMap<string, string> = new Map([
  ["loadbalancer", "load balancers"],
  ["loadbalancerclass", "load balancers"],
  ["route", "routes"],
]);

function unsupportedSections(content: string, header: RegExp): ConfigFile["problems"] {
  return content.split("\n").flatMap((line, index) => {
    const name = header.exec(line)?.[1] ?? "";
    const what = unsupported.get(name.toLowerCase());
    const text = `${name}: NSX-T is not supported. Its ${what} would no longer be managed: keep the Go manager for them, or move them to another controller, and remove the section`;
    const problem = { severity: "error", reason: "UnsupportedSection", text, line: index + 1 } as const;
    return what === undefined ? [] : problem;
  });
}

const labelOr = (other: (key: string) => string) => (key: string, section: string) =>
  section === "labels" ? `label-${other(key)}` : other(key);

function readIni(content: string): ConfigFile {
  return readGcfg(content, {
    sections,
    records: [{ section: "VirtualCenter", setting: "virtual-centers", entry: vcenter }],
    nameOf: labelOr((key) => key),
    example: "server = vcenter.example",
    ignoresUnknown: true,
  });
}

function readYaml(content: string): Promise<ConfigFile> {
  const lowerCase = Object.entries(sections).map(([name, fields]) => [name.toLowerCase(), fields]);
  return readYamlFile(content, {
    sections: Object.fromEntries(lowerCase),
    records: [{ section: "vcenter", setting: "virtual-centers", entry: vcenter }],
    nameOf: labelOr(dashed),
  });
}

/** In YAML, the key of a vCenter is not its server. */
function withoutServer({ "virtual-centers": all = [] }: ConfigFile["settings"]): ConfigFile["problems"] {
  if ("text" in all) return [];
  return all
    .filter(({ values }) => values["server"] === undefined)
    .map(({ line, title }) => ({
      severity: "error",
      reason: "InvalidSetting",
      text: `server in ${title} is missing. Add the host name or address of the vCenter`,
      line,
    }));
}

/** The first line of an INI file with content is a section in brackets. */
function isIni(content: string): boolean {
  const first = content.split("\n").find((line) => !/^\s*([#;]|$)/.test(line));
  return first?.trimStart().startsWith("[") === true;
}

export async function readConfigFile(content: string): Promise<ConfigFile> {
  const hasBrackets = isIni(content);
  const found = unsupportedSections(content, hasBrackets ? /^\s*\[\s*(\w+)/ : /^(\w+):/);
  const { settings, problems } = hasBrackets ? readIni(content) : await readYaml(content);
  // The reader reports such a section as unknown.
  const others = problems.filter(({ line }) => found.every((one) => one.line !== line));
  return { settings, problems: [...others, ...found, ...(hasBrackets ? [] : withoutServer(settings))] };
}
