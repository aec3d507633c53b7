// The generated files of deploy/chart. The templates are written by hand.

import packageJson from "../../../package.json" with { type: "json" };
import { webhookManifest } from "../../../src/app/endpoints/webhook-registration.ts";
import {
  accountRules,
  clusterRules,
  leaseRules,
  metricsRules,
  type Rule,
} from "../../../src/app/manifests/access.ts";
import { nodeVolumesObjects } from "../../../src/app/manifests/node-volumes.ts";
import { toYaml } from "../../../src/app/manifests/to-yaml.ts";
import { type AccessNeeds, type AccessUser, allNeeds } from "../../../src/app/permissions.ts";
import { dashboard } from "../../docs/dashboard/dashboard.ts";
import { releasedClouds } from "../../release/clouds.ts";
import { alertRules } from "../alerts.ts";
import { credentialVariables, deployedClouds } from "../clouds.ts";
import { type Files, generated, plainInstallation } from "../static-files.ts";
import { readme } from "./readme.ts";
import { defaultsOf, withHeader } from "./value-tree.ts";
import { chartValues } from "./values.ts";
import { valuesSchema } from "./values-schema.ts";

const { version, license, homepage: home } = packageJson;

function chart(): object {
  return withHeader(generated, {
    apiVersion: "v2",
    name: "fairlead",
    description: "Kubernetes cloud-controller-manager, one executable per cloud.",
    type: "application",
    version,
    appVersion: version,
    kubeVersion: ">=1.21.0-0",
    home,
    keywords: ["cloud-controller-manager", "load-balancer", ...releasedClouds()],
    maintainers: [{ name: "The maintainers of Fairlead", url: home }],
    annotations: {
      "artifacthub.io/category": "networking",
      "artifacthub.io/license": license,
      "artifacthub.io/links": toYaml([
        { name: "Documentation", url: `${home}/docs` },
        { name: "Runbooks", url: `${home}/docs/runbooks` },
      ]),
    },
  });
}

/** The data of each cloud that the templates need, and defaults of flags. */
function clouds(): object {
  const { securePort, lease } = plainInstallation("", "");
  return withHeader(generated, {
    clouds: Object.fromEntries(
      deployedClouds.map((cloud) => [
        cloud.name,
        {
          program: cloud.program,
          credentials: credentialVariables(cloud),
          driver: cloud.provider.volumeDriver?.name ?? "",
        },
      ]),
    ),
    flags: {
      "secure-port": securePort,
      "bind-address": "0.0.0.0",
      "webhook-secure-port": 10260,
      controllers: "*",
      "use-service-account-credentials": false,
      "leader-elect-resource-name": lease.name,
      "leader-elect-resource-namespace": lease.namespace,
    },
  });
}

/** The registration without its client: the template adds the Service and the authority. */
function webhook(): object {
  const manifest = JSON.parse(webhookManifest("fairlead", 0, undefined)) as {
    readonly webhooks: readonly object[];
  };
  const [{ clientConfig: _, ...registration } = {}] = manifest.webhooks as readonly {
    clientConfig?: object;
  }[];
  return withHeader(generated, registration);
}

/** With placeholders, which the template replaces. */
function nodeVolumes(): readonly object[] {
  return nodeVolumesObjects({
    driver: { name: "DRIVER" },
    image: "IMAGE",
    name: "OBJECTS",
    namespace: "NAMESPACE",
    priorityClass: "PRIORITY",
    kubeletFolder: "KUBELET_FOLDER",
    args: [],
  });
}

const needsWith = (user: AccessUser): AccessNeeds => ({
  ...allNeeds,
  users: new Set([...allNeeds.users, user]),
});

/** The permissions of a part that is off by default. The template grants them if the flags enable the part. */
function rulesOnlyFor(user: AccessUser): readonly Rule[] {
  const always = clusterRules(allNeeds);
  return clusterRules(needsWith(user)).filter((rule) => !always.some((other) => Bun.deepEquals(rule, other)));
}

export function chartFiles(): Files {
  return {
    "chart/Chart.yaml": toYaml(chart()),
    "chart/README.md": readme(),
    "chart/values.yaml": toYaml(withHeader(generated, defaultsOf(chartValues))),
    "chart/values.schema.json": `${JSON.stringify(valuesSchema(), undefined, 1)}\n`,
    "chart/files/clouds.yaml": toYaml(clouds()),
    "chart/files/cluster-rules.yaml": toYaml(clusterRules(allNeeds)),
    "chart/files/serving-certificate-rules.yaml": toYaml(rulesOnlyFor("kubelet-serving-csr")),
    "chart/files/volume-rules.yaml": toYaml(rulesOnlyFor("volume")),
    "chart/files/service-account-rules.yaml": toYaml(accountRules(needsWith("service-account-credentials"))),
    "chart/files/lease-rules.yaml": toYaml(leaseRules("LEASE", allNeeds)),
    "chart/files/metrics-rules.yaml": toYaml(metricsRules),
    "chart/files/webhook.yaml": toYaml(webhook()),
    "chart/files/node-volumes.yaml": toYaml(nodeVolumes()),
    "chart/files/alerts.yaml": alertRules(),
    "chart/files/dashboard.json": `${JSON.stringify(JSON.parse(dashboard()))}\n`,
  };
}
