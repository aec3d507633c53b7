// The values of the Helm chart.

import { tolerations } from "../../../src/app/manifests/pod.ts";
import type { JsonSchema } from "../../../src/config-file/to-schema.ts";
import { deployedClouds } from "../clouds.ts";
import type { Value, ValueGroup, ValueTree } from "./value-tree.ts";

const value = (text: string, fallback: unknown, schema: JsonSchema): Value => ({ text, fallback, schema });
const string = (text: string, fallback = "", more: JsonSchema = {}) =>
  value(text, fallback, { type: "string", ...more });
const choice = (text: string, fallback: string, choices: readonly string[]) =>
  value(text, fallback, { enum: choices });
const boolean = (text: string, fallback: boolean) => value(text, fallback, { type: "boolean" });
const count = (text: string, fallback: number) => value(text, fallback, { type: "integer", minimum: 1 });
const strings = (text: string) => value(text, [], { type: "array", items: { type: "string" } });
const labels = (text: string, fallback: object = {}) =>
  // null removes a default of the chart.
  value(text, fallback, { type: "object", additionalProperties: { type: ["string", "null"] } });
const object = (text: string, fallback: object = {}) => value(text, fallback, { type: "object" });
const objects = (text: string, fallback: readonly object[] = []) =>
  value(text, fallback, { type: "array", items: { type: "object" } });
const group = (text: string, values: ValueTree): ValueGroup => ({ text, values });

const environmentVariable = {
  type: "object",
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: { value: { type: "string" }, valueFrom: { type: "object" } },
} as const;

const secretName = {
  type: "object",
  additionalProperties: false,
  required: ["name", "namespace"],
  properties: { name: { type: "string", minLength: 1 }, namespace: { type: "string", minLength: 1 } },
} as const;

const names = deployedClouds.map(({ name }) => name);

