// The volume controller does the work of Kubernetes' sidecars external-provisioner, external-attacher, external-resizer and
// csi-snapshotter with the provider's volumes. Off by default, and waits while one of these sidecars runs.

import { delayAfterError, problemOfError } from "../../controllers/classify-error.ts";
import {
  type Reconciler,
  runController,
  type Subscriptions,
} from "../../controllers/kernel/run-controller.ts";
import { isReady } from "../../controllers/node-facts.ts";
import { messageIn, type Problem } from "../../core/problem.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import type { KubeObject, Node, PersistentVolumeClaim, VolumeAttachment } from "../../kube/objects.ts";
import { sleep } from "../../platform/clock.ts";
import { linkedController } from "../../runtime/abortable.ts";
import { endOf } from "../../runtime/draining.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue } from "../../runtime/workers.ts";
import { Attachments } from "./attachments.ts";
import { Claims } from "./claims.ts";
import type { ReportedKind, VolumeDeps } from "./deps.ts";
import type { VolumeHistory } from "./history.ts";
import { MissingVolumes } from "./missing-volumes.ts";
import { sidecarLeases } from "./names.ts";
import { type ObjectRef, objectIn, refOf } from "./object-ref.ts";
import { PersistentVolumes } from "./persistent-volumes.ts";
import { Sidecars } from "./sidecars.ts";
import { addSnapshots, SnapshotParts, snapshotProblems } from "./snapshot-parts.ts";
import { cloudErrorIn, isSame, VolumeActions } from "./volume-actions.ts";
import { removalKind } from "./volume-census.ts";
import { VolumeDoubt } from "./volume-doubt.ts";
import { kinds, type Part, splitQueueKey, VolumeQueue } from "./volume-queue.ts";

export type VolumeReport = ReadonlyMap<ReportedKind, ReadonlyMap<string, readonly Problem[]>>;

export const reportedKinds: readonly ReportedKind[] = [...Object.values(kinds), "Node"];

/**
 * The Node fields on which decisions depend; see below for claims and attachments. Errors and conditions that Fairlead
 * writes are excluded, because its report of a failure must not trigger an immediate retry.
 */
const nodeFacts = (node: Node): unknown => [
  node.metadata.uid,
  node.spec.providerID,
  node.spec.taints,
  node.status.volumesInUse,
  node.metadata.labels,
  isReady(node),
];

function claimFacts({ metadata, spec, status }: PersistentVolumeClaim): unknown {
  const state = status?.allocatedResourceStatuses?.["storage"] ?? "";
  const onNode = state.startsWith("Controller") ? "" : state;
  const { uid, annotations, deletionTimestamp } = metadata;
  return [uid, annotations, deletionTimestamp, spec, status?.phase, status?.capacity, onNode];
}

const attachmentFacts = ({ metadata, spec, status }: VolumeAttachment): unknown => [
  metadata.uid,
  metadata.deletionTimestamp,
  metadata.finalizers,
  spec,
  status?.attached,
];

/** The work and knowledge from a time in which no sidecar runs; discarded afterwards. */
class VolumeSession {
  readonly actions: VolumeActions;
  readonly parts: {
    readonly claim: Claims;
    readonly volume: PersistentVolumes;
    readonly attachment: Attachments;
  };
  readonly snapshots: SnapshotParts;
  readonly doubt: VolumeDoubt;

  constructor(actions: VolumeActions, queue: VolumeQueue) {
    this.actions = actions;
    this.doubt = new VolumeDoubt(actions);
    const { doubt } = this;
    const missing = new MissingVolumes(actions, doubt);
    this.parts = {
      claim: new Claims(actions, (ref) => queue.addRef("claim", ref)),
      volume: new PersistentVolumes(actions, doubt, missing, (ref) => queue.addRef("volume", ref)),
      attachment: new Attachments(actions, missing, (ref) => queue.addRef("attachment", ref)),
    };
    this.snapshots = new SnapshotParts(actions, queue);
  }

  async reconcile(part: Part, ref: ObjectRef, signal: AbortSignal): Promise<Outcome> {
    const claim = part === "claim" ? objectIn(this.actions.deps.stores.claims, ref) : undefined;
    if (claim !== undefined) await this.snapshots.releaseClaim(claim, signal);
    return part === "snapshot" || part === "content"
      ? this.snapshots.reconcile(part, ref, signal)
      : this.parts[part].reconcile(ref, signal);
  }

