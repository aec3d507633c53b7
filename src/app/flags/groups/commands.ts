// Flags of single commands: what to print, explain, plan, check or delete, the source, and the
// format. All other commands reject them.

import { milliseconds, seconds } from "../../../core/brand.ts";
import { cidrBlock, duration, flag, oneOf, text } from "../../../core/fields.ts";
import { repeated } from "../../../core/list-fields.ts";
import type { Fields } from "../../../core/settings.ts";
import { onlyFor, shorthand } from "../flag-notes.ts";

/** The kinds of installation that `manifests` prints. */
const manifestKinds = ["daemonset", "deployment", "static-pod", "systemd", "rbac", "node-volumes"] as const;
export type ManifestKind = (typeof manifestKinds)[number];

const waitTime = duration(
  "Repeat the checks every 10s until no error is left, for at most this time, such as --wait=10m; 5m without a value.",
  { min: seconds(1) },
);

export const commandFields = {
  ...onlyFor(["manifests"], { as: oneOf("What manifests prints.", manifestKinds) }),
  ...onlyFor(["manifests", "rbac"], {
    set: repeated(
      "A cloud setting, or a value such as image, for the manifests. NAME without a value takes the value of the environment variable.",
      "NAME=VALUE, or NAME for the value of an environment variable",
    ),
  }),
  ...onlyFor(["explain", "plan", "doctor", "lint", "cleanup", "marks"], {
    output: shorthand(
      "o",
      oneOf("Output format; text if unset. github, for lint, prints GitHub Actions annotations.", [
        "text",
        "json",
        "github",
      ]),
    ),
  }),
  ...onlyFor(["explain", "plan", "doctor", "cleanup", "marks", "support-bundle"], {
    context: text("Kubeconfig context. If unset, the current-context."),
  }),
  ...onlyFor(["explain", "plan", "doctor", "cleanup", "marks", "support-bundle", "smoke"], {
    timeout: duration(
      "Time limit for answers from the API server and the cloud; 1m if unset. For cleanup, the limit for all deletions, and for smoke, the limit for the test and for the removal; 10m if unset.",
      { min: milliseconds(1000) },
    ),
  }),
  ...onlyFor(["doctor"], {
    wait: {
      ...waitTime,
      kind: "switch",
      parse: (raw: string) => waitTime.parse(raw === "true" ? "5m" : raw),
    },
  }),
  ...onlyFor(["explain", "support-bundle"], {
    server: text(
      "URL of the secure port of a running manager, such as https://localhost:10258. The leader knows the reasons.",
    ),
    "server-ca-file": text(
      "File with the CA certificates of the secure port. Without --server, the leader is found through its Lease. The generated CA of a manager is cloud-controller-manager-ca.crt in its --cert-dir.",
    ),
  }),
  ...onlyFor(["explain"], {
    namespace: shorthand(
      "n",
      text(
        "Namespace of a Service whose name has no namespace. If unset, the namespace of the kubeconfig context, or default.",
      ),
    ),
    offline: flag(
      "Do not contact a running manager; read the API server and the cloud, and decide as a manager would.",
      {
        fallback: false,
      },
    ),
  }),
  ...onlyFor(["support-bundle", "smoke"], {
    file: text(
      "File to write. If unset, fairlead-support-TIME.tar.gz, or for smoke fairlead-smoke-CLOUD-TIME.json, in the current folder. An existing file is not replaced.",
    ),
  }),
  ...onlyFor(["smoke"], {
    machine: text(
      "Name or id of a machine to which the load balancer and the route lead. If unset, the load balancer has no targets, and no route is created.",
    ),
    "route-range": cidrBlock(
      "Range of the route, such as 10.254.254.0/28. Nothing may use it. If unset, no route is created.",
    ),
  }),
  ...onlyFor(["csi-controller", "node-volumes"], {
    "csi-endpoint": text(
      "Unix socket of the CSI services, such as unix:///run/csi/socket. If unset, the value of the variable CSI_ENDPOINT.",
    ),
    "http-endpoint": text(
      "Address of /healthz, /readyz and /metrics, without TLS or authentication, such as 127.0.0.1:9808 or :9808. If unset, they are not served.",
    ),
  }),
  ...onlyFor(["node-volumes"], {
    "node-name": text(
      "Node name of this machine. If unset, the value of the variable NODE_NAME or KUBE_NODE_NAME.",
    ),
    "host-root": text(
      "In a container: the folder where the machine's root is mounted, such as /host. It becomes the root of the process, so that the machine's programs format and mount. Socket paths are paths on the machine. If unset, the root does not change.",
    ),
    "plugin-registration-path": text("Folder in which the kubelet looks for plugins.", {
      fallback: "/var/lib/kubelet/plugins_registry",
    }),
    "kubelet-registration-path": text(
      "Path of the --csi-endpoint socket as the kubelet sees it. If unset, the same path.",
    ),
  }),
  ...onlyFor(["cleanup", "marks", "smoke"], {
    yes: flag("Apply the listed changes without confirmation.", { fallback: false }),
  }),
  ...onlyFor(["cleanup"], {
    owner: repeated(
      "Delete only load balancers of this owner (a Service uid from the list), and no routes.",
      "uid of a Service",
    ),
    "all-marked": flag(
      "Delete load balancers even if their mark does not name the cluster. Load balancers of other clusters in the same project look the same: set this flag only if no other cluster uses the project.",
      { fallback: false },
    ),
    "cluster-is-gone": flag(
      "The cluster no longer exists, so no API server can list its Services and Nodes. Rejected while the API server answers.",
      { fallback: false },
    ),
    "cluster-uid": text(
      "The cluster uid, from the first line of the output. Rejected if the API server belongs to another cluster. With --yes and the default --cluster-name, required to delete objects that nothing else proves to belong to this cluster.",
    ),
  }),
  ...onlyFor(["marks"], {
    "move-from": text(
      "Former name of this cluster. Load balancers that are marked with it and whose Services all exist here get the mark of --cluster-name.",
    ),
  }),
} as const satisfies Fields;
