// The snapshot part of the volume controller during one leadership session. Begins when the CRDs are found, and leaves
// VolumeSnapshots to a running snapshot-controller.

import { delayAfterError } from "../../controllers/classify-error.ts";
import { type Milliseconds, minutes, seconds } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeObject, PersistentVolumeClaim } from "../../kube/objects.ts";
import type { VolumeSnapshot, VolumeSnapshotContent } from "../../kube/volume-snapshots.ts";
import { sleep } from "../../platform/clock.ts";
import { type Outcome, settled } from "../../runtime/workers.ts";
import type { VolumeStores } from "./deps.ts";
import { claimKeyOf, type SnapshotStores, type VolumeHistory } from "./history.ts";
import { beingCreatedKey, claimFinalizer, snapshotControllerLease, snapshotGroup } from "./names.ts";
import { keyFor, type ObjectRef, objectIn } from "./object-ref.ts";
import { Sidecars } from "./sidecars.ts";
import { SnapshotContents } from "./snapshot-contents.ts";
import { Snapshots } from "./snapshots.ts";
import { isSame, type VolumeActions } from "./volume-actions.ts";
import { kinds, type VolumeQueue } from "./volume-queue.ts";

const crdsAfter: Milliseconds = minutes(5);
const retryAfter: Milliseconds = seconds(10);

/** Ignores Fairlead's writes when a creation begins or fails, because they would trigger an immediate retry. */
const contentFacts = ({ metadata, spec, status }: VolumeSnapshotContent): unknown => [
  metadata.uid,
  metadata.deletionTimestamp,
  metadata.finalizers,
  { ...metadata.annotations, [beingCreatedKey]: undefined },
  spec,
  { ...status, error: undefined, readyToUse: status?.readyToUse === true },
];

interface Parts {
  readonly snapshots: Snapshots;
  readonly contents: SnapshotContents;
}

/** Enqueues all snapshots, and the claims that a snapshot protects. */
export function addSnapshots(
  queue: VolumeQueue,
  { snapshots: stores }: VolumeHistory,
  { claims }: VolumeStores,
) {
  queue.add("snapshot", ...(stores?.snapshots.list() ?? []));
  queue.add("content", ...(stores?.contents.list() ?? []));
  const isProtected = ({ metadata }: PersistentVolumeClaim): boolean =>
    metadata.finalizers?.includes(claimFinalizer) === true;
  queue.add("claim", ...claims.list().filter(isProtected));
}

/** The findings about the snapshots of each claim. */
export function snapshotProblems(history: VolumeHistory): ReadonlyMap<string, readonly Problem[]> {
  const known = { snapshot: history.problems(kinds.snapshot), content: history.problems(kinds.content) };
  const all = (history.snapshots?.snapshots.list() ?? []).flatMap((snapshot) => {
    const key = keyFor(snapshot);
    const content = snapshot.status?.boundVolumeSnapshotContentName ?? "";
    const found = [...(known.snapshot.get(key) ?? []), ...(known.content.get(content) ?? [])];
    return found.map(
      (each) => [claimKeyOf(snapshot), { ...each, text: `VolumeSnapshot ${key}: ${each.text}` }] as const,
    );
  });
  const byClaim = Map.groupBy(all, ([claim]) => claim);
  return new Map([...byClaim].map(([claim, found]) => [claim, found.map(([, problem]) => problem)]));
}

export class SnapshotParts {
  readonly #actions: VolumeActions;
  readonly #queue: VolumeQueue;
  readonly #controller: Sidecars;
  /** Undefined until the caches are current. */
  #parts: Parts | undefined;

