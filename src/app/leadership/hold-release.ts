// Releases held objects when an operator requests it on the Lease, and reports the released objects.

import { type RemovalKind, removalKinds, removalWindowText } from "../../controllers/kernel/removal-kinds.ts";
import type { RemovalMemory } from "../../controllers/kernel/removal-memory.ts";
import { releaseHoldAnnotation } from "../../controllers/well-known.ts";
import { eventTypeOf, messageIn, type Problem } from "../../core/problem.ts";
import { shortList } from "../../core/text.ts";
import type { Log } from "../../telemetry/log.ts";
import { releasedKinds } from "./lease-removals.ts";

const kindNames: Readonly<Record<RemovalKind, string>> = {
  nodes: "Nodes",
  "load-balancers": "load balancers",
  routes: "routes",
  volumes: "volumes",
};

/** `lease` is the Lease with its namespace. Returns the event for the Lease. */
export function releaseHold(value: string, lease: string, memory: RemovalMemory): Problem {
  const annotation = `${releaseHoldAnnotation}=${value}`;
  const kinds = releasedKinds(value);
  if (kinds === undefined) {
    return ignored(
      `Annotation ${annotation} of Lease ${lease} must be ${removalKinds.join(", ")} or all, got ${JSON.stringify(value)}. Nothing was released, and the annotation was removed; annotate the Lease again.`,
    );
  }
  const released = kinds.flatMap((kind) => {
    const names = memory.release(kind);
    return names.length === 0 ? [] : [`${names.length} ${kind} (${shortList(names, 300)})`];
  });
  if (released.length === 0) {
    return ignored(
      `Annotation ${annotation} of Lease ${lease} released nothing, because --removal-limit holds no ${shortList(kinds.map((kind) => kindNames[kind]))} at the moment. The annotation was removed; annotate the Lease again when something is held.`,
    );
  }
  return {
    severity: "notice",
    reason: "HoldReleased",
    text: `Released because of annotation ${annotation} of Lease ${lease}: ${released.join("; ")}. They do not count towards the limit for ${removalWindowText}, or until they are there again. The annotation was removed.`,
  };
}

/** The response to the write that removed the annotation was lost, and another replica has held the Lease since. */
export function releaseDropped(value: string, lease: string): Problem {
  return ignored(
    `Annotation ${releaseHoldAnnotation}=${value} of Lease ${lease} released nothing, because this replica lost the Lease while it removed the annotation, and something else may be held now. Annotate the Lease again if something is still held.`,
  );
}

export function logProblem(problem: Problem, log: Log): void {
  const [message, fields] = [messageIn(problem), { reason: problem.reason }];
  if (eventTypeOf(problem) === "Normal") log.info(message, fields);
  else log.warn(message, fields);
}

const ignored = (text: string): Problem => ({ severity: "warning", reason: "HoldReleaseIgnored", text });
