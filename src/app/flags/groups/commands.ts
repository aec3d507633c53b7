// Flags of single commands. The manager refuses them.

import { oneOf } from "../../../core/fields.ts";
import { repeated } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { type FlagGroup, onlyFor } from "../flag-notes.ts";

/** What `manifests` prints. */
export const manifestKinds = ["daemonset", "deployment", "static-pod", "systemd", "rbac"] as const;
export type ManifestKind = (typeof manifestKinds)[number];

const commandFields = {
  as: onlyFor("manifests", oneOf("What manifests prints.", manifestKinds)),
  set: onlyFor(
    "manifests",
    repeated(
      "What the manifests contain: a setting of the cloud, or a value such as image. NAME without a value takes that of the environment variable.",
      "NAME=VALUE, or NAME for the value of an environment variable",
    ),
  ),
} as const satisfies Fields;

export const commandFlags = { title: "single commands", fields: commandFields } satisfies FlagGroup;
