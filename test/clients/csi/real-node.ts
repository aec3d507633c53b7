// The Node service with the real programs and mounts of this machine, and its calls as the kubelet sends them.

import { systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files.ts";
import { systemDisks } from "../../../src/platform/system-disks.ts";
import type { VolumeDriver } from "../../../src/provider/volumes.ts";
import { nodeService } from "../../../src/volumes/csi/node-service.ts";

export interface NodeCall {
  readonly method: "stage" | "publish" | "expand" | "unstage" | "unpublish";
  readonly staging: string;
  readonly target?: string;
  /** Undefined if the pod gets the device. */
  readonly type: string | undefined;
  readonly flags?: readonly string[];
  readonly isReadOnly?: boolean;
  readonly bytes?: number;
}

export const nodeOf = (driver: VolumeDriver, files: Pick<typeof systemFiles, "read" | "run"> = systemFiles) =>
  nodeService({
    driver,
    disks: systemDisks,
    files,
    clock: systemClock,
    identity: { id: "1", limit: 8, topology: undefined },
    warn: () => undefined,
  }).handlers;

const call = { signal: new AbortController().signal };

export async function runCall(
  node: ReturnType<typeof nodeOf>,
  { method, staging, target = "", type, flags = [], isReadOnly = false, bytes = 0 }: NodeCall,
): Promise<unknown> {
  const accessMode = { mode: "SINGLE_NODE_WRITER" as const };
  const mount = { fsType: type ?? "", mountFlags: [...flags], volumeMountGroup: "" };
  const volumeCapability =
    type === undefined
      ? { accessMode, block: {}, mount: undefined }
      : { accessMode, block: undefined, mount };
  const volume = { volumeID: "v1", stagingTargetPath: staging, secrets: {}, volumeCapability };
  const context = { publishContext: {}, volumeContext: {} };
  const capacityRange = { requiredBytes: bytes, limitBytes: 0 };
  switch (method) {
    case "stage":
      return node.NodeStageVolume?.({ ...volume, ...context }, call);
    case "publish":
      return node.NodePublishVolume?.(
        { ...volume, ...context, targetPath: target, readonly: isReadOnly },
        call,
      );
    case "expand":
      return node.NodeExpandVolume?.({ ...volume, volumePath: staging, capacityRange }, call);
    case "unstage":
      return node.NodeUnstageVolume?.({ volumeID: "v1", stagingTargetPath: staging }, call);
    case "unpublish":
      return node.NodeUnpublishVolume?.({ volumeID: "v1", targetPath: target }, call);
  }
}
