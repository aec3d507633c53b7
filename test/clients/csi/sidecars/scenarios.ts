// What users, kubelets and the cloud do to volumes, with the rows of docs/volumes.md that explain the differences.

import type { Batch, Scenario, Step } from "../../../differential/rig/scenario.ts";
import { driver, type Stage, zoneKey } from "./stage.ts";
import {
  asks,
  claims,
  claimsFor,
  deletes,
  ends,
  expandsFileSystem,
  hasCondition,
  hasEvent,
  immediate,
  isAttached,
  isBound,
  isDetached,
  isGone,
  late,
  prepareNothing,
  runs,
  step,
  type Until,
  workers,
} from "./steps.ts";

const prepare = step("the cluster has Nodes and StorageClasses", async (stage) => {
  for (const name of [...workers, "leaving", "crowded"]) await stage.join(name);
  await stage.createClass(immediate);
  await stage.createClass(late, { volumeBindingMode: "WaitForFirstConsumer" });
});

/** A StorageClass and a claim of this name. */
const creates = (
  name: string,
  storageClass: object,
  claim: object = {},
  until: Until = isBound(name),
): Step<Stage> =>
  step(
    "a user creates a StorageClass and a claim",
    async (stage) => {
      await stage.createClass(name, storageClass);
      await stage.createClaim(name, name, claim);
    },
    until,
  );

interface Refused {
  readonly storageClass?: object;
  readonly claim?: object;
  /** Set if the message does not come from the driver, which both programs use. */
  readonly hasOwnWords?: true;
}

/** A rejected claim, with a StorageClass and a claim of this name. */
const refused = (
  name: string,
  title: string,
  { storageClass = {}, claim = {}, hasOwnWords }: Refused,
): Scenario<Stage> => {
  const event = `PersistentVolumeClaim ${name}: event`;
  return {
    name,
    title,
    explained: [
      { at: `${event} Normal Provisioning`, row: "V3" },
      ...(hasOwnWords ? [{ at: `${event} Warning ProvisioningFailed`, row: "V2" }] : []),
    ],
    steps: [creates(name, storageClass, claim, hasEvent(name, "ProvisioningFailed")), deletes(name)],
  };
};

/** PersistentVolumes without a claim, for volumes that a user created. */
async function createVolume(stage: Stage, name: string, zone: string): Promise<void> {
  const { id: volumeHandle } = stage.cloud.volumes.create({ name, size: 1, zone });
  await stage.createVolume(name, {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOnce"],
    persistentVolumeReclaimPolicy: "Retain",
    storageClassName: "none",
    csi: { driver, volumeHandle, fsType: "ext4" },
  });
}

const full = Array.from({ length: 9 }, (_, index) => `full-${index + 1}`);
const [ninth = ""] = full.slice(-1);
const isNamedAttached = (name: string) => (stage: Stage) => stage.attachment(name)?.status?.attached === true;
const isNamedRefused = (name: string) => (stage: Stage) =>
  stage.attachment(name)?.status?.attachError !== undefined;
const isNamedGone = (name: string) => (stage: Stage) => stage.attachment(name) === undefined;

