// The queue of the volume controller. Its keys name one object: `claim/default/data/UID`.

import type { KubeObject } from "../../kube/objects.ts";
import type { WorkQueue } from "../../runtime/work-queue.ts";
import type { ReportedKind } from "./deps.ts";
import { type ObjectRef, refOf } from "./object-ref.ts";

export const kinds = {
  claim: "PersistentVolumeClaim",
  volume: "PersistentVolume",
  attachment: "VolumeAttachment",
  snapshot: "VolumeSnapshot",
  content: "VolumeSnapshotContent",
} as const satisfies Record<string, ReportedKind>;
export type Part = keyof typeof kinds;

export const queueKeyOf = (part: Part, ref: ObjectRef): string => `${part}/${ref}`;

export function splitQueueKey(key: string): readonly [Part, ObjectRef] {
  const slash = key.indexOf("/");
  return [key.slice(0, slash) as Part, key.slice(slash + 1) as ObjectRef];
}

export class VolumeQueue {
  readonly #queue: WorkQueue;

  constructor(queue: WorkQueue) {
    this.#queue = queue;
  }

  add(part: Part, ...objects: readonly (KubeObject | undefined)[]): void {
    for (const object of objects) if (object !== undefined) this.addRef(part, refOf(object));
  }

  addRef(part: Part, ref: ObjectRef): void {
    this.#queue.add(queueKeyOf(part, ref));
  }
}
