// The targets of one Service that the cloud rejected, and the event about them. They are omitted, and retried with a growing
// backoff, or when the Node or the Service changes. After a restart, each is tried once more.

import { type Milliseconds, minutes, type NodeName } from "../../../core/brand.ts";
import type { Problem } from "../../../core/problem.ts";
import { shortList } from "../../../core/text.ts";
import type { BalancerTarget } from "../../../provider/load-balancers.ts";

export interface Refusal {
  /** The cloud's message. */
  readonly text: string;
  /** The content of the rejected request. */
  readonly content: string;
  /** Consecutive rejections. */
  readonly count: number;
  /** Monotonic. */
  readonly retryAt: number;
}

export interface WithheldTargets {
  /** The same list if nothing is withheld, because most Services share the list. */
  readonly targets: readonly BalancerTarget[];
  /** The time of the next retry (monotonic). */
  readonly retryAt: number | undefined;
}

const firstBackoff: Milliseconds = minutes(1);
const maxBackoff: Milliseconds = minutes(60);

function backoffOf(count: number, first: Milliseconds): number {
  return Math.min(maxBackoff, first * 2 ** Math.min(count - 1, 10));
}

/** Excludes labels, which the cloud ignores. */
function contentOf({ machine, addresses, internalIPs }: BalancerTarget): string {
  return JSON.stringify([machine, addresses, internalIPs]);
}

export class RefusedTargets {
  readonly #refusals = new Map<NodeName, Refusal>();

  /** All rejected targets, including those being retried. */
  get all(): readonly (readonly [NodeName, Refusal])[] {
    return [...this.#refusals];
  }

  /** Returns false if the target is already withheld, because several steps of one plan may report it. */
  note(target: BalancerTarget, text: string, now: number, first = firstBackoff): boolean {
    const content = contentOf(target);
    const known = this.#refusals.get(target.node);
    const before = known?.content === content ? known : undefined;
    if (before !== undefined && before.retryAt > now) return false;
    const count = (before?.count ?? 0) + 1;
    this.#refusals.set(target.node, { text, content, count, retryAt: now + backoffOf(count, first) });
    return true;
  }

  /** Whether the target is currently omitted. A changed target is not omitted. */
  #isWithheld(target: BalancerTarget, now: number): boolean {
    const refusal = this.#refusals.get(target.node);
    return refusal !== undefined && refusal.retryAt > now && refusal.content === contentOf(target);
  }

  /** When the next target will be retried (monotonic). */
  retryAt(now: number): number | undefined {
    const times = this.all.flatMap(([, { retryAt }]) => (retryAt > now ? retryAt : []));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** Since when a target is being retried without having been accepted (monotonic). */
  dueAt(now: number): number | undefined {
    const times = this.all.flatMap(([, { retryAt }]) => (retryAt > now ? [] : retryAt));
    return times.length === 0 ? undefined : Math.max(...times);
  }

  /** Omits the targets that must not be retried yet. */
  withhold(targets: readonly BalancerTarget[], now: number): WithheldTargets {
    if (this.#refusals.size === 0) return { targets, retryAt: undefined };
    const withheld = targets.filter((target) => this.#isWithheld(target, now));
    const times = withheld.flatMap(({ node }) => this.#refusals.get(node)?.retryAt ?? []);
    return withheld.length === 0
      ? { targets, retryAt: undefined }
      : { targets: targets.filter((target) => !this.#isWithheld(target, now)), retryAt: Math.min(...times) };
  }

  /**
   * The cloud has these targets. Also forgets Nodes that have not been targets for a long time. Returns whether one of the
   * targets was rejected before.
   */
  accept(targets: readonly BalancerTarget[], now: number): boolean {
    if (this.#refusals.size === 0) return false;
    const accepted = targets.filter(({ node }) => this.#refusals.delete(node));
    for (const [node, { retryAt }] of this.all) {
      if (retryAt + maxBackoff < now) this.#refusals.delete(node);
    }
    return accepted.length > 0;
  }

  /** Called when the Service or the settings have changed. Retries everything. */
  clear(): void {
    this.#refusals.clear();
  }
}

/** The targets that the cloud rejected. Reported again only when another Node is affected. */
export function refusedTargets(
  targets: readonly BalancerTarget[],
  refusals: readonly (readonly [NodeName, Pick<Refusal, "text">])[],
): readonly Problem[] {
  const refused = refusals.filter(([name]) => targets.some(({ node }) => node === name));
  if (refused.length === 0) return [];
  const texts = refused.map(([name, { text }]) => `${name} (${text})`);
  const problem: Problem = {
    severity: "warning",
    reason: "TargetRefused",
    text: `The cloud refuses ${refused.length} of ${targets.length} targets: ${shortList(texts)}. They get no traffic from the load balancer. They are tried again from time to time, and when the Node or the Service changes.`,
    identity: refused
      .map(([name]) => name)
      .toSorted()
      .join(),
  };
  return [problem];
}
