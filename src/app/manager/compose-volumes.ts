// Composes the volume controller and its watches.

import { isLostRace } from "../../controllers/classify-error.ts";
import { journalledCloudSend, journalledSend } from "../../controllers/kernel/journalled-send.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeAttachment,
} from "../../kube/objects.ts";
import {
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttachments,
} from "../../kube/resources.ts";
import type { AnyCloud, AnyProvider } from "../../provider/provider.ts";
import { VolumeController } from "../../volumes/controller/controller.ts";
import type { VolumeDeps } from "../../volumes/controller/deps.ts";
import { VolumeHistory } from "../../volumes/controller/history.ts";
import { CloudVolumes } from "../../volumes/csi/cloud-volumes.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import type { Composer, ControllerContext, HistoryContext } from "./controller-context.ts";
import { WatchesOfSnapshots } from "./snapshot-caches.ts";
import { type WatchDeps, WatchedResource } from "./watched-resource.ts";

export interface VolumeWatches {
  readonly persistentvolumeclaims: WatchedResource<PersistentVolumeClaim>;
  readonly persistentvolumes: WatchedResource<PersistentVolume>;
  readonly volumeattachments: WatchedResource<VolumeAttachment>;
  readonly storageclasses: WatchedResource<StorageClass>;
}

/** The state of volumes for pages and commands. */
export interface VolumeCaches {
  /** The name of the CSI driver. */
  readonly driver: string;
  readonly claims: LatestObjects<PersistentVolumeClaim>;
  readonly volumes: LatestObjects<PersistentVolume>;
  readonly attachments: LatestObjects<VolumeAttachment>;
}

export function volumeCaches(
  { volumeDriver }: AnyProvider,
  watches: VolumeWatches | undefined,
): VolumeCaches | undefined {
  if (volumeDriver === undefined || watches === undefined) return undefined;
  return {
    driver: volumeDriver.name,
    claims: watches.persistentvolumeclaims.objects,
    volumes: watches.persistentvolumes.objects,
    attachments: watches.volumeattachments.objects,
  };
}

/** Throws for a cloud without volumes, because the flags name the controller. */
export function watchVolumes(
  { name, volumeDriver }: AnyProvider,
  { volumes }: Pick<AnyCloud, "volumes">,
  deps: WatchDeps,
): VolumeWatches {
  if (volumeDriver === undefined || volumes === undefined) {
    const text = `--controllers has volume, but ${volumeDriver === undefined ? `the provider ${name} has no volumes` : `the settings of ${name} leave it without volumes`}. Remove volume from --controllers.`;
    throw new ConfigurationError([{ severity: "error", reason: "NoVolumes", text }]);
  }
  return {
    persistentvolumeclaims: new WatchedResource(persistentVolumeClaims, deps),
    persistentvolumes: new WatchedResource(persistentVolumes, deps),
    volumeattachments: new WatchedResource(volumeAttachments, deps),
    storageclasses: new WatchedResource(storageClasses, deps),
  };
}

/** Composes nothing unless the volume controller runs here. */
export function volumesComposer(
  kept: HistoryContext,
  { volumeDriver: driver }: AnyProvider,
  watches: VolumeWatches | undefined,
  watchDeps: WatchDeps,
): Composer<VolumeController | undefined> {
  const { api, clock, random, formerLeaders, life } = kept;
  if (driver === undefined || watches === undefined) return () => undefined;
  const stores = {
    claims: watches.persistentvolumeclaims.objects,
    volumes: watches.persistentvolumes.objects,
    attachments: watches.volumeattachments.objects,
    classes: watches.storageclasses.objects,
  };
  const snapshots = new WatchesOfSnapshots({ ...watchDeps, api, formerLeaders, life });
  const history = new VolumeHistory(stores, snapshots, formerLeaders);
  /** Identifies this process. */
  const identity = `${clock.now()}-${Math.floor(random.fraction() * 10_000)}-${driver.name}`;
  return (context) => composeVolumes(context, { driver, stores, identity }, history);
}

function composeVolumes(
  context: ControllerContext,
  shared: Pick<VolumeDeps, "driver" | "stores" | "identity">,
  history: VolumeHistory,
): VolumeController | undefined {
  const { api, clock, random, journal, log, settings, metrics, connected, inventory, nodes, removals } =
    context;
  const { volumes, pending } = connected.cloud;
  if (volumes === undefined) return undefined;
  const journalled = { journal, clock, mode: settings.flags.mode };
  const deps: VolumeDeps = {
    ...shared,
    nodes,
    inventory,
    api,
    clock,
    random,
    removals,
    openVolumes: (session) => new CloudVolumes({ volumes, pending, clock, life: session }),
    sendToCluster: journalledSend(journalled, "cluster", isLostRace),
    sendToCloud: journalledCloudSend(journalled),
    isObserving: context.isObserving,
    report: (kind, object, event) => context.reporterOf("volume-controller", kind)(object, event),
    reportOnLease: (event) => context.reportOnLease("volume", event),
    note: (message, fields) => log.info(message, fields),
    settings: settings.lifecycle,
    sidecarNamespace: settings.flags["leader-elect-resource-namespace"],
    concurrency: settings.flags["concurrent-node-syncs"],
    onCall: metrics.volumeCall(shared.driver.name),
  };
  return new VolumeController(deps, history);
}
