// `manifests`: prints complete manifests that install this executable, for Kubernetes or systemd.

import { messageIn } from "../../core/problem.ts";
import { problemsIn } from "../configuration/cloud-files.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import type { ManifestKind } from "../flags/groups/commands.ts";
import type { Installation } from "../manifests/kubernetes-manifests.ts";
import type { Command } from "./command.ts";
import type { Invocation } from "./invocation.ts";

async function render(kind: ManifestKind, installation: Installation, cluster: string): Promise<string> {
  if (kind === "systemd") {
    const { installScript } = await import("../manifests/install-script.ts");
    return installScript({ ...installation, cluster });
  }
  const { accessManifest, clusterManifests, nodeVolumesManifest, staticPodManifest } = await import(
    "../manifests/kubernetes-manifests.ts"
  );
  const { toYaml, toYamlStream } = await import("../manifests/to-yaml.ts");
  if (kind === "node-volumes") return toYamlStream(nodeVolumesManifest(installation));
  if (kind === "static-pod") return toYaml(staticPodManifest(installation));
  return toYamlStream(kind === "rbac" ? accessManifest(installation) : clusterManifests(kind, installation));
}

export async function printManifests(invocation: Invocation, kind: ManifestKind): Promise<void> {
  const { provider, platform, console, configuration } = invocation;
  const { flags } = configuration.settings;
  // Loaded here because the other commands need no YAML.
  const { readInstallation } = await import("../manifests/read-installation.ts");
  const { installation, problems, missing } = readInstallation({
    provider,
    kind,
    read: configuration.settings,
    environment: platform.environment,
  });
  const path = kind === "rbac" || kind === "node-volumes" ? undefined : installation.cloudConfig;
  const ofFile = path === undefined ? [] : problemsIn(path, configuration.problems);
  if (invocation.refuse([...problems, ...ofFile])) return;
  await console.out(await render(kind, installation, flags["cluster-name"]));
  for (const problem of ofFile) invocation.writeError(messageIn(problem));
  const unread = configuration.problems.find(({ key }) => key === "--cloud-config");
  if (path !== undefined && unread !== undefined)
    invocation.writeError(`${messageIn(unread)}. It was not checked.`);
  for (const text of missing) invocation.writeError(text);
  if (kind !== "rbac" && (flags.webhooks ?? []).length > 0) {
    invocation.writeError(
      "The webhook is not registered, because its certificate is not part of the manifest. Use the Helm chart, or see webhook-manifest --help.",
    );
  }
  const needsImage = kind !== "systemd" && kind !== "rbac";
  if (needsImage && installation.values.image === undefined) {
    invocation.writeError("No pod starts until IMAGE is replaced by an image; pass --set image=…");
  }
}

export const manifestsCommand: Command = {
  page: {
    name: "manifests",
    summary:
      "Print the manifests of an installation with --as daemonset, deployment, static-pod, systemd or rbac, and the volume agent of each Node with --as node-volumes. --set NAME=VALUE sets the image and cloud settings; all other flags are passed to the manager.",
    details: [
      "A credential variable without a value, such as --set TOKEN, takes its value from the environment, which keeps it out of the shell history. docs/kubernetes-install.md describes each kind.",
    ],
    flags: ["as", "set", "cluster-name", "cluster-cidr"],
    examples: [
      {
        text: "With kubectl",
        words: "manifests --as daemonset --cluster-name=prod --set image=IMAGE | kubectl apply -f -",
      },
      { text: "Without a pod", words: "manifests --as systemd --cluster-name=prod | sudo sh" },
    ],
  },
  async run(invocation) {
    const { as: kind } = invocation.configuration.settings.flags;
    if (kind !== undefined) return printManifests(invocation, kind);
    invocation.refuse([
      invalidFlag("as", "is required: daemonset, deployment, static-pod, systemd, rbac or node-volumes"),
    ]);
  },
};