  objectOf(part: Part, ref: ObjectRef): KubeObject | undefined {
    if (part === "snapshot" || part === "content") return this.snapshots.objectOf(part, ref);
    const { claims, volumes, attachments } = this.actions.deps.stores;
    const stores = { claim: claims, volume: volumes, attachment: attachments };
    return objectIn<KubeObject>(stores[part], ref);
  }

  async whenIdle(): Promise<void> {
    for (const { works } of Object.values(this.parts)) await works.whenIdle();
  }
}

/** Runs for one leadership session. Waits while a sidecar runs. */
export class VolumeController {
  readonly queue: WorkQueue;
  readonly #deps: VolumeDeps;
  readonly #history: VolumeHistory;
  readonly #keys: VolumeQueue;
  readonly #sidecars: Sidecars;

  constructor(deps: VolumeDeps, history: VolumeHistory) {
    this.#deps = deps;
    this.#history = history;
    this.queue = new WorkQueue(deps.clock);
    this.#keys = new VolumeQueue(this.queue);
    const { api, clock, driver, note, reportOnLease, sidecarNamespace: namespace } = deps;
    this.#sidecars = new Sidecars({
      api,
      clock,
      namespace,
      leases: sidecarLeases(driver.name),
      expired: history.expiredLeases,
      onRunning: (held) => {
        history.begun.clear();
        const message = `The volume controller waits, because a sidecar of ${driver.name} is running: its Lease ${held} is being renewed. Volumes are left to the sidecars until they stop. To use Fairlead instead, scale the deployment of external-provisioner, external-attacher, external-resizer and csi-snapshotter to 0.`;
        note(message, { reason: "SidecarRunning" });
        reportOnLease({ severity: "hold", reason: "SidecarRunning", text: message });
      },
      onStopped: () => note("The sidecars no longer run; the volume controller starts", {}),
    });
  }

  report(): VolumeReport {
    const history = this.#history;
    const claims = new Map(history.problems(kinds.claim));
    for (const [claim, found] of snapshotProblems(history))
      claims.set(claim, [...(claims.get(claim) ?? []), ...found]);
    const others = reportedKinds.map((kind) => [kind, history.problems(kind)] as const);
    return new Map([...others, [kinds.claim, claims]]);
  }

  /** Runs for one leadership session, once. */
  async run(signal: AbortSignal): Promise<void> {
    const { isObserving } = this.#deps;
    this.#history.beginSession();
    while (!signal.aborted) {
      // Observe mode can run next to sidecars, because it changes nothing.
      if (!isObserving && !(await this.#mayRun(signal))) continue;
      const { controller, unlink } = linkedController(signal);
      const work = this.#runSession(controller.signal).finally(() => {
        controller.abort();
        unlink();
      });
      await Promise.all([work, isObserving ? undefined : this.#endBesideSidecars(controller)]);
      if (signal.aborted) continue;
      // A sidecar is running from now on.
      this.#history.begun.clear();
      this.#deps.removals.endHolds(removalKind);
    }
  }

  async #endBesideSidecars(session: AbortController): Promise<void> {
    await this.#sidecars.whenAny(session.signal).then(
      () => session.abort(new Error("a sidecar runs")),
      () => undefined,
    );
  }

  async #mayRun(signal: AbortSignal): Promise<boolean> {
    const { clock, note } = this.#deps;
    try {
      await this.#sidecars.whenNone(signal);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      const delay = delayAfterError(error, 3, this.#deps);
      const problem = problemOfError(error);
      const why = problem === undefined ? "it was interrupted" : messageIn(problem);
      note(
        `The volume controller waits, because it cannot check whether sidecars run: ${why} It checks again in ${Math.round(delay / 1000)}s.`,
        { reason: "SidecarsUnknown" },
      );
      await sleep(clock, delay, signal).catch(() => undefined);
      return false;
    }
  }

  async #runSession(signal: AbortSignal): Promise<void> {
    const end = endOf(signal);
    const session = new VolumeSession(new VolumeActions(this.#deps, this.#history, end.signal), this.#keys);
    const reconciler: Reconciler = {
      queue: this.queue,
      begin: () => this.#begin(session),
      reconcile: (key, stopWork) => this.#reconcile(session, key, stopWork),
      onError: (key, error, failures) => this.#onError(session, key, error, failures),
    };
    const working = runController(reconciler, this.#deps, signal).finally(() => end.abort());
    try {
      await Promise.all([working, session.snapshots.run(end.signal), session.doubt.vouch(end.signal)]);
    } finally {
      await session.whenIdle();
    }
  }

  #decideAll(): void {
    const { claims, volumes, attachments } = this.#deps.stores;
    this.#keys.add("claim", ...claims.list());
    this.#keys.add("volume", ...volumes.list());
    this.#keys.add("attachment", ...attachments.list());
    addSnapshots(this.#keys, this.#history, this.#deps.stores);
    for (const ref of this.#history.begun.keys()) this.#keys.addRef("claim", ref);
    // Objects may have been deleted while this replica did not lead.
    for (const part of ["claim", "volume", "attachment"] as const) this.#addReported(part);
  }

  *#begin({ parts }: VolumeSession): Subscriptions {
    const { stores, nodes, inventory, removals } = this.#deps;
    const { attachmentsOf, attachmentsOn, claimsOf } = this.#history;
    const keys = this.#keys;
    this.#decideAll();
    yield stores.claims.subscribe(({ before, after }) => {
      if (isSame(before, after, claimFacts)) return;
      keys.add("claim", before, after);
      keys.add("volume", stores.volumes.get((after ?? before)?.spec?.volumeName ?? ""));
    });
    yield stores.volumes.subscribe(({ key, before, after }) => {
      keys.add("volume", before, after);
      const { claimRef } = (after ?? before)?.spec ?? {};
      keys.add("claim", stores.claims.get(`${claimRef?.namespace}/${claimRef?.name}`));
      keys.add("attachment", ...attachmentsOf.get(key));
      // Another PersistentVolume may have used the same volume.
      if (after === undefined) this.#addReported("volume");
    });
    yield stores.attachments.subscribe(({ before, after }) => {
      if (isSame(before, after, attachmentFacts)) return;
      keys.add("attachment", before, after);
      const { spec } = after ?? before ?? {};
      keys.add("volume", stores.volumes.get(spec?.source.persistentVolumeName ?? ""));
      if (after === undefined) keys.add("attachment", ...attachmentsOn.get(spec?.nodeName ?? ""));
    });
    yield stores.classes.subscribe(({ key }) => keys.add("claim", ...claimsOf.get(key)));
    yield nodes.subscribe(({ key, before, after }) => {
      if (isSame(before, after, nodeFacts)) return;
      if (before !== undefined && before.metadata.uid !== after?.metadata.uid)
        this.#history.board.forget(`Node ${refOf(before)}`);
      keys.add("attachment", ...attachmentsOn.get(key));
      this.#addReported("claim");
    });
    yield inventory.subscribe((update) => {
      // A failure concerns only its callers, because the others would otherwise retry immediately.
      const { asking, waiting } = parts.attachment.proofs;
      for (const ref of [...(update === "failure" ? asking : waiting)]) keys.addRef("attachment", ref);
    });
    yield removals.subscribe(() => {
      for (const ref of parts.volume.held) keys.addRef("volume", ref);
      for (const part of ["volume", "attachment"] as const) this.#addReported(part);
    });
  }

  /** Enqueues the objects with reported findings. */
  #addReported(part: Part): void {
    for (const ref of this.#history.reported(kinds[part])) this.#keys.addRef(part, ref);
  }

  async #reconcile(session: VolumeSession, key: string, signal: AbortSignal): Promise<Outcome> {
    const [part, ref] = splitQueueKey(key);
    const outcome = await session.reconcile(part, ref, signal);
    const object = session.objectOf(part, ref);
    if (object !== undefined) session.actions.report(kinds[part], object, "write", []);
    return outcome;
  }

  #onError(session: VolumeSession, key: string, error: unknown, failures: number): Outcome {
    const [part, ref] = splitQueueKey(key);
    const object = session.objectOf(part, ref);
    const problem = isKubeError(error) ? problemOfError(error) : undefined;
    if (object !== undefined && problem !== undefined)
      session.actions.report(kinds[part], object, "write", [problem]);
    return requeue(delayAfterError(cloudErrorIn(error), failures, this.#deps), "an error");
  }
}
