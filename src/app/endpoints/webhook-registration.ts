// The manifest that registers the admission webhook with the API server. open-webhook.ts finds its CA.

import type { V1ValidatingWebhookConfiguration } from "@kubernetes/client-node";
import { defined } from "../../core/defined.ts";
import type { Wire } from "../../kube/objects.ts";
import { serviceWebhook } from "../flags/webhook-names.ts";

/** The DNS names of the Service through which the API server calls the webhook. */
export function serviceNames(program: string): readonly string[] {
  return [`${program}.kube-system.svc`, `${program}.kube-system.svc.cluster.local`];
}

/** Prints JSON, which is valid YAML. failurePolicy is Ignore, so an unavailable webhook blocks no writes. */
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
          clientConfig: defined({
            service: { name: program, namespace: "kube-system", path: `/${serviceWebhook}`, port },
            caBundle: ca === undefined ? undefined : Buffer.from(ca).toString("base64"),
          }),
          rules: [
            {
              apiGroups: [""],
              apiVersions: ["v1"],
              operations: ["CREATE", "UPDATE"],
              // services/status is omitted, so status updates are never rejected.
              resources: ["services"],
              scope: "Namespaced",
            },
          ],
        },
      ],
    } satisfies Wire<V1ValidatingWebhookConfiguration>,
    undefined,
    2,
  )}\n`;
}

/** The file name of the generated webhook certificate, without its extension. */
export const webhookCertificateName = "cloud-controller-manager-webhook";