export const chartValues: ValueTree = {
  cloud: choice(`The cloud. Required: ${names.join(", ")}.`, "", ["", ...names]),
  nameOverride: string("Name of all objects. Default: the name of the executable.", "", { maxLength: 50 }),
  image: group("The container image. None is published yet, so push one to your registry.", {
    repository: string("Repository of the image. Required."),
    tag: string("Tag of the image. Default: the version of the chart."),
    digest: string("Digest of the image, sha256:…; takes precedence over the tag.", "", {
      pattern: "^(sha256:[0-9a-f]{64})?$",
    }),
    pullPolicy: choice("When the kubelet pulls the image.", "IfNotPresent", [
      "Always",
      "IfNotPresent",
      "Never",
    ]),
    pullSecrets: strings("Names of Secrets with credentials of the registry."),
  }),
  configuration: group("The file of --config. A change rolls the pods out.", {
    flags: object("Flags by name, such as cluster-name and cluster-cidr."),
    cloud: object("Cloud settings by name, without secret ones."),
  }),
  arguments: strings("More arguments of the command line. They take precedence over the configuration."),
  env: value(
    "More variables by name, each with value or valueFrom.",
    {},
    {
      type: "object",
      additionalProperties: { anyOf: [environmentVariable, { type: "null" }] },
    },
  ),
  secret: group("Credentials of the cloud, by reference.", {
    name: string("Name of a Secret in the namespace of the release."),
    keys: value(
      "Keys of the Secret that differ from the names of the variables, such as HCLOUD_TOKEN: token.",
      {},
      {
        type: "object",
        additionalProperties: { type: "string", minLength: 1 },
      },
    ),
  }),
  kind: choice("DaemonSet, or Deployment with a number of replicas.", "DaemonSet", [
    "DaemonSet",
    "Deployment",
  ]),
  replicas: count("Number of pods in a Deployment. One leads, the others wait.", 2),
  serviceAccount: group("The service account of the pods.", {
    create: boolean("Create the service account.", true),
    name: string("Name of the service account. Default: the name of the other objects."),
    annotations: labels("Annotations of the service account."),
  }),
  rbac: group("Permissions.", {
    create: boolean("Create the roles and their bindings.", true),
    secrets: value(
      "Secrets that the cloud settings name, such as vSphere's secret-name, each with name and namespace. The manager may read them.",
      [],
      { type: "array", items: secretName },
    ),
  }),
  hostNetwork: boolean("Use the network of the machine, which works before CNI.", true),
  dnsPolicy: choice("DNS policy of the pods. Default resolves names without cluster DNS.", "Default", [
    "ClusterFirst",
    "ClusterFirstWithHostNet",
    "Default",
  ]),
  priorityClassName: string("Priority class of the pods.", "system-node-critical"),
  nodeSelector: labels("Labels of the Nodes that run the pods. null removes one.", {
    "kubernetes.io/os": "linux",
    "node-role.kubernetes.io/control-plane": "",
  }),
  tolerations: objects("Taints that the pods tolerate.", tolerations),
  additionalTolerations: objects("More taints that the pods tolerate, added to tolerations."),
  affinity: object(
    "Affinity of the pods. Without a podAntiAffinity, replicas of a Deployment prefer different machines.",
  ),
  topologySpreadConstraints: objects(
    "How the pods spread over zones or machines. Without a labelSelector, the pods of this release count.",
  ),
  updateStrategy: object(
    "How an update replaces the pods. By default one at a time and without an additional pod, which would need the port of an old one on the network of the machine.",
    { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
  ),
  revisionHistoryLimit: value("Number of old revisions that are kept for a rollback.", 10, {
    type: "integer",
    minimum: 0,
  }),
  podLabels: labels("More labels of the pods."),
  podAnnotations: labels("Annotations of the pods."),
  resources: object("Resources of the container.", { requests: { cpu: "50m", memory: "96Mi" } }),
  extraVolumes: objects("More volumes of the pods, for example with a token file."),
  extraVolumeMounts: objects("Where the extraVolumes are mounted."),
  extraObjects: objects("More objects of the release. Their strings may contain templates."),
  podDisruptionBudget: group("For a Deployment. A DaemonSet is not evicted.", {
    enabled: boolean("Create a PodDisruptionBudget.", false),
    maxUnavailable: count("Number of pods that may be evicted at once.", 1),
  }),
  networkPolicy: group("For pods that do not use the network of the machine.", {
    enabled: boolean(
      "Create a NetworkPolicy: in, to the secure port and the webhook; out, to DNS and to egressPorts.",
      false,
    ),
    egressPorts: value(
      "TCP ports of the API server and the cloud. OpenStack usually has 5000, 8774, 8776, 9696 and 9876; the metadata of AWS has 80, and a collector of traces 4318.",
      [443, 6443],
      { type: "array", items: { type: "integer", minimum: 1, maximum: 65_535 } },
    ),
    metricsFrom: objects(
      "Peers that may reach the secure port, such as a namespaceSelector. By default all; a request needs a token anyway.",
    ),
  }),
  metrics: group("What a scraper needs. Metrics are on the secure port, with HTTPS and a token.", {
    service: group("A Service without a cluster IP, so that each replica is scraped.", {
      enabled: boolean("Create the Service.", true),
      annotations: labels("Annotations of the Service."),
    }),
    scraper: group("The service account that may read the metrics.", {
      name: string(
        "Name of the service account, such as prometheus-k8s. Without it, only the role is created.",
      ),
      namespace: string("Namespace of the service account.", "monitoring"),
    }),
    serviceMonitor: group("For the Prometheus operator.", {
      enabled: boolean(
        "Create a ServiceMonitor. Needs the Service, and the operator's custom resources.",
        false,
      ),
      labels: labels("Labels by which your Prometheus selects it."),
      interval: string("Interval between scrapes. Default: the interval of Prometheus."),
    }),
    rules: group("Alert rules for the Prometheus operator.", {
      enabled: boolean(
        "Create a PrometheusRule with the rules of docs/runbooks. Needs the operator's custom resources.",
        false,
      ),
      labels: labels("Labels by which your Prometheus selects it."),
    }),
    dashboard: group("The dashboard for Grafana, as a ConfigMap for its sidecar.", {
      enabled: boolean("Create the ConfigMap.", false),
      labels: labels("Labels by which the sidecar selects it.", { grafana_dashboard: "1" }),
      annotations: labels("Annotations of the ConfigMap, such as the folder in Grafana."),
    }),
  }),
  volumes: group("Volumes (docs/volumes.md). The cloud must have a CSI driver here.", {
    enabled: boolean("Run node-volumes on each Node.", false),
    csiDriver: boolean("Create the CSIDriver. Set it to false if another release has it.", true),
    storageClass: boolean("Create the StorageClass fairlead, which is not the default.", true),
    kubeletFolder: string("The root folder of the kubelet.", "/var/lib/kubelet"),
    arguments: strings("More arguments of node-volumes."),
  }),
  webhook: group("The admission webhook, which rejects Services with invalid annotations.", {
    enabled: boolean("Serve and register the webhook.", false),
    certificateSecret: string(
      "Secret of type kubernetes.io/tls, valid for the name of the release's objects: NAME.NAMESPACE.svc. Required.",
    ),
    caBundle: string("CA certificate, as PEM, that signed the certificate of the webhook."),
    certManagerCertificate: string("The cert-manager Certificate that replaces caBundle, as NAMESPACE/NAME."),
  }),
};
