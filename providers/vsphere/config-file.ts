// Reads the two formats of `vsphere.conf`, YAML and INI. Sections for NSX-T are not supported.

import { type ConfigFile, dashed, readGcfg, readYamlFile, type Severity } from "#ccm";
import { sections, vcenter } from "./settings.ts";

interface Unsupported {
  readonly severity: Severity;
  readonly text: string;
}

const nsx = "NSX-T is not supported";
/** Without these, the Go manager's load balancers and routes would be left alone, and new ones would be missing. */
const missed = (what: string) =>
  `Its ${what} would no longer be managed: keep the Go manager for them, or move them to another controller, and remove the section`;

/** Sections of the provider that was part of Kubernetes, for volumes. */
const inTree: Unsupported = {
  severity: "warning",
  text: "the section belongs to the former in-tree provider, so it has no effect. Remove it; volumes need the CSI driver of vSphere",
};

/** By the name of the section in lower case. */
const unsupported = new Map<string, Unsupported>(
  Object.entries({
    nsxt: { severity: "warning", text: `${nsx}, so the section has no effect. Remove it` },
    loadbalancer: { severity: "error", text: `${nsx}. ${missed("load balancers")}` },
    loadbalancerclass: { severity: "error", text: `${nsx}. ${missed("load balancers")}` },
    route: { severity: "error", text: `${nsx}. ${missed("routes")}` },
    ...Object.fromEntries(["workspace", "disk", "network"].map((name) => [name, inTree])),
  }),
);

/** The text without the sections that are not supported, and what is wrong with these. `nameIn` returns the name of a section that begins. */
function withoutUnsupported(
  content: string,
  nameIn: (line: string) => string | undefined,
): { readonly content: string; readonly problems: ConfigFile["problems"] } {
  const problems: ConfigFile["problems"][number][] = [];
  let isLeftOut = false;
  const lines = content.split("\n").map((line, index) => {
    const name = nameIn(line);
    if (name !== undefined) {
      const found = unsupported.get(name.toLowerCase());
      isLeftOut = found !== undefined;
      if (found !== undefined) {
        const text = `${name}: ${found.text}`;
        problems.push({ severity: found.severity, reason: "UnsupportedSection", text, line: index + 1 });
      }
    }
    return isLeftOut ? "" : line;
  });
  return { content: lines.join("\n"), problems };
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

/** The first line of an INI file with content is a section in brackets. */
function isIni(content: string): boolean {
  const first = content.split("\n").find((line) => !/^\s*([#;]|$)/.test(line));
  return first?.trimStart().startsWith("[") === true;
}

export async function readConfigFile(content: string): Promise<ConfigFile> {
  const hasBrackets = isIni(content);
  const header = hasBrackets ? /^\s*\[\s*(\w+)/ : /^(\w+):/;
  const rest = withoutUnsupported(content, (line) => header.exec(line)?.[1]);
  const read = hasBrackets ? readIni(rest.content) : await readYaml(rest.content);
  return { ...read, problems: [...read.problems, ...rest.problems] };
}