export const scenarios: Batch<Stage> = [
  {
    name: "life",
    title: "creates, attaches, expands, detaches and deletes a volume",
    steps: [
      prepare,
      claims("life"),
      runs("life"),
      asks("life", 3, (stage) => hasCondition(stage.claim("life"), "FileSystemResizePending")),
      expandsFileSystem("life", "3Gi"),
      ends("life"),
      deletes("life"),
    ],
  },
  {
    name: "block",
    title: "creates, attaches, expands and deletes a block volume",
    steps: [
      prepareNothing(),
      claims("block", immediate, { volumeMode: "Block" }),
      runs("block", true),
      asks("block", 3, (stage) => stage.claim("block")?.status?.capacity?.["storage"] === "3Gi"),
      ends("block"),
      deletes("block"),
    ],
  },
  {
    name: "selected",
    title: "creates a volume where the scheduler has selected a Node",
    steps: [
      prepareNothing(),
      claimsFor("selected", "node-2"),
      runs("selected"),
      ends("selected"),
      deletes("selected"),
    ],
  },
  {
    name: "data-set-1",
    title: "spreads the claims of a StatefulSet over the zones",
    steps: [
      prepareNothing(),
      step(
        "a StatefulSet creates its claims",
        async (stage) => {
          for (const index of [0, 1, 2]) await stage.createClaim(`data-set-1${index}`, immediate);
        },
        (stage) => [0, 1, 2].every((index) => isBound(`data-set-1${index}`)(stage)),
      ),
    ],
  },
  {
    name: "deleted",
    title: "deletes a volume when its claim and pod are deleted together",
    steps: [
      prepareNothing(),
      claims("deleted"),
      runs("deleted"),
      step(
        "claim and pod are deleted",
        async (stage) => {
          await stage.deleteClaim("deleted");
          await stage.deletePod("deleted");
        },
        isGone("deleted"),
      ),
    ],
  },
  {
    name: "options",
    title: "keeps file system, mount options and a volume with the policy Retain",
    steps: [
      prepareNothing(),
      creates("options", {
        reclaimPolicy: "Retain",
        mountOptions: ["noatime"],
        parameters: { "csi.storage.k8s.io/fstype": "xfs", tier: "fast", fsFormatOptions: "-K" },
      }),
      runs("options"),
      ends("options"),
      deletes("options", (stage) => stage.volumeOf("options")?.status?.phase === "Released"),
      step(
        "the PersistentVolume is deleted",
        (stage) => stage.deleteVolume(stage.volumeOf("options")?.metadata.name ?? ""),
        isGone("options"),
      ),
    ],
  },
  {
    name: "saved",
    title: "follows a change of the reclaim policy",
    steps: [
      prepareNothing(),
      claims("saved"),
      ...["Retain", "Delete", "Retain"].map((policy) =>
        step(`an administrator sets the policy ${policy}`, (stage) =>
          stage.editVolume(stage.volumeOf("saved")?.metadata.name ?? "", {
            spec: { persistentVolumeReclaimPolicy: policy },
          }),
        ),
      ),
      deletes("saved", (stage) => stage.volumeOf("saved")?.status?.phase === "Released"),
    ],
  },
  {
    name: "volume-first",
    title: "deletes a volume whose PersistentVolume is deleted before its claim",
    steps: [
      prepareNothing(),
      claims("volume-first"),
      step("the PersistentVolume is deleted", (stage) =>
        stage.deleteVolume(stage.volumeOf("volume-first")?.metadata.name ?? ""),
      ),
      deletes("volume-first"),
    ],
  },
  {
    name: "single",
    title: "creates a volume for a single pod",
    steps: [
      prepareNothing(),
      claims("single", immediate, { accessModes: ["ReadWriteOncePod"] }),
      runs("single"),
      ends("single"),
      deletes("single"),
    ],
  },
  {
    name: "placed",
    title: "creates a volume in a topology of its StorageClass",
    steps: [
      prepareNothing(),
      creates("placed", {
        allowedTopologies: [{ matchLabelExpressions: [{ key: zoneKey, values: ["zone-3"] }] }],
      }),
    ],
  },
  {
    name: "unknown",
    title: "ignores an unknown parameter",
    steps: [prepareNothing(), creates("unknown", { parameters: { iops: "3" } })],
  },
  refused("wrong", "refuses an invalid parameter", { storageClass: { parameters: { tier: "turbo" } } }),
  refused("shared", "refuses a claim for several Nodes", { claim: { accessModes: ["ReadWriteMany"] } }),
  refused("misplaced", "refuses an unknown topology", {
    storageClass: {
      allowedTopologies: [
        { matchLabelExpressions: [{ key: "topology.fake.example/zones", values: ["zone-1"] }] },
      ],
    },
    hasOwnWords: true,
  }),
  refused("selector", "refuses a claim with a selector", {
    claim: { selector: { matchLabels: { a: "b" } } },
    hasOwnWords: true,
  }),
  refused("secret", "refuses a parameter with a secret that does not exist", {
    storageClass: {
      parameters: {
        "csi.storage.k8s.io/provisioner-secret-name": "none",
        "csi.storage.k8s.io/provisioner-secret-namespace": "default",
      },
    },
    hasOwnWords: true,
  }),
  {
    name: "elsewhere",
    title: "leaves a volume attached to its machine until it is detached there",
    explained: [{ at: "VolumeAttachment elsewhere-second: event Warning FailedAttachVolume", row: "V4" }],
    steps: [
      prepareNothing(),
      claimsFor("elsewhere", "node-1"),
      step("a pod uses it", (stage) => stage.createPod("elsewhere", "node-1"), isAttached("elsewhere")),
      step(
        "a second attachment is created",
        (stage) =>
          stage.createAttachment(
            "elsewhere-second",
            stage.volumeOf("elsewhere")?.metadata.name ?? "",
            "node-4",
          ),
        isNamedRefused("elsewhere-second"),
      ),
      step(
        "the pod is deleted",
        (stage) => stage.deletePod("elsewhere"),
        isNamedAttached("elsewhere-second"),
      ),
      step(
        "the second attachment is deleted",
        (stage) => stage.deleteAttachment("elsewhere-second"),
        isNamedGone("elsewhere-second"),
      ),
    ],
  },
  {
    name: "full",
    title: "attaches a volume to a full machine when a place becomes free",
    explained: [
      { at: "PersistentVolume full-*: label *", row: "V5" },
      { at: "PersistentVolume full-*: nodeAffinity", row: "V5" },
      { at: `PersistentVolume ${ninth}: finalizers`, row: "V6" },
      { at: `VolumeAttachment ${ninth}: finalizers`, row: "V6" },
      { at: `VolumeAttachment ${ninth}: annotation csi.alpha.kubernetes.io/node-id`, row: "V6" },
      { at: `VolumeAttachment ${ninth}: attachError`, row: "V6" },
      { at: `VolumeAttachment ${ninth}: event Warning FailedAttachVolume`, row: "V4" },
      { at: `cloud volume ${ninth}: call attach (403)`, row: "V6" },
    ],
    steps: [
      prepareNothing(),
      step(
        "a user makes volumes in the cloud",
        async (stage) => {
          for (const name of full) await createVolume(stage, name, stage.zoneOf("crowded"));
        },
        ({ cloud }) => cloud.volumes.list().every(({ status }) => status === "available"),
      ),
      step(
        "the Node has as many volumes as it can have",
        async (stage) => {
          for (const name of full.slice(0, -1)) await stage.createAttachment(name, name, "crowded");
        },
        (stage) => full.slice(0, -1).every((name) => isNamedAttached(name)(stage)),
      ),
      step(
        "one more is to be attached",
        (stage) => stage.createAttachment(ninth, ninth, "crowded"),
        isNamedRefused(ninth),
      ),
      step("another one is detached", (stage) => stage.deleteAttachment("full-1"), isNamedAttached(ninth)),
    ],
  },
  {
    name: "vanished",
    title: "deletes the claim of a volume that a user deleted in the cloud",
    explained: [
      { at: "VolumeAttachment volume-of-vanished-*: event Warning FailedAttachVolume", row: "V4" },
      // The attachment is released when another answer has confirmed it.
      {
        at: "VolumeAttachment volume-of-vanished-*: event Warning FailedDetachVolume",
        row: "V4",
        isSometimes: true,
      },
    ],
    steps: [
      prepareNothing(),
      claims("vanished"),
      step(
        "the volume is deleted in the cloud, and a pod needs it",
        async (stage) => {
          const node = stage.nodeFor("vanished");
          const name = stage.volumeOf("vanished")?.metadata.name;
          stage.cloud.volumes.remove(stage.cloud.volumes.list().find((one) => one.name === name)?.id ?? "");
          await stage.createPod("vanished", node);
        },
        (stage) => stage.attachmentOf("vanished")?.status?.attachError !== undefined,
      ),
      ends("vanished"),
      deletes("vanished"),
    ],
  },
  {
    name: "large",
    title: "expands a volume after an impossible size was requested",
    steps: [
      prepareNothing(),
      claims("large"),
      asks("large", 2000, hasEvent("large", "VolumeResizeFailed")),
      asks("large", 3, (stage) => hasCondition(stage.claim("large"), "FileSystemResizePending")),
    ],
  },
  {
    name: "leaving",
    title: "detaches a volume from a machine whose Node is deleted",
    explained: [
      { at: "VolumeAttachment volume-of-leaving-on-leaving: exists", row: "V7" },
      { at: "VolumeAttachment volume-of-leaving-on-leaving: event Warning DetachmentWaits", row: "V4" },
      { at: "cloud volume volume-of-leaving: machine", row: "V7" },
      { at: "cloud volume volume-of-leaving: call detach", row: "V7" },
    ],
    steps: [
      prepareNothing(),
      claimsFor("leaving", "leaving"),
      step("a pod uses it", (stage) => stage.createPod("leaving", "leaving"), isAttached("leaving")),
      step("Node and pod are deleted", async (stage) => {
        await stage.deleteNode("leaving");
        await stage.deletePod("leaving");
      }),
      step(
        "the machine is deleted",
        (stage) => {
          const machine = stage.cloud.machines.list().find(({ name }) => name === "leaving");
          stage.cloud.machines.remove(machine?.id ?? "");
        },
        isDetached("leaving"),
      ),
    ],
  },
];
