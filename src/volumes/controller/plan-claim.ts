// Decides whether a claim needs a volume, and with which properties: the checks and names of external-provisioner. Pure.

import { bytesOf, quantityOf } from "../../core/quantity.ts";
import type { Draft } from "../../kube/client/api.ts";
import type { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../kube/objects.ts";
import type { ObservedVolume, VolumeDriver, VolumeSource } from "../../provider/volumes.ts";
import type { VolumeRequest } from "../csi/cloud-volumes.ts";
import { readParameters, readSize, refusedMode } from "../csi/volume-requests.ts";
import { RpcError } from "../grpc/status.ts";
import {
  classKey,
  deletionSecretKeys,
  identityKey,
  provisionedByKey,
  provisionerFinalizer,
  provisionerKeys,
  selectedNodeKey,
} from "./names.ts";
import { affinityOf, placesFor } from "./topology.ts";

/** The usual default of external-provisioner. Without a file system type, the kubelet ignores fsGroup. */
const defaultFileSystem = "ext4";
const prefix = "csi.storage.k8s.io/";

/** The volume to create for a claim. */
export interface Provisioning {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly request: VolumeRequest;
  /** Undefined for a block volume. */
  readonly fileSystem: string | undefined;
  /** The volume's attributes for the Node. */
  readonly context: Readonly<Record<string, string>>;
  /** Parameters that are ignored. */
  readonly warnings: readonly string[];
}

export const volumeNameOf = ({ metadata: { uid } }: PersistentVolumeClaim): string => `pvc-${uid}`;

export function classNameOf({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.[classKey] ?? spec?.storageClassName ?? "";
}

/** Whether kube-controller-manager has decided that this driver provisions the claim, and the scheduler where. */
export function needsVolume(
  { metadata: { annotations = {} }, spec }: PersistentVolumeClaim,
  storageClass: StorageClass | undefined,
  driver: string,
): storageClass is StorageClass {
  const provisioner = provisionerKeys.map((key) => annotations[key]).find((value) => value !== undefined);
  if ((spec?.volumeName ?? "") !== "" || provisioner !== driver || storageClass?.provisioner !== driver)
    return false;
  return (
    storageClass.volumeBindingMode !== "WaitForFirstConsumer" || (annotations[selectedNodeKey] ?? "") !== ""
  );
}

const modes: Readonly<Record<string, string>> = {
  ReadWriteOnce: "SINGLE_NODE_MULTI_WRITER",
  ReadWriteOncePod: "SINGLE_NODE_SINGLE_WRITER",
  ReadWriteMany: "MULTI_NODE_MULTI_WRITER",
  ReadOnlyMany: "MULTI_NODE_READER_ONLY",
};

const refused = (why: string): RpcError =>
  new RpcError("INVALID_ARGUMENT", `${why}, so no volume is created.`);

function checkClaim({ spec }: PersistentVolumeClaim): void {
  if (spec?.selector !== undefined)
    throw refused("A claim with a selector is only bound to volumes that exist");
  if ((spec?.volumeAttributesClassName ?? "") !== "")
    throw refused("Volumes have no VolumeAttributesClass (volumeAttributesClassName)");
  for (const mode of spec?.accessModes ?? []) {
    const why = refusedMode(modes[mode] ?? mode);
    if (why !== undefined) throw new RpcError("INVALID_ARGUMENT", why);
  }
}

/**
 * The driver's parameters, and the file system from the general parameters. A volume that should be encrypted must not be created
 * unencrypted.
 */
function splitParameters({ metadata, parameters = {} }: StorageClass) {
  const isFileSystem = (key: string): boolean => key.toLowerCase() === "fstype" || key === `${prefix}fstype`;
  const found = Object.entries(parameters).filter(([key]) => isFileSystem(key));
  if (found.length > 1)
    throw refused(
      `The StorageClass ${metadata.name} has the file system twice, as ${found.map(([key]) => key).join(" and ")}`,
    );
  const secret = Object.keys(parameters).find((key) => /secret-?name/i.test(key));
  if (secret !== undefined)
    throw refused(`The StorageClass ${metadata.name} has the parameter ${secret}: secrets are not supported`);
  const own = Object.entries(parameters).filter(([key]) => !isFileSystem(key));
  return { own: Object.fromEntries(own), fileSystem: found[0]?.[1] || defaultFileSystem };
}

/** Throws an RpcError for a claim whose volume cannot be created. */
export function planProvisioning(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  nodes: readonly Node[],
  driver: VolumeDriver,
  source?: VolumeSource,
): Provisioning {
  checkClaim(claim);
  const { own, fileSystem } = splitParameters(storageClass);
  const { values, warnings } = readParameters(own, driver);
  const asked = claim.spec?.resources?.requests?.["storage"] ?? "";
  const requiredBytes = bytesOf(asked);
  if (requiredBytes === undefined) throw refused(`The claim asks for ${JSON.stringify(asked)} storage`);
  const volume = volumeNameOf(claim);
  const { name, namespace = "" } = claim.metadata;
  return {
    claim,
    storageClass,
    request: {
      name: volume,
      range: readSize({ requiredBytes, limitBytes: 0 }, driver.sizes),
      places: placesFor(claim, storageClass, nodes, driver),
      parameters: values,
      claim: { namespace, name, volume },
      source,
    },
    fileSystem: claim.spec?.volumeMode === "Block" ? undefined : fileSystem,
    context: driver.contextOf(values),
    warnings: warnings.map(
      (text) => `${text}. The StorageClass ${storageClass.metadata.name} has it; it is ignored.`,
    ),
  };
}

/** The PersistentVolume of a created volume. kube-controller-manager binds it to the claim. */
export function persistentVolumeFor(
  { claim, storageClass, fileSystem, context }: Provisioning,
  { id, size, topology }: ObservedVolume,
  driver: string,
  identity: string,
): Draft<PersistentVolume> {
  const { name, namespace, uid, resourceVersion } = claim.metadata;
  const policy = storageClass.reclaimPolicy ?? "Delete";
  const nodeAffinity = affinityOf(topology);
  const { mountOptions } = storageClass;
  const [secretName, secretNamespace] = deletionSecretKeys;
  return {
    metadata: {
      name: volumeNameOf(claim),
      annotations: { [provisionedByKey]: driver, [secretName]: "", [secretNamespace]: "" },
      ...(policy === "Delete" && { finalizers: [provisionerFinalizer] }),
    },
    spec: {
      accessModes: claim.spec?.accessModes ?? [],
      capacity: { storage: quantityOf(size) },
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace, uid, resourceVersion },
      csi: {
        driver,
        volumeHandle: id,
        ...(fileSystem !== undefined && { fsType: fileSystem }),
        volumeAttributes: { [identityKey]: identity, ...context },
      },
      persistentVolumeReclaimPolicy: policy,
      storageClassName: storageClass.metadata.name,
      ...(mountOptions !== undefined && { mountOptions }),
      ...(claim.spec?.volumeMode !== undefined && { volumeMode: claim.spec.volumeMode }),
      ...(nodeAffinity !== undefined && { nodeAffinity }),
    } as NonNullable<PersistentVolume["spec"]>,
  };
}
