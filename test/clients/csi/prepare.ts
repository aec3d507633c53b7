// Prepares the Kubernetes programs for CSI to run against the volumes of simulated clouds, which the clients start.

import { join } from "node:path";
import { missingAssets } from "../../cluster/rig/assets.ts";
import { goModule, goProgram, goTool, publishedProgram, Unavailable } from "../../tools/rig/install.ts";
import { testFile } from "../rig/prepare.ts";
import type { PreparedClient } from "../rig/suite.ts";
import { needLoopDevices } from "./loop-disks.ts";

/** Throws Unavailable without Go, or without loop devices. */
export function csiSanity(cloud: string, ...environment: readonly string[]): PreparedClient {
  needLoopDevices();
  const path = "github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity";
  const sanity = goTool({ path, version: "v5.6.0", name: "csi-sanity" });
  const { name, command } = testFile("csi-sanity", join(import.meta.dir, "sanity.client.ts"), 900);
  return { name, command: ["env", `CSI_SANITY=${sanity}`, `CSI_CLOUD=${cloud}`, ...environment, ...command] };
}

/**
 * The Node service with the disks, file systems and mounts of this machine, without a cloud. Throws Unavailable if these are
 * missing.
 */
export function realDisks(): PreparedClient {
  needLoopDevices();
  return testFile("real disks", join(import.meta.dir, "real-disks.client.ts"), 300);
}

/** The sidecars of upstream that the volume controller replaces, by name. */
const sidecars = {
  "csi-provisioner": { module: "external-provisioner/v6", version: "v6.4.0" },
  "csi-attacher": { module: "external-attacher/v4", version: "v4.13.0" },
  "csi-resizer": { module: "external-resizer/v2", version: "v2.3.0" },
} as const;

const snapshotterFolder = join(import.meta.dir, "snapshotter");
const snapshotter = "github.com/kubernetes-csi/external-snapshotter";
const snapshotCRDs = ["volumesnapshots", "volumesnapshotcontents", "volumesnapshotclasses"];

/** The sidecars and the volume controller on real control planes. Throws Unavailable without Go or a control plane. */
export function csiSidecars(): PreparedClient {
  const missing = missingAssets(["etcd", "kube-apiserver", "kube-controller-manager"]);
  if (missing !== undefined) throw new Unavailable(missing);
  const paths = Object.entries(sidecars).map(([name, { module, version }]) =>
    publishedProgram({ module: `github.com/kubernetes-csi/${module}`, version, folder: `cmd/${name}` }),
  );
  // The module replaces its client by a folder that is missing, so it is built as a tool of a module here.
  for (const name of ["csi-snapshotter", "snapshot-controller"])
    paths.push(goProgram(snapshotterFolder, [], `${snapshotter}/v8/cmd/${name}`));
  const client = goModule(`${snapshotter}/client/v8`, "v8.6.0");
  const crds = snapshotCRDs.map((plural) =>
    join(client, `config/crd/snapshot.storage.k8s.io_${plural}.yaml`),
  );
  const { name, command } = testFile("sidecars", join(import.meta.dir, "sidecars/sidecars.client.ts"), 1200);
  const environment = [`CSI_SIDECARS=${paths.join(",")}`, `CSI_SNAPSHOT_CRDS=${crds.join(",")}`];
  return { name, command: ["env", ...environment, ...command] };
}
