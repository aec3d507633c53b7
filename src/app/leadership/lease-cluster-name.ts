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
import { writerOf } from "./judge-leases.ts";

interface LeaseClusterNameOptions {
  readonly name: string;
  /** The identity of this replica, as the holder of the Lease. */
  readonly identity: string;
  /** The Go managers keep the annotation, and may have another name. */
  readonly program: string;
  /** The leader before this one had another name. */
  readonly onChanged: (former: string) => void;
}

export class LeaseClusterName implements LeaseAnnotations {
  readonly #options: LeaseClusterNameOptions;
  /** Not reported yet: the write that replaces it is not known to have succeeded. */
  #former: string | undefined;

  constructor(options: LeaseClusterNameOptions) {
    this.#options = options;
  }

  read(): void {}

  next(before: Lease | undefined, purpose: "hold" | "release"): AnnotationWrite {
    const { name, identity, program, onChanged } = this.#options;
    const hasRoom = roomFor(clusterNameAnnotation, before) >= Buffer.byteLength(name);
    if (purpose === "release" || !hasRoom) return { values: {}, onStored: () => undefined };
    if (before !== undefined && before.spec?.holderIdentity !== identity) {
      const former = before.metadata.annotations?.[clusterNameAnnotation];
      const isKnown = former !== name && writerOf(before, "renewTime") === program;
      this.#former = isKnown ? former : undefined;
    }
    return {
      values: { [clusterNameAnnotation]: name },
      onStored: () => {
        const former = this.#former;
        this.#former = undefined;
        if (former !== undefined) onChanged(former);
      },
    };
  }
}

/** Any client that may write the Lease may write anything there. */
export const clusterNameText = (name: string): string =>
  JSON.stringify(name.length > 63 ? `${name.slice(0, 63)}…` : name);

/** `command`: that moves marks; undefined if the cloud's marks do not have this name. */
export function clusterNameChanged(former: string, name: string, command: string | undefined): LeaseEvent {
  const reason = "ClusterNameChanged";
  const changed = `The last leader of this cluster had --cluster-name=${clusterNameText(former)}, and this one has ${clusterNameText(name)}.`;
  if (command === undefined)
    return {
      type: "Normal",
      reason,
      message: `${changed} In this cloud, the marks of load balancers do not have this name, so everything is managed as before. If the new name is a mistake, restart all replicas with the former one; otherwise do nothing.`,
    };
  return {
    type: "Warning",
    reason,
    message: `${changed} What has the former name in its mark counts as that of another cluster, so nothing is changed for its Services. If the new name is a mistake, restart all replicas with the former one. If it is intended, the command ${command} shows what has the former name, and moves it.`,
  };
}
