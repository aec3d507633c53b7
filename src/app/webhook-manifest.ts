// The manifest that tells the API server of our admission webhook, to be printed and applied. The authority in it is that of
// the certificate in `--webhook-cert-dir`; one that lives in memory only is told by the log.

import { join } from "node:path";
import type { Files } from "../seams/files.ts";
import type { Flags } from "./read-flags.ts";

export const serviceWebhook = "service-annotations";

/** By which the API server calls a Service in front of us. */
export const serviceNames = (program: string): readonly string[] => [
  `${program}.kube-system.svc`,
  `${program}.kube-system.svc.cluster.local`,
];

/** What to apply, as JSON that is YAML too. A webhook that is away must not keep anybody from writing: Ignore. */
export const webhookManifest = (program: string, ca: string | undefined): string =>
  `${JSON.stringify(
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: program },
      webhooks: [
        {
          name: `${serviceWebhook}.fairlead.dev`,
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          failurePolicy: "Ignore",
          timeoutSeconds: 5,
          clientConfig: {
            service: { name: program, namespace: "kube-system", path: `/${serviceWebhook}`, port: 10260 },
            ...(ca !== undefined && { caBundle: Buffer.from(ca).toString("base64") }),
          },
          rules: [
            {
              apiGroups: [""],
              apiVersions: ["v1"],
              operations: ["CREATE", "UPDATE"],
              // Not services/status: a status is never refused.
              resources: ["services"],
              scope: "Namespaced",
            },
          ],
        },
      ],
    },
    undefined,
    2,
  )}\n`;

export const keptName = "cloud-controller-manager-webhook";

/** PEM of the authority that signed what lies there; undefined when there is nothing. */
export const keptAuthority = async (flags: Flags, files: Files): Promise<string | undefined> => {
  const folder = flags["webhook-cert-dir"];
  if (folder === undefined) return undefined;
  try {
    const cert = await files.read(join(folder, `${keptName}.crt`));
    return /(-----BEGIN CERTIFICATE-----(?:(?!-----BEGIN)[\s\S])+)$/.exec(cert)?.[1];
  } catch {
    return undefined;
  }
};
