// Reads the two formats of `vsphere.conf`. Pure.

import { type ConfigFile, readGcfg } from "#ccm";
import { sections, vcenter } from "./settings.ts";

export function readConfigFile(content: string): ConfigFile {
  return readGcfg(content, {
    sections,
    records: [{ section: "VirtualCenter", setting: "virtual-centers", entry: vcenter }],
    nameOf: (key, section) => (section === "labels" ? `label-${key}` : key),
    example: "server = vcenter.example",
    ignoresUnknown: true,
  });
}
