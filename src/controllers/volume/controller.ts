// The volume controller: what Kubernetes' sidecars external-provisioner, external-attacher, external-resizer and csi-snapshotter do, with
// the volumes of the provider. It is off by default, and waits while one of these sidecars runs.

import { isKubeError } from "../../kube/errors/kube-error.ts";
import type { KubeObject, Node, PersistentVolumeClaim, VolumeAttachment } from "../../kube/objects.ts";
import type { Index } from "../../kube/watch/store.ts";
import { sleep } from "../../platform/clock.ts";
import { linkedController } from "../../runtime/abortable.ts";
import { endOf } from "../../runtime/draining.ts";
import { WorkQueue } from "../../runtime/work-queue.ts";
import { type Outcome, requeue, runWorkers } from "../../runtime/workers.ts";
import { delayAfterError, describeError } from "../classify-error.ts";
import { isReady } from "../node-facts.ts";
import { type Finding, problemEvent } from "../reporter.ts";
import { Attachments } from "./attachments.ts";
import { Claims } from "./claims.ts";
import type { ReportedKind, VolumeDeps } from "./deps.ts";
import { sidecarLeases } from "./names.ts";
import { PersistentVolumes } from "./persistent-volumes.ts";
import { classNameOf } from "./plan-claim.ts";
import { Sidecars } from "./sidecars.ts";
import { type SnapshotPart, SnapshotParts, snapshotKinds } from "./snapshot-parts.ts";
import { cloudErrorIn, isSame, keyFor, VolumeActions } from "./volume-actions.ts";

export type VolumeReport = ReadonlyMap<ReportedKind, ReadonlyMap<string, readonly Finding[]>>;

const kinds = {
  claim: "PersistentVolumeClaim",
  volume: "PersistentVolume",
  attachment: "VolumeAttachment",
  ...snapshotKinds,
} as const satisfies Record<string, ReportedKind>;
type Part = keyof typeof kinds;
const isSnapshotPart = (part: Part): part is SnapshotPart => part in snapshotKinds;

export const reportedKinds: readonly ReportedKind[] = [...Object.values(kinds), "Node"];

// What decisions read from an object. Errors and conditions that Fairlead writes are not among it: its own report of a failure must not
// be a reason to try again at once.

const nodeFacts = (node: Node): unknown => [
  node.spec.providerID,
  node.spec.taints,
  node.status.volumesInUse,
  node.metadata.labels,
  isReady(node),
];

function claimFacts({ metadata, spec, status }: PersistentVolumeClaim): unknown {
  const state = status?.allocatedResourceStatuses?.["storage"] ?? "";
  const onNode = state.startsWith("Controller") ? "" : state;
  return [metadata.uid, metadata.annotations, spec, status?.phase, status?.capacity, onNode];
}

const attachmentFacts = ({ metadata, spec, status }: VolumeAttachment): unknown => [
  metadata.uid,
  metadata.deletionTimestamp,
  metadata.finalizers,
  spec,
  status?.attached,
];

export class VolumeController {
  /** `claim/…`, `volume/…`, `attachment/…`, `snapshot/…` and `content/…`. */
  readonly queue: WorkQueue;
  readonly #deps: VolumeDeps;
  readonly #actions: VolumeActions;
  readonly #claims: Claims;
  readonly #volumes: PersistentVolumes;
  readonly #attachments: Attachments;
  readonly #claimsByClass: Index<PersistentVolumeClaim>;
  readonly #attachmentsByVolume: Index<VolumeAttachment>;
  readonly #snapshots: SnapshotParts;
  readonly #sidecars: Sidecars;

