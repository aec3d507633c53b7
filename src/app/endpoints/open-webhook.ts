// Opens the port of the admission webhook. Without `--webhooks` no port is opened.

import { admitService } from "../../controllers/service/annotations/admit.ts";
import { isFactAnnotation } from "../../controllers/service/desired/facts.ts";
import type { Listen } from "../../platform/listener.ts";
import { type AdmissionOptions, serveAdmission, type Webhook } from "../../server/admission.ts";
import type { Log } from "../../telemetry/log.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { type AnyProvider, annotationsOf } from "../connect-cloud.ts";
import type { Flags } from "../flags/table.ts";
import { chooseWebhooks, serviceWebhook, webhookProblems } from "../flags/webhook-names.ts";
import type { ProcessMetrics } from "../metrics/process-metrics.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { webhookPortFlags } from "./endpoint-flags.ts";
import { listenOn, type OpenPort } from "./listen-on.ts";

export interface WebhookOptions {
  readonly flags: Flags;
  readonly provider: AnyProvider;
  readonly program: string;
  readonly platform: ManagerPlatform;
  readonly listen: Listen;
  readonly log: Log;
  readonly metrics: Pick<ProcessMetrics, "webhook" | "certificateEnds">;
}

/** Undefined if no webhook is enabled, or the port is 0. */
export async function openWebhook(options: WebhookOptions): Promise<OpenPort | undefined> {
  const { flags, provider, program, platform, log, metrics } = options;
  const problems = webhookProblems(flags);
  if (problems.length > 0) throw new ConfigurationError(problems);
  const { enabled } = chooseWebhooks(flags.webhooks ?? []);
  if (enabled.length === 0 || flags["webhook-secure-port"] === 0) return undefined;
  const { clock } = platform;
  const table = annotationsOf(provider);
  const facts = provider.facts ?? {};
  const webhook: Webhook = {
    name: serviceWebhook,
    path: `/${serviceWebhook}`,
    judge: (query) => admitService(query, table, { isReadElsewhere: (key) => isFactAnnotation(facts, key) }),
  };
  const admission: AdmissionOptions = {
    webhooks: [webhook],
    monotonic: () => clock.monotonic(),
    onAnswer: metrics.webhook,
    onInternalError: (name, error) =>
      log.error(`Internal error in the webhook ${name}; please file a bug: ${String(error)}`),
  };
  const open = await listenOn(webhookPortFlags(flags, program), {
    platform,
    log,
    listen: options.listen,
    asksForCertificate: false,
    handle: (request) => serveAdmission(admission, request),
    onCertificate: (endsAt) => metrics.certificateEnds("webhook", endsAt),
  });
  log.info(
    `Serving the webhook ${serviceWebhook} on ${flags["webhook-bind-address"]}:${open.number}/${serviceWebhook}`,
  );
  const ca = open.ca();
  if (ca !== undefined) {
    const bundle = Buffer.from(ca).toString("base64");
    log.info(
      "The webhook certificate is self-generated; set this caBundle in the ValidatingWebhookConfiguration",
      {
        caBundle: bundle,
      },
    );
  }
  return open;
}
