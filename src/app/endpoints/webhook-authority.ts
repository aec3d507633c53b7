// The authority that the API server is to trust our webhook by, found without running the manager: of the certificate that
// was given, or of the folder in which we keep our own, made now if there is none.

import { X509Certificate } from "node:crypto";
import { messageOf } from "../../core/errors.ts";
import type { Problem } from "../../core/problem.ts";
import type { Files } from "../../platform/files.ts";
import { lastCertificate } from "../../server/own-certificate.ts";
import { CertificateSource } from "../../server/served-certificates.ts";
import type { Flags } from "../flags/table.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { webhookPortFlags } from "./endpoint-flags.ts";
import { settingsOf } from "./listen-on.ts";

export interface FoundAuthority {
  /** PEM. */
  readonly ca?: string;
  /** Why there is none, and what to do. */
  readonly note?: string;
}

async function given(path: string, files: Files): Promise<FoundAuthority> {
  const last = lastCertificate(await files.read(path));
  if (last !== undefined && new X509Certificate(last).ca) return { ca: last };
  return {
    note: `There is no caBundle in it: ${path} does not hold the authority that signed it. Put that in, or have it put in`,
  };
}

/** Throws what the operator must mend. */
export async function findAuthority(
  flags: Flags,
  program: string,
  platform: Pick<ManagerPlatform, "files" | "clock" | "random">,
): Promise<FoundAuthority> {
  const path = flags["webhook-tls-cert-file"];
  const folder = flags["webhook-cert-dir"];
  if (path !== undefined) return given(path, platform.files);
  if (folder === undefined) {
    return {
      note: "There is no caBundle in it: without --webhook-cert-dir or --webhook-tls-cert-file the certificate lives in memory, and its authority changes with every start. Give the same flags here as to the manager",
    };
  }
  let problem: string | undefined;
  const source = new CertificateSource({
    settings: settingsOf(webhookPortFlags(flags, program)),
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
