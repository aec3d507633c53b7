// Determines the source of a claim's volume: its data source, with the checks of external-provisioner. Pure.

import { willRetry } from "../../core/retry-promise.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../../kube/objects.ts";
import type { VolumeSnapshot, VolumeSnapshotContent } from "../../kube/volume-snapshots.ts";
import type { VolumeDriver, VolumeSource } from "../../provider/volumes.ts";
import { cannotCreateFrom } from "../csi/volume-requests.ts";
import { RpcError } from "../grpc/status.ts";
import { modeChangeKey, snapshotGroup } from "./names.ts";
import { isBoundTo } from "./plan-snapshot.ts";

export interface DataSource {
  readonly kind: VolumeSource["kind"];
  readonly name: string;
}

const invalid = (why: string): RpcError =>
  new RpcError(
    "INVALID_ARGUMENT",
    `${why}, so no volume is created. Create the claim again with a correct dataSource.`,
  );
/** An error that may resolve itself. */
const notYet = (why: string): RpcError =>
  new RpcError("UNAVAILABLE", `${why}, so no volume is created yet.`, { promise: willRetry });

/** Undefined for an empty volume. Throws if the cloud cannot create a volume from this source. */
export function dataSourceOf(
  { spec }: PersistentVolumeClaim,
  { name: driver, sources = [] }: VolumeDriver,
): DataSource | undefined {
  const { dataSource, dataSourceRef } = spec ?? {};
  const from = dataSourceRef ?? dataSource;
  if (from === undefined) return undefined;
  if ((dataSourceRef?.namespace ?? "") !== "")
    throw invalid(
      `The data source ${from.kind} ${from.name} is in another namespace, which is not supported`,
    );
  const type = `${from.apiGroup ?? ""}/${from.kind}`;
  const kinds: Readonly<Record<string, VolumeSource["kind"]>> = {
    [`${snapshotGroup}/VolumeSnapshot`]: "snapshot",
    "/PersistentVolumeClaim": "volume",
  };
  const kind = kinds[type];
  if (kind === undefined)
    throw invalid(
      `The data source ${from.name} is a ${type}, and must be a VolumeSnapshot or a PersistentVolumeClaim`,
    );
  if (!sources.includes(kind)) throw new RpcError("INVALID_ARGUMENT", cannotCreateFrom(kind, driver));
  return { kind, name: from.name };
}

const modeOf = (mode: string | undefined): string => mode ?? "Filesystem";

export function snapshotSource(
  { spec }: PersistentVolumeClaim,
  snapshot: VolumeSnapshot | undefined,
  content: VolumeSnapshotContent | undefined,
  { name, driver }: { readonly name: string; readonly driver: string },
): VolumeSource {
  const title = `The VolumeSnapshot ${name}`;
  if (snapshot === undefined) throw notYet(`${title} does not exist`);
  if (snapshot.metadata.deletionTimestamp !== undefined) throw invalid(`${title} is being deleted`);
  if (content === undefined || !isBoundTo(content, snapshot))
    throw notYet(`${title} is bound to no VolumeSnapshotContent`);
  if (content.spec.driver !== driver)
    throw invalid(`${title} is one of ${content.spec.driver}, and the StorageClass is one of ${driver}`);
  const id = content.status?.snapshotHandle;
  if (snapshot.status?.readyToUse !== true || id === undefined) throw notYet(`${title} is not ready to use`);
  const { sourceVolumeMode: mode = spec?.volumeMode } = content.spec;
  if (modeOf(mode) !== modeOf(spec?.volumeMode) && content.metadata.annotations?.[modeChangeKey] !== "true")
    throw invalid(
      `${title} has the volume mode ${modeOf(mode)}, and the claim ${modeOf(spec?.volumeMode)}. An administrator can allow that with the annotation ${modeChangeKey}: "true" on the VolumeSnapshotContent ${content.metadata.name}`,
    );
  return { kind: "snapshot", id };
}

export function cloneSource(
  { spec }: PersistentVolumeClaim,
  claim: PersistentVolumeClaim | undefined,
  volume: PersistentVolume | undefined,
  { name, driver }: { readonly name: string; readonly driver: string },
): VolumeSource {
  const title = `The claim ${name}`;
  if (claim === undefined) throw notYet(`${title} does not exist`);
  if (claim.metadata.deletionTimestamp !== undefined) throw invalid(`${title} is being deleted`);
  const { claimRef, csi } = volume?.spec ?? {};
  if (claim.status?.phase !== "Bound" || claimRef?.uid !== claim.metadata.uid)
    throw notYet(`${title} is not bound`);
  if (csi?.driver !== driver)
    throw invalid(`The volume of the claim ${name} is none of ${driver}, the driver of the StorageClass`);
  if (modeOf(claim.spec?.volumeMode) !== modeOf(spec?.volumeMode))
    throw invalid(
      `${title} has the volume mode ${modeOf(claim.spec?.volumeMode)}, and this claim has a different one`,
    );
  return { kind: "volume", id: csi.volumeHandle };
}
