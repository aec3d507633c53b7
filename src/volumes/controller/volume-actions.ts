// How the volume controller acts during one leadership session: journalled and guarded writes to the
// cluster, journalled changes in the cloud, and reports.

import { isFenced } from "../../cloud/error-policies.ts";
import { describeFailure, isLostRace } from "../../controllers/classify-error.ts";
import { Reporter } from "../../controllers/kernel/board.ts";
import type { LatestObjects } from "../../controllers/latest-objects.ts";
import { type Milliseconds, minutes } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import type { Problem } from "../../core/problem.ts";
import type { Draft, Page } from "../../kube/client/api.ts";
import { isKubeError, undefinedIf } from "../../kube/errors/kube-error.ts";
import type { KubeObject, ObjectKey } from "../../kube/objects.ts";
import type { Patch } from "../../kube/patches/patch.ts";
import type { Resource } from "../../kube/resources.ts";
import { CloudError } from "../../provider/errors.ts";
import { DeadlineError, withDeadline } from "../../runtime/deadline.ts";
import { SerialListing } from "../csi/cloud-answers.ts";
import type { CloudVolumes } from "../csi/cloud-volumes.ts";
import { RpcError } from "../grpc/status.ts";
import type { BackgroundWork } from "./background-work.ts";
import type { CallName, ReportedKind, Topic, VolumeDeps } from "./deps.ts";
import type { VolumeHistory } from "./history.ts";
import { keyFor, type ObjectRef, refOf } from "./object-ref.ts";

/** The reported findings about an object. */
interface Subject {
  readonly kind: ReportedKind;
  readonly object: KubeObject;
  readonly metadata: { readonly name: string; readonly uid: string };
}

/** A change that the cloud does not complete in this time is reported, and continued later. */
const changeLimit: Milliseconds = minutes(5);

/** After these errors, a change may still be in progress in the cloud. */
export const unfinished: readonly string[] = [
  "CANCELLED",
  "DEADLINE_EXCEEDED",
  "UNAVAILABLE",
  "RESOURCE_EXHAUSTED",
  "ABORTED",
];

/** The fields of an object to change; null removes a field. The status is changed separately. */
export interface FieldChanges {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

const objectKey = ({ metadata: { name, namespace } }: KubeObject): ObjectKey => defined({ name, namespace });

/** The cloud error behind a CSI error, if any. */
export function cloudErrorIn(error: unknown): unknown {
  return error instanceof RpcError && CloudError.is(error.cause) ? error.cause : error;
}

/** Whether a change of an object affects none of these facts. */
export function isSame<T>(
  before: T | undefined,
  after: T | undefined,
  factsOf: (object: T) => unknown,
): boolean {
  if (before === undefined || after === undefined) return false;
  return JSON.stringify(factsOf(before)) === JSON.stringify(factsOf(after));
}

/** Not a failure: the object changed in the meantime, or this replica lost leadership. */
export function isNoProblem(error: unknown): boolean {
  return isLostRace(error) || isKubeError(error, "fenced") || isFenced(cloudErrorIn(error));
}

export class VolumeActions {
  readonly deps: VolumeDeps;
  readonly history: VolumeHistory;
  readonly #cloud: CloudVolumes;
  /** Aborted when the session ends. */
  readonly #life: AbortSignal;
  readonly #reporter: Reporter<Subject, Topic>;
  /** By resource. */
  readonly #lists = new Map<string, SerialListing<KubeObject>>();

  constructor(deps: VolumeDeps, history: VolumeHistory, life: AbortSignal) {
    this.deps = deps;
    this.history = history;
    this.#cloud = deps.openVolumes(life);
    this.#life = life;
    this.#reporter = new Reporter<Subject, Topic>(
      ({ kind, object }, problem) => deps.report(kind, object, problem),
      history.board,
    );
  }

  /** See `CloudVolumes.shown`. */
  get shown(): CloudVolumes["shown"] {
    return this.#cloud.shown;
  }

  /** Lists the volumes of the cloud. */
  async listVolumes(signal: AbortSignal): Promise<void> {
    await this.#cloud.list(signal);
  }

