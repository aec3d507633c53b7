// deploy/chart/README.md: how to install the chart, and its values.

import { generated } from "../static-files.ts";
import { rowsOf } from "./value-tree.ts";
import { chartValues } from "./values.ts";

const inCell = (text: string): string => text.replaceAll("|", "\\|");

function valuesTable(): string {
  const rows = rowsOf(chartValues).map(({ path, text, fallback }) => {
    const isLong = Array.isArray(fallback) && fallback.length > 0;
    const shown = fallback === "" ? "" : `\`${inCell(JSON.stringify(fallback))}\``;
    return `| \`${path}\` | ${inCell(text)} | ${isLong ? "see values.yaml" : shown} |\n`;
  });
  return `| Value | Meaning | Default |\n|---|---|---|\n${rows.join("")}`;
}

export function readme(): string {
  return `# Helm chart of Fairlead

<!-- ${generated} -->

One chart for all clouds. It needs Helm 3 or 4.

\`\`\`sh
kubectl -n kube-system create secret generic hcloud --from-literal=HCLOUD_TOKEN="$HCLOUD_TOKEN"
helm install fairlead ./deploy/chart --namespace kube-system --values values.yaml
\`\`\`

\`\`\`yaml
# values.yaml
cloud: hetzner
image:
  repository: registry.example.com/hetzner-cloud-controller-manager
secret:
  name: hcloud
configuration:
  flags:
    cluster-name: prod
    cluster-cidr: 10.244.0.0/16
  cloud:
    network: cluster
\`\`\`

\`configuration\` is the content of the [configuration file](../../docs/getting-started.md#configuration): \`flags\` by the names in
[flags.md](../../docs/flags.md), \`cloud\` by the names of the cloud settings. Helm rejects an unknown value, flag or setting before it renders anything,
and a secret setting under \`cloud\`: credentials belong in the Secret.

Create the Secret yourself: the chart contains no credential. Its keys are the names of the variables; \`secret.keys\` maps others. To restart the pods after a
change of the Secret: \`kubectl -n kube-system rollout restart daemonset/hetzner-cloud-controller-manager\`.

Install one release per cloud and cluster. With several managers in one cluster, read
[operations.md](../../docs/operations.md#several-managers-in-one-cluster) first. [kubernetes-install.md](../../docs/kubernetes-install.md) describes the other ways to install.

## Values

${valuesTable()}
\`tolerations\` replaces the whole list, \`additionalTolerations\` adds to it. To remove the default \`nodeSelector\`, for example where the control
plane has no Nodes: \`--set nodeSelector.node-role\\.kubernetes\\.io/control-plane=null\`.

## Webhook

The API server must trust the certificate of the webhook, which all replicas share. With cert-manager:

\`\`\`yaml
webhook:
  enabled: true
  certificateSecret: fairlead-webhook                  # written by the Certificate below
  certManagerCertificate: kube-system/fairlead-webhook # for hetzner-cloud-controller-manager.kube-system.svc
\`\`\`

Otherwise create the Secret yourself, and set \`webhook.caBundle\` to the authority as PEM.
`;
}
