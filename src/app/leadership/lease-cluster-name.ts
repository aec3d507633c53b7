// Keeps the leader's cluster name on the Lease, which reveals a manager that was started with a different
// --cluster-name. In clouds whose marks name the cluster, such a manager treats all objects as another cluster's.

import { clusterNameAnnotation } from "../../controllers/well-known.ts";
import type { Problem } from "../../core/problem.ts";
import { commandText } from "../../core/text.ts";
import {
  type AnnotationWrite,
  type LeaseAnnotations,
  roomFor,
} from "../../kube/leader-election/lease-annotations.ts";
import type { Lease } from "../../kube/objects.ts";
import { leaseWriterOf } from "./judge-leases.ts";

interface LeaseClusterNameOptions {
  readonly name: string;
  /** The identity of this replica, as the holder of the Lease. */
  readonly identity: string;
  /** The name of the program. The Go managers keep the annotation, and may use a different cluster name. */
  readonly program: string;
  /** Called when the previous leader had a different name. */
  readonly onChanged: (former: string) => void;
}

export class LeaseClusterName implements LeaseAnnotations {
  readonly #options: LeaseClusterNameOptions;
  /** The former name, kept until the write that replaces it is known to have succeeded. */
  #former: string | undefined;

  constructor(options: LeaseClusterNameOptions) {
    this.#options = options;
  }

  next(before: Lease | undefined, purpose: "hold" | "release"): AnnotationWrite {
    const { name, identity, program, onChanged } = this.#options;
    if (purpose === "release") return { values: {}, onStored: () => undefined };
    if (before !== undefined && before.spec?.holderIdentity !== identity) {
      const former = before.metadata.annotations?.[clusterNameAnnotation];
      const isKnown = former !== name && leaseWriterOf(before, "renewTime") === program;
      this.#former = isKnown ? former : undefined;
    }
    const hasRoom = roomFor(clusterNameAnnotation, before) >= Buffer.byteLength(name);
    return {
      values: hasRoom ? { [clusterNameAnnotation]: name } : {},
      onStored: () => {
        const former = this.#former;
        this.#former = undefined;
        if (former !== undefined) onChanged(former);
      },
    };
  }
}

/** Quoted and truncated, because any client that may write the Lease can write any text. */
export const clusterNameText = (name: string): string =>
  JSON.stringify(name.length > 63 ? `${name.slice(0, 63)}…` : name);

/** `isInMarks`: whether marks in the cloud contain the name. */
export function clusterNameChanged(
  former: string,
  name: string,
  { program, isInMarks }: { readonly program: string; readonly isInMarks: boolean },
): Problem {
  const reason = "ClusterNameChanged";
  const changed = `The last leader of this cluster had --cluster-name=${clusterNameText(former)}, and this one has ${clusterNameText(name)}.`;
  const mistake = "If the new name is a mistake, restart all replicas with the former one.";
  if (!isInMarks)
    return {
      severity: "notice",
      reason,
      text: `${changed} In this cloud, the marks of load balancers do not have this name, so all are managed as before. Names that contain it change, such as the names of security groups in AWS. ${mistake}`,
    };
  const command = commandText(`${program} marks --cluster-name=${name}`);
  return {
    severity: "warning",
    reason,
    text: `${changed} Objects with the former name in their mark count as objects of another cluster, so nothing is changed for its Services. ${mistake} If it is intended, this shows what has the former name, and how to move it: ${command}`,
  };
}
