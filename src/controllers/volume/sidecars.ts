// Whether a sidecar of Kubernetes works for the same driver: it holds its Lease. Two provisioners would work against each other.

import { type Milliseconds, minutes, seconds } from "../../core/brand.ts";
import { leases } from "../../kube/resources.ts";
import { sleep } from "../../platform/clock.ts";
import type { VolumeDeps } from "./deps.ts";
import { sidecarLeases } from "./names.ts";
import { keyFor } from "./volume-actions.ts";

/** As long as the sidecars keep a Lease that they do not renew. */
const leaseDuration: Milliseconds = seconds(15);
const checkAfter: Milliseconds = minutes(1);

type SidecarDeps = Pick<VolumeDeps, "api" | "clock" | "driver" | "note" | "reportOnLease">;

export class Sidecars {
  readonly #deps: SidecarDeps;
  /** The last renewal of Leases that are not renewed any more. Clocks of two machines are never compared. */
  readonly #expired = new Map<string, string>();

  constructor(deps: SidecarDeps) {
    this.#deps = deps;
  }

  /** Resolves when no sidecar holds its Lease. Rejects when the signal is aborted, or the Leases cannot be read. */
  async whenNone(signal: AbortSignal): Promise<void> {
    const { clock, driver, note, reportOnLease } = this.#deps;
    let isReported = false;
    for (let held = await this.#held(signal); held.size > 0; ) {
      await sleep(clock, leaseDuration, signal);
      const later = await this.#held(signal);
      for (const [lease, renewed] of later)
        if (held.get(lease) === renewed) this.#expired.set(lease, renewed);
      held = new Map([...later].filter(([lease, renewed]) => this.#expired.get(lease) !== renewed));
      if (held.size === 0 || isReported) continue;
      isReported = true;
      const message = `The volume controller waits: a sidecar of ${driver.name} runs, because the Lease ${[...held.keys()].join(" and ")} is being renewed. Volumes are left to the sidecars until they stop. To use Fairlead instead, scale the deployment of external-provisioner, external-attacher and external-resizer to 0.`;
      note(message, { reason: "SidecarRunning" });
      reportOnLease({ type: "Warning", reason: "SidecarRunning", message });
    }
    if (isReported) note("No sidecar runs any more; the volume controller starts", {});
  }

  /** Resolves when a sidecar holds its Lease. */
  async whenAny(signal: AbortSignal): Promise<void> {
    do await sleep(this.#deps.clock, checkAfter, signal);
    while ((await this.#held(signal).catch(() => new Map())).size === 0);
  }

  /** The last renewal of each Lease that has a holder, unless it has expired. */
  async #held(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const { api, driver } = this.#deps;
    const pages = await Promise.all(
      sidecarLeases(driver.name).map((name) =>
        api.listPage(leases, { fieldSelector: `metadata.name=${name}` }, signal),
      ),
    );
    return new Map(
      pages
        .flatMap(({ items }) => items)
        .filter(({ spec }) => (spec?.holderIdentity ?? "") !== "")
        .map((lease) => [keyFor(lease), `${lease.spec?.holderIdentity} ${lease.spec?.renewTime}`] as const)
        .filter(([lease, renewed]) => this.#expired.get(lease) !== renewed),
    );
  }
}
