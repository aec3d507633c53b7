// Flags of individual controllers, grouped as upstream groups them, and of leader migration.

import { seconds } from "../../../core/brand.ts";
import { duration, flag, text } from "../../../core/fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { live, noEffect } from "../flag-notes.ts";
import { goInteger } from "../pflag.ts";

export const leaderMigrationFields = {
  "enable-leader-migration": flag(
    "Run the migrated controllers under a Lease that is shared with kube-controller-manager.",
    { fallback: false },
  ),
  "leader-migration-config": text(
    "Path of a LeaderMigrationConfiguration file. If unset, upstream's default configuration is used.",
  ),
} as const satisfies Fields;

export const cloudNodeFields = {
  ...live({
    "concurrent-node-syncs": goInteger(
      "Number of workers that reconcile Nodes concurrently.",
      { min: 1 },
      { fallback: 64 },
    ),
  }),
  ...noEffect("--concurrent-node-syncs applies to all work on Nodes", {
    "concurrent-node-status-updates": goInteger("Number of workers that update Node statuses concurrently."),
  }),
} as const satisfies Fields;

export const cloudNodeLifecycleFields = noEffect(
  "Nodes are reconciled when they change, with the workers of --concurrent-node-syncs",
  {
    "concurrent-node-lifecycle-syncs": goInteger(
      "Number of workers that sync Nodes concurrently.",
      { min: 1 },
      { fallback: 1 },
    ),
    "node-monitor-period": duration("Interval between syncs of all Nodes.", {}, { fallback: seconds(5) }),
  },
);

export const serviceFields = live({
  "concurrent-service-syncs": goInteger(
    "Number of load balancers that are reconciled concurrently.",
    { min: 1 },
    { fallback: 32 },
  ),
});
