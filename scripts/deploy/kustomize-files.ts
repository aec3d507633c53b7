// The generated files of deploy/kustomize: a base for every cloud, and one overlay per cloud.

import type { V1PodSpec } from "@kubernetes/client-node";
import packageJson from "../../package.json" with { type: "json" };
import { nodeVolumesManifest } from "../../src/app/manifests/kubernetes-manifests.ts";
import type { Rendered } from "../../src/app/manifests/rendered-object.ts";
import { comment, podLabels, toYaml, toYamlStream } from "../../src/app/manifests/to-yaml.ts";
import { hostFolder } from "../../src/app/manifests/workloads.ts";
import { configurationKind, configurationVersion } from "../../src/config-file/parse-configuration.ts";
import { alertRules } from "./alerts.ts";
import { credentialVariables, type DeployedCloud, deployedClouds } from "./clouds.ts";
import { type Files, generated, plainInstallation, staticFiles } from "./static-files.ts";

/** The name of the objects in the base, and of the Secret and the ConfigMap that the overlays generate. */
const name = "cloud-controller-manager";
const namespace = "kube-system";

const kustomization = (header: string, content: object): string =>
  toYaml({
    [comment]: `${generated}\n${header}`,
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    ...content,
  });

/** The patch with the configuration and the credentials. */
function patch(cloud: DeployedCloud): object {
  const variables = credentialVariables(cloud);
  const folder = `${hostFolder}/configuration`;
  return {
    [comment]: generated,
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name, namespace },
    spec: {
      template: {
        spec: {
          containers: [
            {
              name,
              args: [`--config=${folder}/configuration.yaml`],
              env: variables.map((variable) => ({
                name: variable,
                valueFrom: { secretKeyRef: { name, key: variable, optional: true } },
              })),
              volumeMounts: [{ name: "configuration", mountPath: folder, readOnly: true }],
            },
          ],
          volumes: [{ name: "configuration", configMap: { name } }],
        } satisfies Rendered<V1PodSpec>,
      },
    },
  };
}

function overlay(cloud: DeployedCloud): Files {
  const folder = `kustomize/overlays/${cloud.name}`;
  const variables = credentialVariables(cloud);
  return {
    [`${folder}/kustomization.yaml`]: kustomization(
      [
        "Copy this folder, set the image, complete configuration.yaml, and write credentials.env as in credentials.env.example.",
        "A change to one of these files restarts the pods.",
      ].join("\n"),
      {
        resources: ["../../base"],
        images: [
          { name: "IMAGE", newName: `registry.example.com/${cloud.program}`, newTag: packageJson.version },
        ],
        patches: [{ path: "settings.yaml" }],
        configMapGenerator: [{ name, namespace, files: ["configuration.yaml"] }],
        secretGenerator: [{ name, namespace, envs: ["credentials.env"] }],
      },
    ),
    [`${folder}/settings.yaml`]: toYaml(patch(cloud)),
    [`${folder}/configuration.yaml`]: toYaml({
      [comment]: [
        "The file of --config: flags as in docs/flags.md, and under cloud the cloud settings that are not secret.",
        `\`${cloud.program} schema\` prints its JSON Schema.`,
      ].join("\n"),
      apiVersion: configurationVersion,
      kind: configurationKind,
      flags: { "cluster-name": "kubernetes" },
    }),
    [`${folder}/credentials.env.example`]: variables.map((variable) => `${variable}=\n`).join(""),
  };
}

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, "  ");

/** ServiceMonitor and alert rules, for overlays in clusters with the Prometheus operator. */
function operatorComponent(): Files {
  const folder = "kustomize/components/prometheus-operator";
  const object = (kind: string) => ({
    [comment]: generated,
    apiVersion: "monitoring.coreos.com/v1",
    kind,
    metadata: { name, namespace },
  });
  const endpoint = {
    port: "https",
    scheme: "https",
    path: "/metrics",
    bearerTokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token",
    tlsConfig: { insecureSkipVerify: true },
  };
  return {
    [`${folder}/kustomization.yaml`]: toYaml({
      [comment]: generated,
      apiVersion: "kustomize.config.k8s.io/v1alpha1",
      kind: "Component",
      resources: ["service-monitor.yaml", "alerts.yaml"],
    }),
    [`${folder}/service-monitor.yaml`]: toYaml({
      ...object("ServiceMonitor"),
      spec: { selector: { matchLabels: podLabels(name) }, endpoints: [endpoint] },
    }),
    [`${folder}/alerts.yaml`]: `${toYaml(object("PrometheusRule"))}spec:\n${indented(alertRules())}`,
  };
}

/** The objects that run on each Node for the volumes of a cloud. An overlay names this under `components`. */
function volumesComponent(cloud: DeployedCloud): Files {
  const driver = cloud.provider.volumeDriver;
  if (driver === undefined) return {};
  const folder = `kustomize/components/node-volumes-${cloud.name}`;
  return {
    [`${folder}/kustomization.yaml`]: toYaml({
      [comment]: generated,
      apiVersion: "kustomize.config.k8s.io/v1alpha1",
      kind: "Component",
      resources: ["node-volumes.yaml"],
    }),
    [`${folder}/node-volumes.yaml`]: `# ${generated}\n${toYamlStream(
      nodeVolumesManifest({ ...plainInstallation(cloud.program, cloud.program), driver }),
    )}`,
  };
}

export function kustomizeFiles(): Files {
  const { "rbac.yaml": access = "", "daemonset.yaml": workload = "" } = staticFiles();
  return {
    "kustomize/base/kustomization.yaml": kustomization("For every cloud; build one of ../overlays.", {
      resources: ["rbac.yaml", "daemonset.yaml"],
    }),
    "kustomize/base/rbac.yaml": access,
    "kustomize/base/daemonset.yaml": workload,
    ...operatorComponent(),
    ...Object.assign({}, ...deployedClouds.flatMap((cloud) => [overlay(cloud), volumesComponent(cloud)])),
  };
}
