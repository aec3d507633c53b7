// Makes csi-sanity ready to run against the volumes of one cloud, which the client starts.

import { join } from "node:path";
import { goTool } from "../../tools/rig/install.ts";
import { testFile } from "../rig/prepare.ts";
import type { PreparedClient } from "../rig/suite.ts";
import { needLoopDevices } from "./loop-disks.ts";

/** Throws Unavailable without Go, or without loop devices. */
export function csiSanity(cloud: string, ...environment: readonly string[]): PreparedClient {
  needLoopDevices();
  const path = "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity";
  const sanity = goTool({ path, version: "v5.6.0", name: "csi-sanity" });
  const { name, command } = testFile("csi-sanity", join(import.meta.dir, "sanity.client.ts"), 300);
  return { name, command: ["env", `CSI_SANITY=${sanity}`, `CSI_CLOUD=${cloud}`, ...environment, ...command] };
}

/** The Node service with the disks, file systems and mounts of this machine, without a cloud. Throws Unavailable without them. */
export function realDisks(): PreparedClient {
  needLoopDevices();
  return testFile("real disks", join(import.meta.dir, "real-disks.client.ts"), 300);
}
