// Detects whether a sidecar of Kubernetes does the same work, because it holds its Lease. Two provisioners would work
// against each other.

import { type Milliseconds, minutes, seconds } from "../../core/brand.ts";
import { undefinedIf } from "../../kube/errors/kube-error.ts";
import { leases } from "../../kube/resources.ts";
import { sleep } from "../../platform/clock.ts";
import type { VolumeDeps } from "./deps.ts";
import { keyFor } from "./object-ref.ts";

/** How long sidecars keep a Lease that they do not renew. */
const leaseDuration: Milliseconds = seconds(15);
const checkAfter: Milliseconds = minutes(1);

interface SidecarDeps extends Pick<VolumeDeps, "api" | "clock"> {
  readonly leases: readonly string[];
  /** Leases in other namespaces are ignored, because tenants may write them. */
  readonly namespace: string;
  /** Called when these Leases are being renewed. */
  readonly onRunning: (leases: string) => void;
  /** The last renewal of Leases that are no longer renewed. */
  readonly expired: Map<string, string>;
  /** Called when the last sidecar has stopped. */
  readonly onStopped: () => void;
}

export class Sidecars {
  readonly #deps: SidecarDeps;

  constructor(deps: SidecarDeps) {
    this.#deps = deps;
  }

  /** Resolves when no sidecar holds its Lease. Rejects if the signal is aborted, or the Leases cannot be read. */
  async whenNone(signal: AbortSignal): Promise<void> {
    const { clock, expired, onRunning, onStopped } = this.#deps;
    let isReported = false;
    for (let held = await this.#held(signal); held.size > 0; ) {
      await sleep(clock, leaseDuration, signal);
      const later = await this.#held(signal);
      for (const [lease, renewed] of later) if (held.get(lease) === renewed) expired.set(lease, renewed);
      held = new Map([...later].filter(([lease, renewed]) => expired.get(lease) !== renewed));
      if (held.size === 0 || isReported) continue;
      isReported = true;
      onRunning([...held.keys()].join(" and "));
    }
    if (isReported) onStopped();
  }

  /** Resolves when a sidecar holds its Lease. */
  async whenAny(signal: AbortSignal): Promise<void> {
    do await sleep(this.#deps.clock, checkAfter, signal);
    while ((await this.#held(signal).catch(() => new Map())).size === 0);
  }

  /** The last renewal of each Lease that has a holder, unless it has expired. */
  async #held(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { api, leases: names, namespace, expired } = this.#deps;
    const found = await Promise.all(
      names.map((name) => api.get(leases, { name, namespace }, signal).catch(undefinedIf("not-found"))),
    );
    return new Map(
      found
        .filter((lease) => lease !== undefined)
        .filter(({ spec }) => (spec?.holderIdentity ?? "") !== "")
        .map((lease) => [keyFor(lease), `${lease.spec?.holderIdentity} ${lease.spec?.renewTime}`] as const)
        .filter(([lease, renewed]) => expired.get(lease) !== renewed),
    );
  }
}
