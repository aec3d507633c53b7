// The manifest that tells the API server of our admission webhook, to be printed and applied. Whose authority is in it is
// found elsewhere (webhook-authority.ts).

import { serviceWebhook } from "../flags/webhook-names.ts";

/** By which the API server calls a Service in front of us. */
export function serviceNames(program: string): readonly string[] {
  return [`${program}.kube-system.svc`, `${program}.kube-system.svc.cluster.local`];
}

/** What to apply, as JSON that is YAML too. A webhook that is away must not keep anybody from writing: Ignore. */
export function webhookManifest(program: string, port: number, ca: string | undefined): string {
  return `${JSON.stringify(
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
            service: { name: program, namespace: "kube-system", path: `/${serviceWebhook}`, port },
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
}

export const keptName = "cloud-controller-manager-webhook";
