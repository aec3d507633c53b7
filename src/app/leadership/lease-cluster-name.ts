// Keeps the cluster name of the leader on the Lease. Nothing else shows that a manager was started with another --cluster-name, and in
// clouds whose marks name the cluster it takes everything for that of another cluster.

import { clusterNameAnnotation } from "../../controllers/well-known.ts";
import {
  type AnnotationWrite,
  type LeaseAnnotations,
  roomFor,
} from "../../kube/leader-election/lease-record.ts";
import type { Lease } from "../../kube/objects.ts";
import type { LeaseEvent } from "./hold-release.ts";

export class LeaseClusterName implements LeaseAnnotations {
  readonly #name: string;
  readonly #onChanged: (former: string) => void;

  constructor(name: string, onChanged: (former: string) => void) {
    this.#name = name;
    this.#onChanged = onChanged;
  }

  read(): void {}

  next(before: Lease | undefined, purpose: "hold" | "release"): AnnotationWrite {
    const hasRoom = roomFor(clusterNameAnnotation, before) >= Buffer.byteLength(this.#name);
    if (purpose === "release" || !hasRoom) return { values: {}, onStored: () => undefined };
    const former = before?.metadata.annotations?.[clusterNameAnnotation];
    return {
      values: { [clusterNameAnnotation]: this.#name },
      onStored: () => {
        if (former !== undefined && former !== this.#name) this.#onChanged(former);
      },
    };
  }
}

/** `program`: that runs the command. */
export function clusterNameChanged(former: string, name: string, program: string): LeaseEvent {
  const text = (value: string): string => JSON.stringify(value.slice(0, 63));
  return {
    type: "Warning",
    reason: "ClusterNameChanged",
    message: `The last leader of this cluster had --cluster-name=${text(former)}, and this one has ${text(name)}. In a cloud whose marks name the cluster, what has the former name counts as that of another cluster, so nothing is changed for its Services. If the new name is a mistake, restart all replicas with the former one. If it is intended, the command ${program} marks shows what has the former name, and moves it.`,
  };
}
