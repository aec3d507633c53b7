// All objects of an installation in Kubernetes, in the order in which they are applied. Pure.

import type { AccessNeeds, LeaseName } from "../permissions.ts";
import { accessObjects, scraperObjects } from "./access.ts";
import type { Credential } from "./cloud-inputs.ts";
import { type NodeVolumesOptions, nodeVolumesObjects } from "./node-volumes.ts";
import type { EnvironmentVariable, PodOptions } from "./pod.ts";
import type { ManifestValues } from "./read-set.ts";
import type { RenderedObject } from "./rendered-object.ts";
import { comment, keyComments, labelsOf, podLabels } from "./to-yaml.ts";
import { daemonSet, deployment, hostFolder, staticPod, type WorkloadOptions } from "./workloads.ts";

export interface Installation extends Pick<PodOptions, "args" | "bindAddress" | "securePort"> {
  readonly program: string;
  /** The names of the objects that grant permissions, and of all other objects. */
  readonly names: { readonly access: string; readonly workload: string };
  readonly values: ManifestValues;
  readonly credentials: readonly Credential[];
  readonly variables: readonly { readonly name: string; readonly value: string }[];
  readonly lease: LeaseName;
  /** The permissions that the flags require. */
  readonly needs: AccessNeeds;
  /** The path of the file of `--cloud-config`. */
  readonly cloudConfig?: string | undefined;
  /** The volume driver of the cloud, if the cloud has volumes. */
  readonly driver: NodeVolumesOptions["driver"] | undefined;
}

/** A placeholder that no registry serves and no kubelet accepts. */
const missingImage = "IMAGE";

export const fileNameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** The Secret with the file of `--cloud-config`. A printed Secret would overwrite the credentials of an existing one. */
const filesSecret = ({ names, values }: Installation): string => values.secret ?? `${names.workload}-files`;

const secretName = ({ names, values }: Installation): string => values.secret ?? names.workload;

function workloadOptions(installation: Installation, env: readonly EnvironmentVariable[]): WorkloadOptions {
  const { args, bindAddress, securePort, values } = installation;
  return {
    args,
    bindAddress,
    securePort,
    env,
    image: values.image ?? missingImage,
    hostNetwork: values["host-network"],
    priorityClass: values["priority-class"],
    name: installation.names.workload,
    namespace: values.namespace,
    serviceAccount: installation.names.access,
    nodeSelector: Object.fromEntries(values["pod-node-selector"]),
    replicas: values.replicas,
    files: installation.cloudConfig === undefined ? undefined : filesSecret(installation),
  };
}

