// Flags of single controllers as upstream groups them, and of leader migration.

import { flag, integer, text } from "../../../core/fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { type FlagGroup, needsRestart, noEffect } from "../flag-notes.ts";

const leaderMigrationFields = {
  "enable-leader-migration": needsRestart(
    flag("Run some controllers under a Lease that is shared with kube-controller-manager.", {
      fallback: false,
    }),
  ),
  "leader-migration-config": needsRestart(
    text("Path of a LeaderMigrationConfiguration; without it, upstream's built-in one counts."),
  ),
} as const satisfies Fields;

const cloudNodeFields = {
  "concurrent-node-syncs": integer(
    "Nodes worked on at the same time.",
    { min: 1, max: 200 },
    { fallback: 64 },
  ),
  "concurrent-node-status-updates": noEffect(
    integer("Nodes whose status is written at the same time."),
    "--concurrent-node-syncs counts for all work on Nodes",
  ),
} as const satisfies Fields;

const serviceFields = {
  "concurrent-service-syncs": integer(
    "Balancers worked on at the same time.",
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