  constructor(actions: VolumeActions, queue: VolumeQueue) {
    const { api, clock, driver, note, sidecarNamespace: namespace } = actions.deps;
    this.#actions = actions;
    this.#queue = queue;
    this.#controller = new Sidecars({
      api,
      clock,
      namespace,
      leases: [snapshotControllerLease],
      expired: actions.history.expiredLeases,
      onRunning: (leases) =>
        note(
          `A snapshot-controller is running: its Lease ${leases} is being renewed. It binds VolumeSnapshots; Fairlead creates and deletes the snapshots of ${driver.name} in the cloud.`,
          { reason: "SnapshotControllerRunning" },
        ),
      onStopped: () => note("The snapshot-controller no longer runs; Fairlead binds VolumeSnapshots", {}),
    });
  }

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { history } = this.#actions;
    const stops: (() => void)[] = [];
    try {
      await this.#whenInstalled(history, signal);
      const stores = await history.openSnapshots(signal);
      const snapshots = new Snapshots(this.#actions, stores);
      const contents = new SnapshotContents(this.#actions, stores, (ref) =>
        this.#queue.addRef("content", ref),
      );
      this.#parts = { snapshots, contents };
      stops.push(...this.#subscribe(stores));
      this.#reconsider();
      while (!signal.aborted) await this.#followController(snapshots, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      for (const stop of stops) stop();
      const works = this.#parts?.contents.works;
      this.#parts = undefined;
      await works?.whenIdle();
    }
  }

  async #whenInstalled(history: VolumeHistory, signal: AbortSignal): Promise<void> {
    const { clock, note } = this.#actions.deps;
    for (let isReported = false; ; ) {
      // Unknown states are checked again sooner, and not reported, because the watches report API server failures.
      const found = await history.hasSnapshots(signal).catch(() => undefined);
      if (found === true) return;
      if (found === false && !isReported) {
        isReported = true;
        const text = `Snapshots are off: the cluster does not have ${snapshotGroup}/v1. To use them, install the CRDs of kubernetes-csi/external-snapshotter. Fairlead looks for them every ${formatDuration(crdsAfter)}.`;
        note(text, { reason: "SnapshotCRDsMissing" });
      }
      await sleep(clock, found === false ? crdsAfter : retryAfter, signal);
    }
  }

  async #followController(snapshots: Snapshots, signal: AbortSignal): Promise<void> {
    const { clock } = this.#actions.deps;
    try {
      await this.#controller.whenNone(signal);
      snapshots.isYielding = false;
      this.#reconsider();
      await this.#controller.whenAny(signal);
    } catch (error) {
      await sleep(clock, delayAfterError(error, 3, this.#actions.deps), signal);
    } finally {
      snapshots.isYielding = true;
    }
  }

  #reconsider(): void {
    addSnapshots(this.#queue, this.#actions.history, this.#actions.deps.stores);
  }

  #subscribe({ snapshots, contents, classes, snapshotsOf: of }: SnapshotStores): (() => void)[] {
    const { stores } = this.#actions.deps;
    const queue = this.#queue;
    const addClaimOf = (snapshot: VolumeSnapshot | undefined): void => {
      if (snapshot !== undefined) queue.add("claim", stores.claims.get(claimKeyOf(snapshot)));
    };
    const isUnready = ({ status }: VolumeSnapshot): boolean => status?.readyToUse !== true;
    return [
      snapshots.subscribe(({ before, after }) => {
        queue.add("snapshot", before, after);
        addClaimOf(after ?? before);
        const { boundVolumeSnapshotContentName: bound = "" } = (after ?? before)?.status ?? {};
        queue.add("content", contents.get(bound));
      }),
      contents.subscribe(({ before, after }) => {
        if (!isSame(before, after, contentFacts)) queue.add("content", before, after);
        const { namespace, name } = (after ?? before)?.spec.volumeSnapshotRef ?? {};
        const snapshot = snapshots.get(`${namespace}/${name}`);
        queue.add("snapshot", snapshot);
        addClaimOf(snapshot);
      }),
      classes.subscribe(() => queue.add("snapshot", ...snapshots.list().filter(isUnready))),
      stores.claims.subscribe(({ key, before, after }) => {
        queue.add("snapshot", ...of.get(key));
        // The claim may have been restored from a VolumeSnapshot that is being deleted.
        const { dataSource } = (after ?? before)?.spec ?? {};
        if (dataSource?.kind === "VolumeSnapshot")
          queue.add("snapshot", snapshots.get(`${key.slice(0, key.indexOf("/"))}/${dataSource.name}`));
      }),
      // The PersistentVolume may become visible after its claim is bound.
      stores.volumes.subscribe(({ after }) => {
        const { namespace, name } = after?.spec?.claimRef ?? {};
        queue.add("snapshot", ...of.get(`${namespace}/${name}`).filter(isUnready));
      }),
    ];
  }

  objectOf(part: "snapshot" | "content", ref: ObjectRef): KubeObject | undefined {
    if (this.#parts === undefined) return undefined;
    const { snapshots, contents } = this.#actions.history.snapshots ?? {};
    const of = part === "snapshot" ? snapshots : contents;
    return of && objectIn<KubeObject>(of, ref);
  }

  async releaseClaim(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    await this.#parts?.snapshots.releaseClaim(claim, signal);
  }

  async reconcile(part: "snapshot" | "content", ref: ObjectRef, signal: AbortSignal): Promise<Outcome> {
    const { snapshots, contents } = this.#parts ?? {};
    const of = part === "snapshot" ? snapshots : contents;
    return (await of?.reconcile(ref, signal)) ?? settled;
  }
}