  constructor(deps: VolumeDeps) {
    this.#deps = deps;
    this.queue = new WorkQueue(deps.clock);
    this.#actions = new VolumeActions(deps);
    this.#claims = new Claims(this.#actions, (key) => this.#add("claim", key));
    this.#volumes = new PersistentVolumes(this.#actions, (key) => this.#add("volume", key));
    this.#attachments = new Attachments(this.#actions, (key) => this.#add("attachment", key));
    this.#claimsByClass = deps.stores.claims.index((claim) => [classNameOf(claim)]);
    this.#attachmentsByVolume = deps.stores.attachments.index(({ spec }) => [
      spec.source.persistentVolumeName ?? "",
    ]);
    this.#snapshots = new SnapshotParts(this.#actions, (part, key) => this.#add(part, key));
    const { api, clock, driver, note, reportOnLease } = deps;
    this.#sidecars = new Sidecars({
      ...{ api, clock, leases: sidecarLeases(driver.name) },
      onRunning: (held) => {
        const message = `The volume controller waits: a sidecar of ${driver.name} runs, because the Lease ${held} is being renewed. Volumes are left to the sidecars until they stop. To use Fairlead instead, scale the deployment of external-provisioner, external-attacher, external-resizer and csi-snapshotter to 0.`;
        note(message, { reason: "SidecarRunning" });
        reportOnLease({ type: "Warning", reason: "SidecarRunning", message });
      },
      onStopped: () => note("No sidecar runs any more; the volume controller starts", {}),
    });
  }

  report(): VolumeReport {
    const claims = new Map(this.#actions.findings(kinds.claim));
    for (const [claim, found] of this.#snapshots.findings())
      claims.set(claim, [...(claims.get(claim) ?? []), ...found]);
    const others = reportedKinds.map((kind) => [kind, this.#actions.findings(kind)] as const);
    return new Map([...others, [kinds.claim, claims]]);
  }

  /** Runs for one leadership session. */
  async run(signal: AbortSignal): Promise<void> {
    // Beside sidecars too: it changes nothing.
    if (this.#deps.isObserving) return this.#runSession(signal);
    while (!signal.aborted) {
      if (!(await this.#mayRun(signal))) continue;
      const { controller, unlink } = linkedController(signal);
      const stopped = this.#sidecars.whenAny(controller.signal).then(
        () => controller.abort(new Error("a sidecar runs")),
        () => undefined,
      );
      await this.#runSession(controller.signal);
      controller.abort();
      unlink();
      await stopped;
    }
  }

  async #mayRun(signal: AbortSignal): Promise<boolean> {
    const { clock, note } = this.#deps;
    try {
      await this.#sidecars.whenNone(signal);
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      const delay = delayAfterError(error, 3, this.#deps);
      const why = describeError(error)?.text ?? "it was interrupted";
      note(
        `The volume controller waits, because it cannot check whether sidecars run: ${why} It checks again in ${Math.round(delay / 1000)}s.`,
        { reason: "SidecarsUnknown" },
      );
      await sleep(clock, delay, signal).catch(() => undefined);
      return false;
    }
  }

  async #runSession(signal: AbortSignal): Promise<void> {
    const { concurrency, clock } = this.#deps;
    const end = endOf(signal);
    this.#actions.begin(end.signal);
    this.#volumes.begin();
    this.#attachments.forgetEvidence();
    const stop = this.#startTriggers();
    this.reconsider();
    const working = runWorkers(
      {
        queue: this.queue,
        count: concurrency,
        reconcile: (key, stopWork) => this.#reconcile(key, stopWork),
        onError: (key, error, failures) => this.#onError(key, error, failures),
        clock,
      },
      signal,
    ).finally(() => {
      stop();
      end.abort();
      this.#volumes.end();
    });
    try {
      await Promise.all([working, this.#snapshots.run(end.signal)]);
    } finally {
      for (const { works } of [this.#claims, this.#volumes, this.#attachments]) await works.whenIdle();
    }
  }

  /** Settings or answers of the cloud have changed: everything is decided again. */
  reconsider(): void {
    const { claims, volumes, attachments } = this.#deps.stores;
    this.#addAll("claim", claims.list());
    this.#addAll("volume", volumes.list());
    this.#addAll("attachment", attachments.list());
    this.#snapshots.reconsider();
  }

  /** Another account may answer from now on. */
  forgetEvidence(): void {
    this.#attachments.forgetEvidence();
  }

  #startTriggers(): () => void {
    const { stores, nodes, inventory, removals } = this.#deps;
    const stops = [
      stores.claims.subscribe(({ key, before, after }) => {
        if (isSame(before, after, claimFacts)) return;
        this.#add("claim", key);
        const volume = (after ?? before)?.spec?.volumeName ?? "";
        if (volume !== "") this.#add("volume", volume);
      }),
      stores.volumes.subscribe(({ key, before, after }) => {
        this.#add("volume", key);
        const { claimRef } = (after ?? before)?.spec ?? {};
        if (claimRef !== undefined) this.#add("claim", `${claimRef.namespace}/${claimRef.name}`);
        this.#addAll("attachment", this.#attachmentsByVolume.get(key));
        // The volume may have been shared.
        if (after === undefined)
          for (const name of this.#actions.reported("PersistentVolume")) this.#add("volume", name);
      }),
      stores.attachments.subscribe(({ key, before, after }) => {
        if (isSame(before, after, attachmentFacts)) return;
        this.#add("attachment", key);
        const { spec } = after ?? before ?? {};
        this.#add("volume", spec?.source.persistentVolumeName ?? "");
        if (after === undefined && spec !== undefined) this.#addPendingOn(spec.nodeName);
      }),
      stores.classes.subscribe(({ key }) => this.#addAll("claim", this.#claimsByClass.get(key))),
      nodes.subscribe(({ key, before, after }) => {
        if (isSame(before, after, nodeFacts)) return;
        this.#addPendingOn(key);
        for (const claim of this.#actions.reported("PersistentVolumeClaim")) this.#add("claim", claim);
      }),
      inventory.subscribe((update) => {
        // A failure concerns those that asked: the others would ask again at once.
        const { asking, waiting } = this.#attachments;
        for (const name of [...(update === "failure" ? asking : waiting)]) this.#add("attachment", name);
      }),
      removals.subscribe(() => {
        for (const name of this.#volumes.held) this.#add("volume", name);
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  #add(part: Part, key: string): void {
    this.queue.add(`${part}/${key}`);
  }

  #addAll(part: Part, objects: readonly KubeObject[]): void {
    for (const object of objects) this.#add(part, keyFor(object));
  }

  /** Those that are to be attached or detached. */
  #addPendingOn(node: string): void {
    const pending = this.#attachments
      .on(node)
      .filter(
        ({ metadata, status }) => metadata.deletionTimestamp !== undefined || status?.attached !== true,
      );
    this.#addAll("attachment", pending);
  }

  #split(key: string): readonly [Part, string] {
    const slash = key.indexOf("/");
    return [key.slice(0, slash) as Part, key.slice(slash + 1)];
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const [part, name] = this.#split(key);
    const parts = { claim: this.#claims, volume: this.#volumes, attachment: this.#attachments };
    const outcome = isSnapshotPart(part)
      ? await this.#snapshots.reconcile(part, name, signal)
      : await parts[part].reconcile(name, signal);
    const object = this.#objectOf(part, name);
    if (object !== undefined) this.#actions.report(kinds[part], object, "write", []);
    return outcome;
  }

  #objectOf(part: Part, name: string): KubeObject | undefined {
    if (isSnapshotPart(part)) return this.#snapshots.objectOf(part, name);
    const { claims, volumes, attachments } = this.#deps.stores;
    return { claim: claims, volume: volumes, attachment: attachments }[part].get(name);
  }

  #onError(key: string, error: unknown, failures: number): Outcome {
    const [part, name] = this.#split(key);
    const object = this.#objectOf(part, name);
    const problem = isKubeError(error) ? describeError(error) : undefined;
    if (object !== undefined && problem !== undefined)
      this.#actions.report(kinds[part], object, "write", [problemEvent(problem)]);
    return requeue(delayAfterError(cloudErrorIn(error), failures, this.#deps), "an error");
  }
}
