// Opens the port of the admission webhook. Without `--webhooks`, no port is opened.

import { X509Certificate } from "node:crypto";
import { admitService } from "../../controllers/service/admit.ts";
import { messageOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import type { Files } from "../../platform/files.ts";
import { Admission, type Webhook } from "../../server/admission.ts";
import { lastCertificate } from "../../server/own-certificate.ts";
import { CertificateSource } from "../../server/served-certificates.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { classesOf } from "../flags/controller-settings.ts";
import type { Flags } from "../flags/flag-table.ts";
import { chooseWebhooks, serviceWebhook, webhookProblems } from "../flags/webhook-names.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { certificateSettings, listenOn, type OpenPort, webhookPortFlags } from "./listen-on.ts";
import type { PortContext } from "./port-context.ts";

export interface FoundAuthority {
  /** PEM. */
  readonly ca?: string;
  /** Explains why there is no CA, and how to get one. */
  readonly note?: string;
}

async function authorityOfFile(path: string, files: Files): Promise<FoundAuthority> {
  const last = lastCertificate(await files.read(path));
  if (last !== undefined && new X509Certificate(last).ca) return { ca: last };
  return {
    note: `The manifest has no caBundle, because ${path} does not contain the CA that signed it. Add the CA to the file, or set caBundle yourself (for example with cert-manager).`,
  };
}

/** Throws an error with the correction of the certificates for the operator. */
export async function findAuthority(
  flags: Flags,
  program: string,
  platform: Pick<ManagerPlatform, "files" | "clock" | "random">,
): Promise<FoundAuthority> {
  const path = flags["webhook-tls-cert-file"];
  const folder = flags["webhook-cert-dir"];
  if (path !== undefined) return authorityOfFile(path, platform.files);
  if (folder === undefined) {
    return {
      note: "The manifest has no caBundle, because without --webhook-cert-dir or --webhook-tls-cert-file the CA is kept in memory and changes with every start. Pass the flags that the manager gets.",
    };
  }
  let problem: string | undefined;
  const source = new CertificateSource({
    settings: certificateSettings(webhookPortFlags(flags, program)),
    ...platform,
    onProblem: (text) => {
      problem = text;
    },
  });
  await source.first();
  if (problem !== undefined) throw new Error(`--webhook-cert-dir: ${problem}`);
  return source.ca === undefined ? {} : { ca: source.ca };
}

export function authorityError(error: unknown): Problem {
  return {
    severity: "error",
    reason: "NoWebhookAuthority",
    text: `Cannot determine the CA of the webhook certificate: ${messageOf(error)}`,
  };
}

/** Undefined if no webhook is enabled, or the port is 0. */
export async function openWebhook(context: PortContext): Promise<OpenPort | undefined> {
  const { flags, annotations, program, platform, log, metrics } = context;
  const problems = webhookProblems(flags);
  if (problems.length > 0) throw new ConfigurationError(problems);
  const { enabled } = chooseWebhooks(flags.webhooks ?? []);
  if (enabled.length === 0 || flags["webhook-secure-port"] === 0) return undefined;
  const webhook: Webhook = {
    name: serviceWebhook,
    path: `/${serviceWebhook}`,
    judge: (query) => admitService(query, annotations, classesOf(flags)),
  };
  const admission = new Admission({
    webhooks: [webhook],
    clock: platform.clock,
    onAnswer: metrics.webhook,
    onInternalError: (name, error) =>
      log.error(`Internal error in the webhook ${name}; please file a bug: ${String(error)}`),
  });
  const open = await listenOn(webhookPortFlags(flags, program), context, {
    asksForCertificate: false,
    handle: (request) => admission.serve(request),
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
