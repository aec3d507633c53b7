// Flags of single commands: what to print, explain, plan or check, from where, and in which format. All other commands refuse them.

import { milliseconds } from "../../../core/brand.ts";
import { duration, flag, oneOf, text } from "../../../core/fields.ts";
import { repeated } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { type FlagGroup, onlyFor, shorthand } from "../flag-notes.ts";

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
  output: onlyFor(
    ["explain", "plan", "lint"],
    shorthand(
      oneOf("Output format; text if unset. github, for lint, prints annotations of GitHub Actions.", [
        "text",
        "json",
        "github",
      ]),
      "o",
    ),
  ),
  namespace: onlyFor(
    "explain",
    shorthand(
      text(
        "Namespace of a Service that is given without one. If unset, that of the kubeconfig's context, or default.",
      ),
      "n",
    ),
  ),
  context: onlyFor(["explain", "plan"], text("Context of the kubeconfig. If unset, its current-context.")),
  server: onlyFor(
    "explain",
    text(
      "URL of the secure port of a running manager, such as https://localhost:10258. The leader knows the reasons.",
    ),
  ),
  "server-ca-file": onlyFor(
    "explain",
    text(
      "File with the CA certificates of the secure port. Without --server, the leader is found through its Lease. The manager's own CA is cloud-controller-manager-ca.crt in its --cert-dir.",
    ),
  ),
  offline: onlyFor(
    "explain",
    flag("Ask no running manager; read the API server and the cloud, and decide as a manager would.", {
      fallback: false,
    }),
  ),
  timeout: onlyFor(
    ["explain", "plan"],
    duration("Time for the API server and the cloud to answer; 1m if unset.", { min: milliseconds(1000) }),
  ),
} as const satisfies Fields;

export const commandFlags = { title: "single commands", fields: commandFields } satisfies FlagGroup;
