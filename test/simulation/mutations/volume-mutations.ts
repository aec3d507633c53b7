// Mutations of the volume controller and of the CSI code that it calls: each removes one guard of a volume.

import type { FoundBySimulation, FoundByTest, Mutation } from "./mutation.ts";

const simulated = (seed: number, ...invariants: readonly number[]): FoundBySimulation => ({
  seed,
  invariants,
  volumes: true,
});
const attaching = (test: string): FoundByTest => ({ file: "test/volumes/controller/attach.test.ts", test });
const deleting = (test: string): FoundByTest => ({ file: "test/volumes/controller/delete.test.ts", test });
const missing = (test: string): FoundByTest => ({ file: "test/volumes/controller/missing.test.ts", test });
const snapshotting = (test: string): FoundByTest => ({
  file: "test/volumes/controller/snapshots.test.ts",
  test,
});
const snapshotContents = "src/volumes/controller/snapshot-contents.ts";
const writerProofs = "src/volumes/controller/writer-proofs.ts";
const attachments = "src/volumes/controller/attachments.ts";
const persistentVolumes = "src/volumes/controller/persistent-volumes.ts";
const cloudVolumes = "src/volumes/csi/cloud-volumes.ts";

export const volumeMutations: readonly Mutation[] = [
  {
    name: "detach-from-a-kubelet-that-has-it-mounted",
    breaks: "A volume is detached although its kubelet reports that it uses it.",
    foundBy: attaching(
      "keeps a volume attached while the kubelet has mounted it and the machine runs, and reports the wait on the VolumeAttachment and the Node",
    ),
    edits: [
      {
        file: "src/volumes/controller/plan-detachment.ts",
        find: "return node.status.volumesInUse?.includes(inUse) === true",
        replace: "return inUse === ''",
      },
    ],
  },
  {
    name: "believe-one-answer-about-a-machine",
    breaks: "One answer proves that a machine cannot write any more.",
    foundBy: attaching("keeps a volume attached when the cloud briefly hides a machine that runs"),
    edits: [
      {
        file: "src/volumes/controller/plan-detachment.ts",
        find: "{ confirmAfter, kinds }",
        replace: "{ confirmAfter: 0 as Milliseconds, kinds: [] }",
      },
    ],
  },
  {
    name: "believe-that-many-machines-are-gone",
    breaks: "A cloud that hides all machines makes their volumes move.",
    foundBy: simulated(25, 30),
    edits: [
      {
        file: writerProofs,
        find: "evidence.proofs.length > 0 && this.#isHeld(attachment, evidence.isGone)",
        replace: "false",
      },
    ],
  },
  {
    name: "keep-proofs-of-a-hold",
    breaks: "A machine that the cloud shows later than the others counts as gone when the hold ends.",
    foundBy: attaching("that hid many machines shows most of them again"),
    edits: [
      {
        file: writerProofs,
        find: "const isRestarted = isRunning || isDoubtful;",
        replace: "const isRestarted = isRunning;",
      },
    ],
  },
  {
    name: "believe-that-many-volumes-are-missing",
    breaks: "A token of another project releases all VolumeAttachments, and their volumes stay attached.",
    foundBy: simulated(9, 30),
    edits: [
      {
        file: "src/volumes/controller/missing-volumes.ts",
        find: 'if (!isShown && this.#doubt.holds("missing", kind, object)) {',
        replace: "if (false) {",
      },
      {
        file: "src/volumes/controller/missing-volumes.ts",
        find: 'return isRecorded || !this.#doubt.holds("missing", kind, object)',
        replace: "return isRecorded || !isShown",
      },
    ],
  },
  {
    name: "forget-missing-volumes-on-a-restart",
    breaks: "Each restart allows as many again.",
    foundBy: missing("counts the PersistentVolumes that were deleted before a restart towards the limit"),
    edits: [
      {
        file: "src/volumes/controller/missing-volumes.ts",
        find: '(await this.#doubt.record("missing", object)) === "recorded"',
        replace: "true",
      },
    ],
  },
  {
    name: "trust-the-cache-of-nodes-about-mounts",
    breaks: "A cache that is minutes old shows that a volume is not in use.",
    foundBy: attaching(
      "keeps a volume attached when the Node shows the volume in use, although the cache does not show it yet",
    ),
    edits: [
      { file: writerProofs, find: "ask(this.machineOf(attachment, current))", replace: "ask(machine)" },
    ],
  },
  {
    name: "forget-that-a-kubelet-has-unmounted",
    breaks: "A volume that the next pod waits for on the same Node is never detached.",
    foundBy: attaching("although the next pod on the Node waits for it"),
    edits: [
      {
        file: writerProofs,
        find: "if (annotations[unmountedKey] !== undefined) return undefined;",
        replace: "",
      },
    ],
  },
  {
    name: "attach-one-volume-too-many",
    breaks: "A machine gets one volume more than it can have.",
    foundBy: attaching("while the machine has its maximum number of volumes"),
    edits: [{ file: attachments, find: "others.length >= limit", replace: "others.length > limit" }],
  },
  {
    name: "attach-without-the-finalizer-of-the-attacher",
    breaks: "A VolumeAttachment that is deleted meanwhile leaves its volume attached.",
    foundBy: attaching(
      "adds the attacher's finalizer before the request to the cloud, and the PersistentVolume keeps its finalizer while attached",
    ),
    edits: [
      { file: attachments, find: "[...new Set([...finalizers, finalizer])]", replace: "[...finalizers]" },
    ],
  },
  {
    name: "drop-the-finalizer-of-a-persistent-volume-in-use",
    breaks: "A PersistentVolume goes while its volume is attached.",
    foundBy: attaching(
      "adds the attacher's finalizer before the request to the cloud, and the PersistentVolume keeps its finalizer while attached",
    ),
    edits: [
      {
        file: persistentVolumes,
        find: "=== undefined || isAttached) return;",
        replace: "=== undefined) return;",
      },
    ],
  },
  {
    name: "keep-to-the-former-machine-of-a-node",
    breaks: "A machine that was replaced under the same name never gets its volumes.",
    foundBy: attaching(
      "attaches a volume to the new machine of its Node when the former machine is proved to be gone",
    ),
    edits: [{ file: attachments, find: "!isLeaving && this.#isReplaced(attachment)", replace: "false" }],
  },
  {
    name: "free-a-volume-that-a-kubelet-uses",
    breaks: "A volume is detached from a machine that may write to it.",
    foundBy: attaching("on another machine when the kubelet there uses the volume"),
    edits: [{ file: attachments, find: "if (isWanted || isInUse ||", replace: "if (isWanted ||" }],
  },
  {
    name: "use-the-result-of-an-object-with-that-name",
    breaks: "The volume of a new claim gets the size of a deleted claim's volume.",
    foundBy: {
      file: "test/volumes/controller/sessions.test.ts",
      test: "a claim with the name of a deleted claim does not get the size to which the former volume was expanded",
    },
    edits: [
      {
        file: "src/volumes/controller/object-ref.ts",
        find: "[keyFor(object), object.metadata.uid]",
        replace: '[keyFor(object), ""]',
      },
      {
        file: "src/volumes/controller/object-ref.ts",
        find: "return found?.metadata.uid === uidIn(ref) ? found : undefined;",
        replace: "return found;",
      },
    ],
  },
  {
    name: "wait-for-the-lease-of-a-tenant",
    breaks: "A Lease that a tenant holds in another namespace stops all volumes.",
    foundBy: simulated(14, 13),
    edits: [
      {
        file: "src/volumes/controller/sidecars.ts",
        find: "api.get(leases, { name, namespace }, signal)",
        replace: 'api.get(leases, { name, namespace: namespace && "default" }, signal)',
      },
    ],
  },
  {
    name: "end-the-work-of-a-deleted-claim-at-the-next-one",
    breaks: "The expansion of a deleted claim ends at the PersistentVolume of the next claim of that name.",
    foundBy: simulated(65, 13),
    edits: [
      {
        file: "src/volumes/controller/object-ref.ts",
        find: "return found?.metadata.uid === uidIn(ref) ? found : undefined;",
        replace: "return found;",
      },
    ],
  },
  {
    name: "believe-the-answer-to-a-deletion",
    breaks: "A volume that was not deleted is left behind without a PersistentVolume.",
    foundBy: {
      file: "test/volumes/csi/cloud-volumes.test.ts",
      test: "a deletion is not complete while a listing shows the volume",
    },
    edits: [
      {
        file: cloudVolumes,
        find: `"still exists");
      await this.#requireUnlisted(id, signal);`,
        replace: '"still exists");',
      },
    ],
  },
  {
    name: "give-a-device-to-two-pods",
    breaks: "ReadWriteOncePod does not hold for block volumes.",
    foundBy: { file: "test/volumes/csi/node-service.test.ts", test: "is given as a device to one pod only" },
    edits: [
      {
        file: "src/volumes/csi/node-service.ts",
        find: "await this.#requireSingleUse(request, device);",
        replace: "",
      },
    ],
  },
  {
    name: "believe-one-answer-that-a-volume-is-detached",
    breaks: "A volume that the cloud hides for a moment stays attached without a VolumeAttachment.",
    foundBy: attaching(
      "keeps the VolumeAttachment of a volume that the cloud briefly hides, and detaches it afterwards",
    ),
    edits: [{ file: attachments, find: "const wait = done.detached.isProved", replace: "const wait = true" }],
  },
  {
    name: "detach-while-the-cloud-attaches",
    breaks: "An attachment that is under way counts as none.",
    foundBy: attaching("keeps the VolumeAttachment while the cloud is changing the volume"),
    edits: [
      { file: cloudVolumes, find: "if (volume !== undefined) ready(volume);", replace: "" },
      {
        file: cloudVolumes,
        find: "listed && ready(listed).attachedTo.find",
        replace: "listed?.attachedTo.find",
      },
    ],
  },
  {
    name: "wait-forever-for-a-change",
    breaks: "A change that the cloud does not end is neither reported nor tried again.",
    foundBy: attaching(
      "reports a detachment that the cloud does not end, and completes it when the cloud ends it",
    ),
    edits: [
      {
        file: "src/volumes/controller/volume-actions.ts",
        find: "const changeLimit: Milliseconds = minutes(5)",
        replace: "const changeLimit: Milliseconds = minutes(500)",
      },
    ],
  },
  {
    name: "no-limit-for-volumes-of-vanished-claims",
    breaks: "Any number of claims may vanish from the API with their volumes.",
    foundBy: deleting("when more claims than the mass limit allows have vanished unseen"),
    edits: [
      {
        file: persistentVolumes,
        find: 'if (isLimited && this.#doubt.holds("released", kind, volume))',
        replace: "if (isLimited && false)",
      },
    ],
  },
  {
    name: "delete-the-volume-of-a-claim-that-exists",
    breaks: "A PersistentVolume that is released by mistake loses its volume.",
    foundBy: deleting("keeps a volume when its PersistentVolume is released and the claim exists"),
    edits: [
      {
        file: "src/volumes/controller/plan-deletion.ts",
        find: "if (claim?.metadata.uid === claimRef?.uid)",
        replace: "if (claim?.metadata.uid === name)",
      },
      {
        file: "src/volumes/controller/plan-deletion.ts",
        find: "if (isAnnounced) return",
        replace: "if (proofs !== undefined) return",
      },
    ],
  },
  {
    name: "believe-one-answer-that-a-volume-is-gone",
    breaks: "A volume that the cloud hides for a moment stays without a PersistentVolume.",
    foundBy: deleting(
      "deletes a volume that the cloud briefly hides afterwards, and its PersistentVolume last",
    ),
    edits: [
      { file: persistentVolumes, find: "work.value.wasThere ? undefined :", replace: "true ? undefined :" },
    ],
  },
  {
    name: "trust-the-cache-of-persistent-volumes",
    breaks: "A volume is deleted although an administrator has just saved it.",
    foundBy: deleting("an administrator has saved it"),
    edits: [
      {
        file: persistentVolumes,
        find: "isReleased(one) && isSameRelease(one, volume)",
        replace: "isSameRelease(one, volume)",
      },
    ],
  },
  {
    name: "take-the-release-by-another-claim",
    breaks: "A volume is deleted although another claim has just got it.",
    foundBy: deleting("another claim has it"),
    edits: [
      {
        file: persistentVolumes,
        find: "&& one.spec?.claimRef?.uid === other.spec?.claimRef?.uid",
        replace: "",
      },
    ],
  },
  {
    name: "trust-the-cache-about-shared-volumes",
    breaks: "A volume is deleted although another PersistentVolume has just got it.",
    foundBy: simulated(3, 30),
    edits: [{ file: persistentVolumes, find: "...facts, sharing, claim:", replace: "...facts, claim:" }],
  },
  {
    name: "trust-the-cache-of-claims",
    breaks: "A volume is deleted although its claim is back.",
    foundBy: deleting("when its claim is back"),
    edits: [
      {
        file: persistentVolumes,
        find: "sharing, claim: await this.#claimOf(volume, signal) }",
        replace: "sharing }",
      },
    ],
  },
  {
    name: "forget-that-a-volume-was-deleted",
    breaks: "Volumes that Fairlead has deleted itself count as missing, and the mass limit holds them.",
    foundBy: deleting(
      "does not count a volume as missing when its PersistentVolume could not be deleted with it",
    ),
    edits: [{ file: persistentVolumes, find: "this.works.keep(ref, work);", replace: "" }],
  },
  {
    name: "remember-deletions-of-claims-that-are-back",
    breaks: "A claim of a restored API server counts as deleted.",
    foundBy: deleting("needs two proofs again when a restored API server has the deleted claim"),
    edits: [
      {
        file: "src/volumes/controller/history.ts",
        find: "else if (after !== undefined) this.#deletedClaims.delete(after.metadata.uid);",
        replace: "",
      },
    ],
  },
  {
    name: "lose-a-volume-that-was-just-created",
    breaks: "The volume of a claim that is deleted while the API server fails stays behind.",
    foundBy: {
      file: "test/volumes/controller/provision.test.ts",
      test: "while its PersistentVolume could not be written",
    },
    edits: [
      {
        file: "src/volumes/controller/claims.ts",
        find: "this.works.keep(ref, work);",
        replace: "this.#begun.delete(ref);",
      },
    ],
  },
  {
    name: "create-without-a-listing",
    breaks: "A volume whose creation was not answered is asked for again and again.",
    foundBy: {
      file: "test/volumes/controller/life-of-a-volume.test.ts",
      test: "is neither lost nor duplicated",
    },
    edits: [
      {
        file: cloudVolumes,
        find: 'oneNamed("volumes", name, await this.#listing.beforeCreation(signal))',
        replace: 'oneNamed("volumes", name, (await this.#listing.beforeCreation(signal)).slice(0, 0))',
      },
    ],
  },
  {
    name: "delete-a-snapshot-that-is-kept",
    breaks: "A snapshot is deleted although its deletion policy is Retain.",
    foundBy: snapshotting("leaves its snapshot and VolumeSnapshotContent if the policy is Retain"),
    edits: [
      {
        file: "src/volumes/controller/plan-snapshot.ts",
        find: 'spec.deletionPolicy === "Delete" && status?.snapshotHandle',
        replace: "status?.snapshotHandle",
      },
    ],
  },
  {
    name: "delete-a-shared-snapshot",
    breaks: "A snapshot is deleted although another VolumeSnapshotContent has it.",
    foundBy: snapshotting("a snapshot in the cloud is kept while another VolumeSnapshotContent refers to it"),
    edits: [{ file: snapshotContents, find: "if (sharing !== undefined)", replace: "if (sharing === null)" }],
  },
  {
    name: "delete-the-snapshot-of-a-volumesnapshot-that-exists",
    breaks: "A VolumeSnapshotContent that is deleted by hand takes the snapshot along.",
    foundBy: snapshotting("a snapshot in the cloud is kept while its VolumeSnapshot is not being deleted"),
    edits: [{ file: snapshotContents, find: "return isNeeded ?", replace: "return isNeeded && false ?" }],
  },
  {
    name: "believe-one-answer-about-a-snapshot",
    breaks: "A snapshot that the cloud hides for a moment counts as deleted, and is left behind.",
    foundBy: snapshotting(
      "a snapshot keeps its VolumeSnapshotContent while the cloud briefly hides the snapshot",
    ),
    edits: [
      {
        file: snapshotContents,
        find: "done.wasThere ? 0 : this.#absent.confirm(content.metadata.uid, this.#actions.deps)",
        replace: "0",
      },
    ],
  },
  {
    name: "delete-a-snapshot-that-is-being-restored",
    breaks: "A snapshot is deleted while a claim is created from it, which then stays without a volume.",
    foundBy: snapshotting("a VolumeSnapshot is not deleted while a claim is restored from it"),
    edits: [
      {
        file: "src/volumes/controller/snapshots.ts",
        find: "content !== undefined && this.#isBeingRestored(snapshot)",
        replace: "content === null",
      },
    ],
  },
  {
    name: "create-an-empty-volume-for-a-snapshot",
    breaks: "A claim from a snapshot gets an empty volume.",
    foundBy: simulated(1, 32),
    edits: [
      {
        file: cloudVolumes,
        find: "parameters, claim, source }, signal)",
        replace: "parameters, claim }, signal)",
      },
    ],
  },
  {
    name: "take-a-snapshot-for-final-while-it-is-created",
    breaks: "What is written after a snapshot was reported becomes part of it.",
    foundBy: { file: "test/providers/fake.test.ts", test: "contain the source's data of that moment" },
    edits: [
      {
        file: "src/volumes/csi/cloud-snapshots.ts",
        find: 'if (snapshot?.state !== "creating") return snapshot;',
        replace:
          "if (snapshot !== undefined || outcome.done) return snapshot && { ...snapshot, state: 'ready' };",
      },
    ],
  },
  {
    name: "trust-the-cache-about-the-volume-of-a-claim",
    breaks:
      "A cache that is minutes old, and a listing that lacks the volume, ask for a second volume of a claim.",
    foundBy: {
      file: "test/volumes/controller/provision.test.ts",
      test: "creates no second volume for a claim while the cache lacks its PersistentVolume and the cloud hides the volume",
    },
    edits: [
      {
        file: "src/volumes/controller/claims.ts",
        find: "if (exists !== undefined) return requeue",
        replace: "if (exists === null) return requeue",
      },
    ],
  },
];
