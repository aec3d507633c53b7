// The objects that users apply, applied to a real API server: the Helm chart, the kustomize overlays, and the output of
// `manifests` of each executable. The manager of the simulated cloud then runs with the service account and the configuration of
// the chart.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../../providers/fake/simulator/http.ts";
import { deployedClouds } from "../../scripts/deploy/clouds.ts";
import { allNeeds, permissionsOf } from "../../src/app/permissions.ts";
import { nodes, services } from "../../src/kube/resources.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { writeKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { isUninitialized } from "../cluster/rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "../cluster/rig/control-plane.ts";
import { freePort } from "../cluster/rig/free-port.ts";
import { keepFolder, startProcess } from "../cluster/rig/kept-process.ts";
import { createKubectl, type Kubectl } from "../cluster/rig/kubectl.ts";
import { kubeletNode, readyCondition } from "../cluster/rig/kubelet-objects.ts";
import { until } from "../cluster/rig/until.ts";
import { OfficialClient } from "../support/official-client.ts";
import { chart, mustRun, objectsIn, overlayCopy, run, tools, valuesFile } from "./rig/deploy-tools.ts";
import { goModule, orSkipped, Unavailable } from "./rig/install.ts";

const root = resolve(import.meta.dir, "../..");
const clouds = deployedClouds.map(({ name }) => name);
const image = "registry.example.com/ccm:1";

const operator = orSkipped("chart-cluster", () => {
  if ((process.env["KUBEBUILDER_ASSETS"] ?? "") === "")
    throw new Unavailable("KUBEBUILDER_ASSETS is not set");
  return join(
    goModule("github.com/prometheus-operator/prometheus-operator", "v0.85.0"),
    "example/prometheus-operator-crd",
  );
});

/** Settings without which a manager of the cloud does not start, for `manifests`. */
const required: Readonly<Record<string, readonly string[]>> = {
  digitalocean: ["--set=token=t"],
  fake: ["--set=token=t"],
  hetzner: ["--set=token=t"],
  openstack: ["--set=auth-url=https://keystone/v3", "--set=username=u", "--set=password=p"],
  rancher: ["--set=url=http://rancher/v2-beta", "--set=access-key=a", "--set=secret-key=s"],
  vsphere: ["--set=server=vc.example", "--set=user=u", "--set=password=p"],
};

const permissions = [
  ...new Set(
    permissionsOf(allNeeds, { namespace: "kube-system", name: "east" })
      // The role of the authorities is not part of the chart.
      .filter(({ resource }) => resource !== "configmaps")
      .map(({ verb, resource }) => `${verb} ${resource}`),
  ),
].toSorted();

const olderServer = "lists for API servers without streaming lists";
/** Permissions that this test does not use, and why they are needed. */
const usedElsewhere: Readonly<Record<string, string>> = {
  "list nodes": olderServer,
  "list services": olderServer,
  "list endpointslices": olderServer,
  "list leases": olderServer,
  "patch events": "counts an event that is repeated",
  "patch services": "stores facts of the provider in annotations",
};

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: { readonly resource: string; readonly subresource?: string; readonly name?: string };
}

/**
 * The requests of the account for objects, without duplicates. Every client may read the authorities of the cluster by another
 * role.
 */
function requestsIn(log: string, account: string): readonly string[] {
  const found = log.split("\n").flatMap((line) => {
    if (line === "") return [];
    const { user, verb, objectRef } = JSON.parse(line) as AuditEvent;
    if (user.username !== account || objectRef === undefined || objectRef.resource === "configmaps")
      return [];
    const { resource, subresource } = objectRef;
    return `${verb} ${resource}${subresource === undefined ? "" : `/${subresource}`}`;
  });
  return [...new Set(found)].toSorted();
}

