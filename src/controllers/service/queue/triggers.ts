// What brings groups into the queue: Services, Nodes and machines that change, and listings that came. It decides who is
// to be looked at and how soon, never what is to be done.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import { createDebounce } from "../../../runtime/debounce.ts";
import { priorities, type WorkQueue } from "../../../runtime/work-queue.ts";
import type { ServiceDeps } from "../deps.ts";
import type { DesiredServices } from "../desired/desired-services.ts";
import type { FreshListing } from "../observed/fresh-listing.ts";
import type { NodeSyncLatency } from "../reconcile/node-sync-latency.ts";
import type { Groups } from "../state/groups.ts";
import type { Progress } from "../state/progress.ts";
import type { ServiceReporter } from "../status/service-reporter.ts";
import { isRelevantNodeChange } from "../targets/eligible-nodes.ts";
import type { Placement } from "./placement.ts";

export interface TriggerDeps {
  readonly queue: WorkQueue;
  readonly groups: Groups;
  readonly desiredServices: DesiredServices;
  readonly placement: Pick<Placement, "place">;
  readonly claimMarked: () => void;
  readonly freshListing: Pick<FreshListing, "asking">;
  readonly progress: Pick<Progress, "touch" | "isBackingOff">;
  readonly nodeSyncLatency: Pick<NodeSyncLatency, "begin">;
  readonly reporter: Pick<ServiceReporter, "forget">;
  /** Whether a change of a Service means anything to us. */
  readonly isNews: (key: string, before: Service | undefined, after: Service | undefined) => boolean;
}

export function createTriggers(
  { services, nodes, isSelected, onMachines, listing, clock }: ServiceDeps,
  {
    queue,
    groups,
    desiredServices,
    placement,
    claimMarked,
    freshListing,
    progress,
    nodeSyncLatency,
    reporter,
    isNews,
  }: TriggerDeps,
) {
  const urgent = { priority: priorities.urgent };

  const put = (key: string, service: Service | undefined): void => {
    for (const group of placement.place(key, service)) {
      progress.touch(group);
      queue.add(group, urgent);
    }
  };

  const onService = (change: { key: string; before?: Service; after?: Service }): void => {
    const { key, before, after } = change;
    // Made again under the same name within a moment: the first one's balancer is a debt.
    if (isNews(key, before, after)) put(key, after);
    // Also one that asked for nothing in the end: it may have before.
    if (before !== undefined && before.metadata.uid !== after?.metadata.uid)
      forget(key, serviceUID(before.metadata.uid));
  };

  /** What was remembered of this very Service, which is gone. */
  const forget = (key: string, uid: ServiceUID): void => {
    reporter.forget(key);
    desiredServices.forget(key, uid);
  };

  const isGone = (key: string, uid: ServiceUID): boolean => services.get(key)?.metadata.uid !== uid;

  const onListing = (): void => {
    if (listing.failure === undefined) claimMarked();
    const asking = new Set(freshListing.asking());
    for (const group of asking) queue.add(group, urgent);
    if (listing.failure !== undefined) return;
    for (const group of groups.all) {
      if (asking.has(group) || progress.isBackingOff(group)) continue;
      queue.add(group, { priority: priorities.background });
    }
  };

  const onTargets = (): void => {
    if (!desiredServices.refreshTargets()) return;
    const checked = [...groups.all].filter((group) => !progress.isBackingOff(group));
    nodeSyncLatency.begin(checked);
    for (const group of checked) queue.add(group);
  };

  return {
    check: (key: string): void => put(key, services.get(key)),
    /** After a round: its Service may have gone meanwhile, and the round remembered it again. */
    forgetGone: (members: readonly Service[]): void => {
      for (const { metadata } of members) {
        const [key, uid] = [keyOf(metadata), serviceUID(metadata.uid)];
        if (isGone(key, uid)) forget(key, uid);
      }
    },
    /** Everything is looked at once, then whatever changes. Returns how to stop it. */
    begin: (): (() => void) => {
      const burst = createDebounce(clock, onTargets);
      const stops = [
        services.subscribe(onService),
        nodes.subscribe(({ before, after }) => {
          if (isRelevantNodeChange(before, after, { labelsMatter: desiredServices.labelsMatter, isSelected }))
            burst.hit();
        }),
        onMachines(() => burst.hit()),
        listing.subscribe(onListing),
        burst.stop,
      ];
      desiredServices.refreshTargets();
      const { placed } = groups;
      for (const service of services.list()) {
        for (const group of placement.place(keyOf(service.metadata), service)) queue.add(group);
      }
      // What went while somebody else led is a debt of ours too, as long as nobody has seen it paid.
      for (const [key, uid] of placed) {
        if (!isGone(key, uid)) continue;
        if (services.get(key) === undefined) placement.place(key, undefined);
        forget(key, uid);
      }
      for (const group of groups.all) queue.add(group);
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}
