// Flags of individual controllers, grouped as upstream groups them, and of leader migration.

import { flag, integer, text } from "../../../core/fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { type FlagGroup, needsRestart, noEffect } from "../flag-notes.ts";

const leaderMigrationFields = {
  "enable-leader-migration": needsRestart(
    flag("Run the migrated controllers under a Lease that is shared with kube-controller-manager.", {
      fallback: false,
    }),
  ),
  "leader-migration-config": needsRestart(
    text("Path of a LeaderMigrationConfiguration file. If unset, upstream's default configuration is used."),
  ),
} as const satisfies Fields;

const cloudNodeFields = {
  "concurrent-node-syncs": integer(
    "Number of workers that reconcile Nodes concurrently.",
    { min: 1, max: 200 },
    { fallback: 64 },
  ),
  "concurrent-node-status-updates": noEffect(
    integer("Number of workers that update Node statuses concurrently."),
    "--concurrent-node-syncs applies to all work on Nodes",
  ),
} as const satisfies Fields;

const serviceFields = {
  "concurrent-service-syncs": integer(
    "Number of load balancers that are reconciled concurrently.",
    { min: 1, max: 200 },
    { fallback: 32 },
  ),
} as const satisfies Fields;

export const leaderMigrationFlags = {
  title: "leader-migration",
  fields: leaderMigrationFields,
} satisfies FlagGroup;
export const cloudNodeFlags = {
  title: "cloud-node-controller",
  fields: cloudNodeFields,
} satisfies FlagGroup;
export const serviceFlags = {
  title: "service-lb-controller",
  fields: serviceFields,
} satisfies FlagGroup;