describe.skipIf(tools === undefined || operator === undefined)("on a real API server", () => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-apply-"));
  keepFolder(folder);
  const { helm = "", kustomize = "" } = tools ?? {};
  let plane: ControlPlane;
  let kubectl: Kubectl;

  const programOf = (cloud: string) => join(folder, `${cloud}-cloud-controller-manager`);
  const file = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const inCluster = (...args: readonly string[]): string =>
    mustRun([helm, ...args], { KUBECONFIG: plane.kubeconfig, HELM_CACHE_HOME: folder });
  const applied = async (path: string): Promise<readonly string[]> => {
    await kubectl("apply", "--dry-run=server", "--validate=strict", "-f", path);
    return (await kubectl("apply", "--validate=strict", "-f", path)).split("\n");
  };

  beforeAll(async () => {
    for (const cloud of clouds) {
      mustRun([process.execPath, join(root, "scripts/build.ts"), cloud, "--outdir", folder]);
    }
    plane = await startControlPlane({ audit: true });
    kubectl = createKubectl(plane.kubeconfig, folder);
    // kube-controller-manager would create this account; pods need it.
    await kubectl("create", "serviceaccount", "default", "--namespace=kube-system");
  }, 900_000);
  afterAll(async () => {
    await plane.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  describe.each(clouds)("%s", (cloud) => {
    const manifests = (...args: readonly string[]): string =>
      mustRun([programOf(cloud), "manifests", ...args]);

    test("a real API server accepts the DaemonSet that manifests prints, with everything that it needs [S6 S7]", async () => {
      const text = manifests(
        "--as=daemonset",
        "--cluster-name=prod",
        `--set=image=${image}`,
        ...(required[cloud] ?? []),
      );
      const lines = await applied(file(`${cloud}.yaml`, text));
      expect(lines).toHaveLength(objectsIn(text).length);
      expect(lines).toContain(`daemonset.apps/${cloud}-cloud-controller-manager created`);
    });

    test("a real API server accepts the Deployment and the static pod that manifests prints [S7]", async () => {
      const options = ["create", "--dry-run=server", "--validate=strict", "-f"] as const;
      const set = ["--set=namespace=other", "--set=name=other", `--set=image=${image}`, "--set=scraper=a/b"];
      // A dry run creates no namespace.
      await kubectl("create", "namespace", "other").catch(() => undefined);
      const [, ...rest] = manifests("--as=deployment", ...set, ...(required[cloud] ?? [])).split("---\n");
      const created = await kubectl(...options, file("deployment.yaml", rest.join("---\n")));
      expect(created).toContain("deployment.apps/other created (server dry run)");
      const pod = file("pod.yaml", manifests("--as=static-pod", `--set=image=${image}`));
      expect(await kubectl(...options, pod)).toContain("created (server dry run)");
    });

    test("kubectl applies the kustomize overlay [F95]", async () => {
      const overlay = overlayCopy(folder, cloud);
      const path = file("overlay.yaml", mustRun([kustomize, "build", overlay]));
      await kubectl("apply", "--dry-run=server", "--validate=strict", "-f", path);
      const lines = (await kubectl("apply", "--validate=strict", "-k", overlay)).split("\n");
      expect(lines).toContain("daemonset.apps/cloud-controller-manager created");
      await kubectl("delete", "-k", overlay, "--wait=false");
    });
  });

  test("a real API server accepts every object of the chart, including those for the Prometheus operator [F95]", async () => {
    for (const name of ["servicemonitors", "prometheusrules"]) {
      const path = join(operator ?? "", `monitoring.coreos.com_${name}.yaml`);
      await kubectl("create", "-f", path);
      await kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", path);
    }
    const values = valuesFile(folder, {
      cloud: "fake",
      image: { repository: "registry.example.com/ccm" },
      nameOverride: "everything",
      kind: "Deployment",
      hostNetwork: false,
      networkPolicy: { enabled: true, metricsFrom: [{ namespaceSelector: {} }] },
      podDisruptionBudget: { enabled: true },
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "topology.kubernetes.io/zone", whenUnsatisfiable: "ScheduleAnyway" },
      ],
      updateStrategy: { type: "Recreate" },
      revisionHistoryLimit: 3,
      extraObjects: [
        {
          apiVersion: "v1",
          kind: "ResourceQuota",
          metadata: { name: '{{ include "fairlead.name" . }}', namespace: "{{ .Release.Namespace }}" },
          spec: { hard: { services: "100" } },
        },
      ],
      metrics: {
        scraper: { name: "prometheus" },
        serviceMonitor: { enabled: true, interval: "30s" },
        rules: { enabled: true },
        dashboard: { enabled: true },
      },
      webhook: { enabled: true, certificateSecret: "webhook", caBundle: plane.ca },
    });
    const text = mustRun([helm, "template", "all", chart, "--namespace=kube-system", "--values", values]);
    const path = file("everything.yaml", text);
    const kinds = (await applied(path)).map((line) => line.split("/")[0]).toSorted();
    expect([...new Set(kinds)]).toEqual([
      "clusterrole.rbac.authorization.k8s.io",
      "clusterrolebinding.rbac.authorization.k8s.io",
      "configmap",
      "deployment.apps",
      "networkpolicy.networking.k8s.io",
      "poddisruptionbudget.policy",
      "prometheusrule.monitoring.coreos.com",
      "resourcequota",
      "role.rbac.authorization.k8s.io",
      "rolebinding.rbac.authorization.k8s.io",
      "service",
      "serviceaccount",
      "servicemonitor.monitoring.coreos.com",
      "validatingwebhookconfiguration.admissionregistration.k8s.io",
    ]);
    await kubectl("delete", "-f", path, "--wait=false");

    const overlay = overlayCopy(folder, "fake");
    const added = ["edit", "add", "component", "../../components/prometheus-operator"];
    mustRun(["sh", "-c", 'cd "$0" && exec "$@"', overlay, kustomize, ...added]);
    const built = file("component.yaml", mustRun([kustomize, "build", overlay]));
    const lines = await applied(built);
    expect(lines).toContain("prometheusrule.monitoring.coreos.com/cloud-controller-manager created");
    expect(lines).toContain("servicemonitor.monitoring.coreos.com/cloud-controller-manager created");
    await kubectl("delete", "-f", built, "--wait=false");
  });

  test("an installed release runs a manager that uses exactly its permissions, and leaves nothing behind [F79 F95]", async () => {
    const name = "fake-cloud-controller-manager-east";
    const cloud = new FakeCloud({ clock: systemClock });
    await using served = serveFakeCloud(cloud, 0);
    const port = freePort();
    const values = (more: object) =>
      valuesFile(folder, {
        cloud: "fake",
        image: { repository: "registry.example.com/ccm" },
        nameOverride: name,
        configuration: {
          flags: {
            "leader-elect-resource-name": "east",
            "absence-confirmation": "1s",
            "cluster-cidr": "10.0.0.0/16",
            "load-balancer-targets": "endpoints",
            "secure-port": port,
            ...more,
          },
          cloud: { endpoint: served.url },
        },
        metrics: { scraper: { name: "default", namespace: "kube-system" } },
      });
    const release = ["east", chart, "--namespace=kube-system"] as const;
    inCluster("install", ...release, "--values", values({}));
    // A broken release, and the return to the previous one.
    inCluster("upgrade", ...release, "--values", values({ "cluster-cidr": "broken" }));
    inCluster("rollback", "east", "--namespace=kube-system");

    const configMap = ["get", "configmap", name, "--namespace=kube-system"] as const;
    const content = await kubectl(...configMap, "-o", "jsonpath={.data.configuration\\.yaml}");
    expect(content).toContain("cluster-cidr: 10.0.0.0/16");
    const tokenOf = (account: string) => kubectl("create", "token", account, "--namespace=kube-system");
    const user = { name, server: plane.server, token: await tokenOf(name) };
    const kubeconfig = file("release.kubeconfig", writeKubeconfig(plane.ca, [user]));
    const configuration = file("configuration.yaml", content);
    const manager = startProcess([
      programOf("fake"),
      `--config=${configuration}`,
      `--kubeconfig=${kubeconfig}`,
      "--bind-address=127.0.0.1",
    ]);
    const explain = () => manager.output().slice(-4000);
    try {
      const api = OfficialClient.open(plane.kubeconfig);
      for (const [index, each] of ["east-1", "east-2"].entries()) {
        cloud.machines.add(each);
        await api.create(nodes, kubeletNode(each, { podCIDR: `10.0.${index}.0/24` }));
        await until(
          `${each} to be initialized`,
          async () => !isUninitialized(await api.get(nodes, { name: each })),
          { explain },
        );
      }
      await kubectl("create", "service", "loadbalancer", "web", "--tcp=80:80");
      await until(
        "the address of the Service",
        async () =>
          (await api.get(services, { namespace: "default", name: "web" })).status?.loadBalancer?.ingress !==
          undefined,
        { explain },
      );
      cloud.machines.remove("east-2");
      await api.patch(nodes, { name: "east-2" }, readyCondition(false));
      await until("the deletion of the Node", async () => (await api.list(nodes)).length === 1, { explain });

      // The scraper is authorized through the manager's own reviews.
      const metrics = async (token?: string): Promise<number> => {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const tls = { rejectUnauthorized: false };
        return (await fetch(`https://127.0.0.1:${port}/metrics`, { headers, tls })).status;
      };
      await kubectl("create", "serviceaccount", "stranger", "--namespace=kube-system");
      expect([
        await metrics(await tokenOf("default")),
        await metrics(await tokenOf("stranger")),
        await metrics(),
      ]).toEqual([200, 403, 403]);
    } finally {
      expect(await manager.stop()).toBe(0);
    }
    expect(manager.output()).not.toMatch(/\b403\b|forbidden|Missing permission/i);
    const account = `system:serviceaccount:kube-system:${name}`;
    const used = requestsIn(readFileSync(plane.auditLog, "utf8"), account);
    expect([...new Set([...used, ...Object.keys(usedElsewhere)])].toSorted()).toEqual(permissions);

    const kinds =
      "clusterroles,clusterrolebindings,roles,rolebindings,services,configmaps,daemonsets,serviceaccounts";
    const remaining = () =>
      kubectl("get", kinds, "-A", "-l", "app.kubernetes.io/instance=east", "-o", "name");
    expect((await remaining()).split("\n").length).toBeGreaterThan(8);
    inCluster("uninstall", "east", "--namespace=kube-system", "--wait=false");
    expect(await remaining()).toBe("");
  }, 900_000);

  test("a release with an invalid value changes nothing in the cluster", () => {
    const values = valuesFile(folder, { cloud: "fake", image: { repository: "x" }, replcas: 2 });
    const { code, err } = run([helm, "install", "wrong", chart, "--values", values], {
      KUBECONFIG: plane.kubeconfig,
    });
    expect(code).toBe(1);
    expect(err).toContain("additional properties 'replcas' not allowed");
  });

  test("a release whose nodeSelector selects no Node is rejected, because no pod would run [F95]", async () => {
    const api = OfficialClient.open(plane.kubeconfig);
    await api.create(nodes, kubeletNode("unlabelled"));
    const options = { KUBECONFIG: plane.kubeconfig };
    const values = { cloud: "fake", image: { repository: "x" }, nodeSelector: { pool: "none" } };
    const { code, err } = run(
      [helm, "install", "nowhere", chart, "--values", valuesFile(folder, values)],
      options,
    );
    expect([code, err]).toEqual([1, expect.stringContaining("no Node has the labels of nodeSelector")]);
    const everywhere = { ...values, nodeSelector: { "node-role.kubernetes.io/control-plane": null } };
    mustRun(
      [helm, "template", "x", chart, "--dry-run=server", "--values", valuesFile(folder, everywhere)],
      options,
    );
    await api.delete(nodes, { name: "unlabelled" });
  });
});
