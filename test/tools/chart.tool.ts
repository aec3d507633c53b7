// The Helm chart and the kustomize overlays, rendered by helm and kustomize. chart-cluster.tool.ts applies them.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { deployedClouds } from "../../scripts/deploy/clouds.ts";
import { plainInstallation } from "../../scripts/deploy/static-files.ts";
import {
  accessManifest,
  nodeVolumesManifest,
  workloadManifests,
} from "../../src/app/manifests/kubernetes-manifests.ts";
import { toYamlStream } from "../../src/app/manifests/to-yaml.ts";
import { type AccessUser, allNeeds } from "../../src/app/permissions.ts";
import { keepFolder } from "../cluster/rig/kept-process.ts";
import {
  chart,
  mustRun,
  objectsIn,
  overlayCopy,
  type Rendered,
  run,
  tools,
  valuesFile,
} from "./rig/deploy-tools.ts";

const root = resolve(import.meta.dir, "../..");
const clouds = deployedClouds.map(({ name }) => name);

const image = { repository: "registry.example.com/ccm" };
/** Typical values; each is complete together with a cloud. */
const valueSets: Readonly<Record<string, object>> = {
  "the required values": { image },
  "a Deployment with everything": {
    image: { ...image, digest: `sha256:${"0".repeat(64)}`, pullPolicy: "Always", pullSecrets: ["registry"] },
    kind: "Deployment",
    replicas: 3,
    configuration: {
      flags: {
        "cluster-name": "prod",
        "cluster-cidr": "10.0.0.0/16",
        v: 2,
        controllers: ["*", "-node-route"],
      },
    },
    arguments: ["--logging-format=json"],
    env: { HTTPS_PROXY: { value: "http://proxy:3128" } },
    secret: { name: "credentials" },
    serviceAccount: { annotations: { a: "b" } },
    additionalTolerations: [{ key: "dedicated", operator: "Exists" }],
    nodeSelector: { "node-role.kubernetes.io/control-plane": null, pool: "system" },
    affinity: { nodeAffinity: {} },
    topologySpreadConstraints: [
      { maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "ScheduleAnyway" },
      {
        maxSkew: 1,
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: { app: "mine" } },
      },
    ],
    updateStrategy: { type: "Recreate" },
    revisionHistoryLimit: 3,
    extraObjects: [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: '{{ include "fairlead.name" . }}-extra' } },
    ],
    podLabels: { team: "platform" },
    podAnnotations: { a: "b" },
    extraVolumes: [{ name: "token", secret: { secretName: "token" } }],
    extraVolumeMounts: [{ name: "token", mountPath: "/var/run/token" }],
    podDisruptionBudget: { enabled: true },
    metrics: {
      scraper: { name: "prometheus-k8s" },
      serviceMonitor: { enabled: true, labels: { release: "prometheus" }, interval: "30s" },
      dashboard: { enabled: true, annotations: { grafana_folder: "Kubernetes" } },
    },
    webhook: { enabled: true, certificateSecret: "webhook", caBundle: "PEM" },
  },
  "a hosted control plane": {
    image,
    kind: "Deployment",
    hostNetwork: false,
    dnsPolicy: "ClusterFirst",
    networkPolicy: { enabled: true },
    priorityClassName: "",
    nodeSelector: { "node-role.kubernetes.io/control-plane": null },
    rbac: { create: false },
    arguments: ["--kubeconfig=/etc/cluster/kubeconfig"],
    extraVolumes: [{ name: "cluster", secret: { secretName: "prod-kubeconfig" } }],
    extraVolumeMounts: [{ name: "cluster", mountPath: "/etc/cluster", readOnly: true }],
  },
  "pods without the network of the machine": {
    image,
    hostNetwork: false,
    dnsPolicy: "ClusterFirst",
    configuration: { flags: { "secure-port": 0 } },
    rbac: { create: false },
    serviceAccount: { create: false, name: "existing" },
  },
};

const one = (objects: readonly Rendered[], kind: string, suffix = ""): Rendered => {
  const [found, ...more] = objects.filter(
    (each) => each.kind === kind && each.metadata.name.endsWith(suffix),
  );
  if (found === undefined || more.length > 0) throw new Error(`not exactly one ${kind}`);
  return found;
};
const byText = (one: object, other: object): number => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1);
const specOf = (objects: readonly Rendered[], kind = "DaemonSet") => one(objects, kind).spec.template.spec;
const containerOf = (objects: readonly Rendered[], kind = "DaemonSet") =>
  (specOf(objects, kind)["containers"] as readonly [Readonly<Record<string, unknown>>])[0];