  /** Starts a change in the cloud, unless in observe mode. */
  start<T>(
    works: BackgroundWork<T | undefined>,
    ref: ObjectRef,
    method: CallName,
    change: { readonly object: string; readonly why: string },
    work: (cloud: CloudVolumes, signal: AbortSignal) => Promise<T>,
  ): void {
    const { clock, sendToCloud, onCall } = this.deps;
    works.start(ref, async () => {
      const began = clock.monotonic();
      try {
        const sent = await sendToCloud([{ action: method, ...change }], () =>
          withDeadline(clock, changeLimit, `${method} of ${change.object}`, this.#life, (signal) =>
            work(this.#cloud, signal),
          ),
        );
        if (sent === "observed") return undefined;
        onCall(method, "OK", clock.monotonic() - began);
        return sent;
      } catch (error) {
        const other = error instanceof DeadlineError ? "DEADLINE_EXCEEDED" : "UNKNOWN";
        onCall(method, error instanceof RpcError ? error.code : other, clock.monotonic() - began);
        throw error;
      }
    });
  }

  /** Starts a request that changes nothing. */
  startRead<T>(
    works: BackgroundWork<T>,
    ref: ObjectRef,
    work: (cloud: CloudVolumes, signal: AbortSignal) => Promise<T>,
  ): void {
    works.start(ref, () => work(this.#cloud, this.#life));
  }

  /** All objects, read without a cache that may be minutes behind, before a change that cannot be undone. */
  async listNow<T extends KubeObject>(resource: Resource<T>, signal: AbortSignal): Promise<readonly T[]> {
    const { api } = this.deps;
    async function* pages(life: AbortSignal) {
      for (let next: string | undefined = ""; next !== undefined; ) {
        const page: Page<T> = await api.listPage(
          resource,
          { limit: 500, ...(next !== "" && { continue: next }) },
          life,
        );
        yield page.items;
        next = page.continue;
      }
    }
    const list =
      this.#lists.get(resource.plural) ??
      new SerialListing<KubeObject>((call) => pages(call.signal), this.#life);
    this.#lists.set(resource.plural, list);
    return (await list.next(signal)) as readonly T[];
  }

  /** Returns undefined in observe mode. */
  async patch<T extends KubeObject>(
    resource: Resource<T>,
    store: LatestObjects<T>,
    object: T,
    patch: Patch,
    why: string,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const change = { action: "patch", object: `${resource.plural}/${keyFor(object)}`, why };
    const written = await this.deps.sendToCluster([change], () =>
      this.deps.api.patch(resource, objectKey(object), patch, signal),
    );
    if (written === "observed") return undefined;
    store.remember(written);
    return written;
  }

  /** Changes fields of this object, unless it was replaced. Returns undefined in observe mode. */
  merge<T extends KubeObject>(
    resource: Resource<T>,
    store: LatestObjects<T>,
    object: T,
    { metadata, spec, status }: FieldChanges,
    why: string,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const body = defined({ metadata: { ...metadata, uid: object.metadata.uid }, spec, status });
    const contentType = "application/merge-patch+json";
    const patch: Patch =
      status === undefined ? { contentType, body } : { contentType, body, subresource: "status" };
    return this.patch(resource, store, object, patch, why, signal);
  }

  /** An existing object is not changed. */
  async create<T extends KubeObject>(
    resource: Resource<T>,
    draft: Draft<T>,
    why: string,
    signal: AbortSignal,
  ): Promise<void> {
    const change = { action: "create", object: `${resource.plural}/${draft.metadata.name}`, why };
    await this.deps
      .sendToCluster([change], () => this.deps.api.create(resource, draft, signal))
      .catch(undefinedIf("already-exists"));
  }

  /** A missing object is not an error. */
  async delete<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    why: string,
    signal: AbortSignal,
  ): Promise<void> {
    const change = { action: "delete", object: `${resource.plural}/${keyFor(object)}`, why };
    const { uid } = object.metadata;
    await this.deps
      .sendToCluster([change], () => this.deps.api.delete(resource, objectKey(object), { uid }, signal))
      .catch(undefinedIf("not-found"));
  }

  /** Replaces the topic's findings about the object. */
  report(kind: ReportedKind, object: KubeObject, topic: Topic, problems: readonly Problem[]): void {
    this.#reporter.report(subjectOf(kind, object), topic, problems);
  }

  /** Sends an event about something temporary. */
  publish(
    kind: ReportedKind,
    object: KubeObject,
    event: Omit<Problem, "severity"> & Partial<Pick<Problem, "severity">>,
  ): void {
    this.#reporter.publish(subjectOf(kind, object), { severity: "notice", ...event });
  }

  reportFailure(
    kind: ReportedKind,
    object: KubeObject,
    topic: Topic,
    { reason, error }: { readonly reason: string; readonly error: unknown },
  ): void {
    if (isNoProblem(error)) return;
    this.report(kind, object, topic, [
      { severity: "error", reason, ...describeFailure(cloudErrorIn(error)) },
    ]);
  }

  /** Called when the object is gone. */
  forget(kind: ReportedKind, ref: ObjectRef): void {
    this.history.board.forget(`${kind} ${ref}`);
  }
}

function subjectOf(kind: ReportedKind, object: KubeObject): Subject {
  return { kind, object, metadata: { name: `${kind} ${refOf(object)}`, uid: object.metadata.uid } };
}
