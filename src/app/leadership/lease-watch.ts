// Watches the one Lease of the leader election, so that a replica that waits takes over as soon as the leader gives up and
// not at its next look. It is a help and no more: without the permission to watch, candidates look as often as ever.

import { type Milliseconds, minutes } from "../../core/brand.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { holderOf } from "../../kube/leader-election/lease-record.ts";
import type { Lease } from "../../kube/objects.ts";
import { leases } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";
import { missingLeaseRights } from "./lease-rights.ts";

export interface LeaseWatchOptions {
  readonly api: KubeApi;
  /** For the question what else may not be done with it: no gate, places of its own. */
  readonly reserved: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly namespace: string;
  readonly name: string;
  /** Nobody holds it now, or it is gone. */
  readonly onFree: () => void;
}

export interface LeaseWatch extends Task {
  /** How long ago anything happened to it, be it a failure. */
  readonly idle: () => Milliseconds | undefined;
}

/** A watch that lives hears something, is opened anew or fails, every few minutes; this long it never rests. */
const maxBackoff = minutes(10);

export const isStill = (idle: Milliseconds | undefined): boolean => idle !== undefined && idle > maxBackoff;

export function leaseWatch({
  api,
  reserved,
  clock,
  random,
  log,
  namespace,
  name,
  onFree,
}: LeaseWatchOptions): LeaseWatch {
  let isReported = false;
  let askRights: () => void = () => undefined;
  const reflector = new Reflector<Lease>({
    api,
    resource: leases,
    clock,
    random,
    namespace,
    fieldSelector: `metadata.name=${name}`,
    // Whatever else is wrong is wrong with the election too, which says it.
    onProblem: ({ kind, message }) => {
      if (kind !== "forbidden" || isReported) return;
      isReported = true;
      log.warn(
        `The Lease ${namespace}/${name} may not be watched, so a hand-over takes a retry period longer: ${message}`,
      );
      askRights();
    },
  });
  reflector.store.subscribe(({ after }) => {
    if (after === undefined || holderOf(after) === "") onFree();
  });
  const run = (stop: AbortSignal): Promise<void> => {
    askRights = () => {
      missingLeaseRights(reserved, { namespace, name }, stop).then(
        (missing) => missing !== undefined && log.error(missing),
        // Whoever may not even ask is told so by the election, if it comes to that.
        () => undefined,
      );
    };
    return reflector.run(stop);
  };
  return { name: "lease watch", run, idle: () => reflector.idle() };
}