/** Helm assumes an old cluster if it was built without its release script. */
const target = ["--namespace=ccm", "--kube-version=1.35.0"];

const { helm: helm4 = "", helm3 = "", kustomize = "" } = tools ?? {};

describe.skipIf(tools === undefined).each([
  ["Helm 4", helm4],
  ["Helm 3", helm3],
])("with %s", (_, helm) => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-chart-"));
  keepFolder(folder);

  const template = (values: object) =>
    run([helm, "template", "release", chart, ...target, "--values", valuesFile(folder, values)]);
  const render = (values: object): readonly Rendered[] => {
    const { code, out, err } = template(values);
    expect([code, err]).toEqual([0, ""]);
    return objectsIn(out);
  };
  test("the chart has the version of package.json [F95]", () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    const shown = mustRun([helm, "show", "chart", chart]);
    expect(shown).toContain(`\nversion: ${version}\n`);
    expect(shown).toMatch(new RegExp(`^appVersion: ${version}$`, "m"));
    expect(containerOf(render({ cloud: "fake", image }))["image"]).toBe(
      `registry.example.com/ccm:${version}`,
    );
  });

  test("helm lint accepts the chart without any value [F95]", () => {
    expect(mustRun([helm, "lint", chart])).toContain("0 chart(s) failed");
  });

  describe.each(clouds)("%s", (cloud) => {
    test.each(Object.keys(valueSets))("helm lint and helm template accept %s [F95]", (name) => {
      const values = { cloud, ...valueSets[name] };
      mustRun([helm, "lint", "--strict", chart, "--values", valuesFile(folder, values)]);
      expect(render(values).map(({ kind }) => kind)).toContain("ConfigMap");
    });
  });

  const optionalParts = {
    flags: {
      configuration: {
        flags: { controllers: ["*", "kubelet-serving-csr"], "use-service-account-credentials": true },
      },
    },
    arguments: { arguments: ["--controllers=*,kubelet-serving-csr", "--use-service-account-credentials"] },
  };
  test.each(Object.entries(optionalParts))(
    "the chart grants the permissions that serving certificates and accounts of controllers need when %s enable them [F79 F83 S9]",
    (_, enabled) => {
      const printed = (user: AccessUser) => {
        const needs = { ...allNeeds, users: new Set([...allNeeds.users, user]) };
        return objectsIn(toYamlStream(accessManifest({ ...plainInstallation("x", "x"), needs })));
      };
      const objects = render({ cloud: "fake", image, ...enabled });
      const expected = one(printed("kubelet-serving-csr"), "ClusterRole").rules;
      const granted = one(objects, "ClusterRole", "manager").rules;
      expect(granted?.toSorted(byText)).toEqual(expected?.toSorted(byText));
      const accounts = (all: readonly Rendered[]) => one(all, "Role", "-service-accounts").rules;
      expect(accounts(objects)).toEqual(accounts(printed("service-account-credentials")));
    },
  );

  test("rbac.secrets lets the manager read each of these Secrets, and no other Secret [F79 F83]", () => {
    const secrets = [
      { name: "vsphere-east", namespace: "kube-system" },
      { name: "vsphere-west", namespace: "clouds" },
    ];
    const objects = render({ cloud: "vsphere", image, rbac: { secrets } });
    for (const { name, namespace } of secrets) {
      const suffix = `-reads-${name}`;
      const role = one(objects, "Role", suffix);
      expect([role.metadata.namespace, role.rules]).toEqual([
        namespace,
        [{ apiGroups: [""], resources: ["secrets"], resourceNames: [name], verbs: ["get"] }],
      ]);
      expect(one(objects, "RoleBinding", suffix).metadata.namespace).toBe(namespace);
    }
    const without = render({ cloud: "vsphere", image });
    expect(JSON.stringify(without)).not.toContain('"secrets"');
  });

  test("the chart grants nothing for parts that are off [F79]", () => {
    const off = { configuration: { flags: { controllers: ["*", "-kubelet-serving-csr"] } } };
    for (const objects of [render({ cloud: "fake", image }), render({ cloud: "fake", image, ...off })]) {
      expect(JSON.stringify(one(objects, "ClusterRole", "manager").rules)).not.toContain(
        "certificates.k8s.io",
      );
      expect(objects.map(({ metadata }) => metadata.name).join()).not.toContain("-service-accounts");
    }
  });

  test("the chart grants exactly what the program prints, and runs the same pod", () => {
    const installation = plainInstallation("x", "x");
    const access = objectsIn(toYamlStream(accessManifest(installation)));
    const printed = objectsIn(toYamlStream(workloadManifests("daemonset", installation)));
    const objects = render({ cloud: "fake", image });
    expect(one(objects, "ClusterRole", "manager").rules).toEqual(one(access, "ClusterRole").rules);
    expect(one(objects, "Role").rules).toEqual(one(access, "Role").rules);
    expect(one(objects, "ClusterRole", "-metrics").rules).toEqual(one(printed, "ClusterRole").rules);
    // The chart adds its configuration, and uses other names.
    const { volumes: _, serviceAccountName: __, containers: ___, ...spec } = specOf(objects);
    const { serviceAccountName: ____, containers: _____, ...expected } = specOf(printed);
    expect(spec).toEqual(expected);
    const { args, volumeMounts, image: ______, imagePullPolicy, ...container } = containerOf(objects);
    const { image: _______, ...expectedContainer } = containerOf(printed);
    expect(container).toEqual(expectedContainer);
  });

  test("volumes.enabled adds the output of manifests --as node-volumes for the driver of the cloud [S10]", () => {
    const installation = { ...plainInstallation("x", "x"), driver: { name: "csi.hetzner.cloud" } };
    const printed = objectsIn(toYamlStream(nodeVolumesManifest(installation)));
    const volumes = { enabled: true, arguments: ["--v=4"] };
    const objects = render({ cloud: "hetzner", image: { ...image, pullSecrets: ["registry"] }, volumes });
    for (const kind of ["CSIDriver", "StorageClass"]) expect(one(objects, kind)).toEqual(one(printed, kind));
    expect(one(objects, "ClusterRole", "-volumes").rules).toEqual(one(printed, "ClusterRole").rules);
    const podOf = (all: readonly Rendered[]) => one(all, "DaemonSet", "-volumes").spec.template.spec;
    const { serviceAccountName, containers, imagePullSecrets, ...spec } = podOf(objects);
    const { serviceAccountName: _, containers: expectedContainers, ...expected } = podOf(printed);
    expect([serviceAccountName, spec]).toEqual(["hetzner-cloud-controller-manager-volumes", expected]);
    expect(imagePullSecrets).toEqual([{ name: "registry" }]);
    const [container] = containers as readonly [Record<string, unknown>];
    const [{ args, image: __, ...rest }] = expectedContainers as readonly [Record<string, unknown>];
    expect(container).toMatchObject(rest);
    expect(container["args"]).toEqual([...(args as readonly string[]), "--v=4"]);
    const kinds = (values: object) => render({ cloud: "hetzner", image, ...values }).map(({ kind }) => kind);
    expect(kinds({})).not.toContain("CSIDriver");
    const without = kinds({ volumes: { enabled: true, csiDriver: false, storageClass: false } });
    expect(without).not.toContain("CSIDriver");
    expect(without).not.toContain("StorageClass");
  });

  test("the Lease, the port and the probes follow the flags", () => {
    const flags = {
      "leader-elect-resource-name": "east",
      "leader-elect-resource-namespace": "leases",
      "secure-port": 20258,
      "bind-address": "127.0.0.1",
    };
    const objects = render({ cloud: "fake", image, configuration: { flags } });
    const role = one(objects, "Role");
    expect(role.metadata.namespace).toBe("leases");
    expect(JSON.stringify(role.rules)).toContain('"resourceNames":["east"');
    expect(containerOf(objects)["livenessProbe"]).toMatchObject({
      httpGet: { host: "127.0.0.1", path: "/livez", port: 20258, scheme: "HTTPS" },
    });
    expect(one(objects, "Service").spec).toMatchObject({ ports: [{ port: 20258, targetPort: 20258 }] });
  });

  test("the chart supports the values of Hetzner's chart that docs/clouds/hetzner.md names", () => {
    const reference = (key: string) => ({ valueFrom: { secretKeyRef: { name: "hcloud", key } } });
    const objects = render({
      cloud: "hetzner",
      image,
      kind: "Deployment",
      env: { HCLOUD_LOAD_BALANCERS_LOCATION: { value: "fsn1" }, HCLOUD_NETWORK: reference("network") },
      secret: { name: "hcloud", keys: { HCLOUD_TOKEN: "token", ROBOT_USER: "robot-user" } },
      configuration: { flags: { "cluster-cidr": "10.244.0.0/16" }, cloud: { "robot-enabled": true } },
    });
    const env = containerOf(objects, "Deployment")["env"];
    expect(env).toContainEqual({ name: "HCLOUD_NETWORK", ...reference("network") });
    for (const [name, key] of [
      ["HCLOUD_TOKEN", "token"],
      ["ROBOT_USER", "robot-user"],
      ["ROBOT_PASSWORD", "ROBOT_PASSWORD"],
    ]) {
      expect(env).toContainEqual({
        name,
        valueFrom: { secretKeyRef: { name: "hcloud", key, optional: true } },
      });
    }
  });

  test("the alert rules become a PrometheusRule, unchanged", () => {
    const file = readFileSync(join(root, "deploy/monitoring/alerts.yaml"), "utf8");
    const { groups } = parse(file) as { readonly groups: readonly object[] };
    const objects = render({ cloud: "fake", image, metrics: { rules: { enabled: true } } });
    expect(one(objects, "PrometheusRule").spec.groups).toEqual(groups);
  });

  test("a Deployment of several replicas prefers different machines, unless affinity has a rule for this", () => {
    const affinityOf = (values: object) => {
      const objects = render({ cloud: "fake", image, kind: "Deployment", ...values });
      return specOf(objects, "Deployment")["affinity"];
    };
    const labelSelector = {
      matchLabels: { "app.kubernetes.io/name": "fairlead", "app.kubernetes.io/instance": "release" },
    };
    const term = { topologyKey: "kubernetes.io/hostname", labelSelector };
    const preferred = [{ weight: 100, podAffinityTerm: term }];
    const podAntiAffinity = { preferredDuringSchedulingIgnoredDuringExecution: preferred };
    expect(affinityOf({})).toEqual({ podAntiAffinity });
    expect(affinityOf({ affinity: { nodeAffinity: {} } })).toEqual({ podAntiAffinity, nodeAffinity: {} });
    expect(affinityOf({ affinity: { podAntiAffinity: {} } })).toEqual({ podAntiAffinity: {} });
    expect(affinityOf({ replicas: 1 })).toBeUndefined();
  });

  test("spread constraints count the pods of the release, and another update strategy replaces the default", () => {
    const objects = render({ cloud: "fake", ...valueSets["a Deployment with everything"] });
    expect(specOf(objects, "Deployment")["topologySpreadConstraints"]).toEqual([
      expect.objectContaining({
        maxSkew: 1,
        labelSelector: {
          matchLabels: { "app.kubernetes.io/name": "fairlead", "app.kubernetes.io/instance": "release" },
        },
      }),
      expect.objectContaining({ labelSelector: { matchLabels: { app: "mine" } } }),
    ]);
    const { spec } = one(objects, "Deployment");
    expect(spec).toMatchObject({ revisionHistoryLimit: 3, strategy: { type: "Recreate" } });
    expect(spec).not.toHaveProperty("strategy.rollingUpdate");
    const byDefault = one(render({ cloud: "fake", image }), "DaemonSet").spec;
    expect(byDefault).toMatchObject({
      updateStrategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } },
    });
  });

  test("the dashboard of deploy/monitoring is in a ConfigMap with the label of Grafana's sidecar", () => {
    const objects = render({ cloud: "fake", ...valueSets["a Deployment with everything"] });
    const { metadata, data } = one(objects, "ConfigMap", "-dashboard");
    expect(metadata).toMatchObject({
      labels: { grafana_dashboard: "1" },
      annotations: { grafana_folder: "Kubernetes" },
    });
    const file = readFileSync(join(root, "deploy/monitoring/dashboard.json"), "utf8");
    expect(JSON.parse(data?.["fairlead.json"] ?? "")).toEqual(JSON.parse(file));
    expect(one(objects, "ConfigMap", "-extra").metadata.name).toBe("fake-cloud-controller-manager-extra");
  });

  test("the NetworkPolicy opens the ports of the manager, and DNS, the API server and the cloud", () => {
    const tcp = (port: number) => ({ port, protocol: "TCP" });
    const policyOf = (values: object) =>
      one(render({ cloud: "fake", image, hostNetwork: false, ...values }), "NetworkPolicy").spec;
    const egress = [{ ports: [{ port: 53, protocol: "UDP" }, tcp(53), tcp(443), tcp(6443)] }];
    expect(policyOf({ networkPolicy: { enabled: true } })).toMatchObject({
      ingress: [{ ports: [tcp(10258)] }],
      egress,
    });
    const from = [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } } }];
    const restricted = policyOf({
      networkPolicy: { enabled: true, metricsFrom: from, egressPorts: [6443] },
      webhook: { enabled: true, certificateSecret: "webhook", caBundle: "PEM" },
    });
    expect(restricted).toMatchObject({
      ingress: [{ ports: [tcp(10258)], from }, { ports: [tcp(10260)] }],
      egress: [{ ports: [{ port: 53, protocol: "UDP" }, tcp(53), tcp(6443)] }],
    });
    const closed = { configuration: { flags: { "secure-port": 0 } }, networkPolicy: { enabled: true } };
    expect(policyOf(closed)).toMatchObject({ ingress: null });
  });

  const wrong: readonly (readonly [string, object, string])[] = [
    ["no cloud", { image }, `cloud is required: one of ${clouds.join(", ")}`],
    ["an unknown cloud", { image, cloud: "hetzer" }, "at '/cloud': value must be one of"],
    [
      "volumes of a cloud without volumes",
      { cloud: "rancher", image, volumes: { enabled: true } },
      "volumes.enabled: the cloud rancher has no volumes here",
    ],
    ["no image", { cloud: "fake" }, "image.repository is required: no image is published yet"],
    ["an unknown value", { cloud: "fake", image, replcas: 2 }, "additional properties 'replcas' not allowed"],
    [
      "an unknown value inside a group",
      { cloud: "fake", image: { ...image, tga: "x" } },
      "at '/image': additional properties 'tga' not allowed",
    ],
    [
      "an unknown flag",
      { cloud: "fake", image, configuration: { flags: { "clustr-name": "x" } } },
      "at '/configuration/flags': additional properties 'clustr-name' not allowed",
    ],
    [
      "a flag of the wrong type",
      { cloud: "fake", image, configuration: { flags: { "leader-elect": "yes" } } },
      "at '/configuration/flags/leader-elect': got string, want boolean",
    ],
    [
      "a setting of another cloud",
      { cloud: "rancher", image, configuration: { cloud: { network: "x" } } },
      "at '/configuration/cloud': additional properties 'network' not allowed",
    ],
    [
      "a secret setting in the ConfigMap",
      { cloud: "hetzner", image, configuration: { cloud: { token: "x" } } },
      "at '/configuration/cloud': additional properties 'token' not allowed",
    ],
    [
      "a key for an unknown variable",
      { cloud: "hetzner", image, secret: { name: "x", keys: { HCLOUD_TOKN: "token" } } },
      "invalid propertyName 'HCLOUD_TOKN'",
    ],
    [
      "a webhook without a certificate",
      { cloud: "fake", image, webhook: { enabled: true, caBundle: "PEM" } },
      "webhook.certificateSecret is required",
    ],
    [
      "a webhook that the API server would not trust",
      { cloud: "fake", image, webhook: { enabled: true, certificateSecret: "x" } },
      "webhook.enabled needs webhook.caBundle or webhook.certManagerCertificate",
    ],
    [
      "a ServiceMonitor without a Service",
      { cloud: "fake", image, metrics: { service: { enabled: false }, serviceMonitor: { enabled: true } } },
      "metrics.serviceMonitor.enabled needs metrics.service.enabled",
    ],
    [
      "a NetworkPolicy for the network of the machine",
      { cloud: "fake", image, networkPolicy: { enabled: true } },
      "networkPolicy.enabled needs hostNetwork: false",
    ],
  ];
  test.each(wrong)("helm rejects %s [F95]", (_, values, text) => {
    const { code, out, err } = template(values);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain(text);
  });
});

describe.skipIf(tools === undefined)("kustomize", () => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-overlays-"));
  keepFolder(folder);

  test.each(clouds)(
    "kustomize builds the overlay of %s, with credentials only from the user's file [F95]",
    (cloud) => {
      const overlay = overlayCopy(folder, cloud);
      const objects = objectsIn(mustRun([kustomize, "build", overlay]));
      const secret = one(objects, "Secret").metadata.name;
      expect(JSON.stringify(containerOf(objects)["env"])).toContain(`"name":"${secret}"`);
      expect(containerOf(objects)["image"]).toMatch(
        /^registry\.example\.com\/.*-cloud-controller-manager:\d/,
      );
      rmSync(join(overlay, "credentials.env"));
      const { code, err } = run([kustomize, "build", overlay]);
      expect(code).not.toBe(0);
      expect(err).toContain("credentials.env");
    },
  );
});
