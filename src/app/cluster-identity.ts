// The identity of a cluster: the uid of its namespace kube-system, which no other cluster has, whatever its name is. A leader reads it
// before its controllers run.

import { type Milliseconds, milliseconds, seconds } from "../core/brand.ts";
import type { KubeApi } from "../kube/client/api.ts";
import { undefinedIf } from "../kube/errors/kube-error.ts";
import { namespaces } from "../kube/resources.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Log } from "../telemetry/log.ts";
import type { FollowedCache } from "./leadership/current-caches.ts";

const name = "kube-system";
const retryAfter = seconds(2);

/** Undefined if the manager may not read the namespace. */
export async function readClusterUID(
  api: Pick<KubeApi, "get">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = await api.get(namespaces, { name }, signal).catch(undefinedIf("forbidden", "not-found"));
  return found?.metadata.uid;
}

export interface ClusterIdentityDeps {
  readonly api: Pick<KubeApi, "get">;
  readonly clock: Clock;
  readonly log: Pick<Log, "warn">;
  readonly onProblem: (error: unknown) => void;
}

export class ClusterIdentity implements FollowedCache {
  readonly resource = "namespaces";
  readonly #deps: ClusterIdentityDeps;
  #uid: string | undefined;
  #isRead = false;

  constructor(deps: ClusterIdentityDeps) {
    this.#deps = deps;
  }

  get uid(): string | undefined {
    return this.#uid;
  }

  /** The uid stays the same for the life of an API server, and each session reads it again. */
  age(): Milliseconds | undefined {
    return this.#isRead ? milliseconds(0) : undefined;
  }

  async whenListed(_since: number, signal: AbortSignal): Promise<void> {
    const { api, clock, log, onProblem } = this.#deps;
    for (;;) {
      try {
        // An API server that has just started rejects many requests for a moment. Data that was read earlier stays valid.
        this.#uid = (await readClusterUID(api, signal)) ?? this.#uid;
        break;
      } catch (error) {
        signal.throwIfAborted();
        onProblem(error);
        await sleep(clock, retryAfter, signal);
      }
    }
    if (this.#uid === undefined && !this.#isRead)
      log.warn(
        `The namespace ${name} cannot be read, so clusters with the same --cluster-name are not distinguished: a load balancer of another one can look like one of this cluster. Grant the verb get for the namespace ${name} (see the command rbac).`,
      );
    this.#isRead = true;
  }
}