/** The Secret contains only the given values, so that applying it again removes no credential. */
function secretOf(installation: Installation): readonly RenderedObject[] {
  const { credentials, names, values } = installation;
  const given = credentials.flatMap(({ variable, text, value }) =>
    value === undefined ? [] : [{ variable, text, value }],
  );
  if (values.secret !== undefined || given.length === 0) return [];
  const metadata = {
    name: secretName(installation),
    namespace: values.namespace,
    labels: labelsOf(names.workload),
  };
  const stringData = {
    ...Object.fromEntries(given.map(({ variable, value }) => [variable, value])),
    [keyComments]: Object.fromEntries(given.map(({ variable, text }) => [variable, text])),
  };
  return [{ apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", stringData }];
}

/** How to create the Secret that is not printed. */
function missingSecretText(installation: Installation): string | undefined {
  const { credentials, values, cloudConfig: path } = installation;
  const isGiven = credentials.some(({ value }) => value !== undefined);
  // The file may contain the credentials.
  if (path !== undefined) return undefined;
  if (values.secret !== undefined || isGiven || credentials.length === 0) return undefined;
  const literals = credentials.map(({ variable, text }) => `  --from-literal=${variable}=…   ${text}`);
  return [
    "Its credentials are in a Secret that is not part of this manifest:",
    `kubectl -n ${values.namespace} create secret generic ${secretName(installation)}, with what the manager needs of:`,
    ...literals,
  ].join("\n");
}

/** The file of `--cloud-config` may contain credentials, so it is not printed. */
export function missingFileText(installation: Installation): string | undefined {
  const { cloudConfig: path, values } = installation;
  if (path === undefined) return undefined;
  const secret = filesSecret(installation);
  const place = `from the Secret ${secret}, which is not part of this manifest`;
  const command = `kubectl -n ${values.namespace} create secret generic ${secret} --from-file=${path}`;
  return [
    `It reads ${fileNameOf(path)} ${place}. For each file that it names as ${hostFolder}/NAME, add --from-file=NAME:`,
    command,
  ].join("\n");
}

/** The Service has no cluster IP, because a scraper reads every replica. */
function metricsService(installation: Installation): readonly RenderedObject[] {
  const { securePort, values } = installation;
  if (securePort === 0) return [];
  const name = installation.names.workload;
  return [
    {
      [comment]:
        "For scrapers of /metrics: HTTPS with a bearer token. It has no cluster IP, so that each replica is scraped.",
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: `${name}-metrics`, namespace: values.namespace, labels: labelsOf(name) },
      spec: {
        clusterIP: "None",
        // Replicas that are not ready must have metrics too, because these show the cause.
        publishNotReadyAddresses: true,
        selector: podLabels(name),
        ports: [{ name: "https", port: securePort, targetPort: securePort, protocol: "TCP" }],
      },
    },
  ];
}

const ownNamespace = ({ values: { namespace } }: Installation): readonly RenderedObject[] =>
  // This namespace exists in every cluster.
  namespace === "kube-system" ? [] : [{ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }];

/** Roles, bindings and the service account. */
export function accessManifest(installation: Installation): readonly RenderedObject[] {
  const { values, lease, needs } = installation;
  const { namespace, user, scraper } = values;
  const name = installation.names.access;
  return [
    ...accessObjects({ name, namespace, lease, needs, user }),
    ...(scraper === undefined ? [] : scraperObjects({ name, scraper })),
  ];
}

/** The workload with its Secret and what a scraper needs, without the permissions. */
export function workloadManifests(
  kind: "daemonset" | "deployment",
  installation: Installation,
): readonly RenderedObject[] {
  const name = secretName(installation);
  const keys = installation.values["secret-keys"];
  const env = [
    ...installation.variables,
    ...installation.credentials.map(({ variable }) => ({
      name: variable,
      valueFrom: { secretKeyRef: { name, key: keys.get(variable) ?? variable, optional: true as const } },
    })),
  ];
  const options = workloadOptions(installation, env);
  const workload = kind === "daemonset" ? daemonSet(options) : deployment(options);
  const missing = [missingSecretText(installation), missingFileText(installation)];
  const about = [workload[comment], ...missing].flatMap((text) => text ?? []);
  const hasScraperRole = installation.securePort === 0 || installation.values.scraper !== undefined;
  return [
    ...(hasScraperRole ? [] : scraperObjects({ name: installation.names.access })),
    ...secretOf(installation),
    { ...workload, [comment]: about.join("\n") },
    ...metricsService(installation),
  ];
}

/** All objects that one `kubectl apply` needs. */
export function clusterManifests(
  kind: "daemonset" | "deployment",
  installation: Installation,
): readonly RenderedObject[] {
  return [
    ...ownNamespace(installation),
    ...accessManifest(installation),
    ...workloadManifests(kind, installation),
  ];
}

/** Empty for a cloud without volumes. */
export function nodeVolumesManifest(installation: Installation): readonly RenderedObject[] {
  const { driver, values, args } = installation;
  if (driver === undefined) return [];
  return nodeVolumesObjects({
    driver,
    args,
    namespace: values.namespace,
    priorityClass: values["priority-class"],
    image: values.image ?? missingImage,
    name: values.name ?? "fairlead-volumes",
    kubeletFolder: values["kubelet-folder"],
  });
}

export function staticPodManifest(installation: Installation): RenderedObject {
  // The manager reads the kubeconfig and the credentials in this folder, as it does for systemd.
  const folder = { name: "CREDENTIALS_DIRECTORY", value: hostFolder };
  return staticPod({
    ...workloadOptions(installation, [folder, ...installation.variables]),
    hostNetwork: true,
  });
}
