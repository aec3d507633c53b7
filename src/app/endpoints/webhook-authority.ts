// Finds the CA that the API server must trust for the webhook, without running the manager: from the certificate file, or from
// the directory of generated certificates, where it is generated if none exists.

import { X509Certificate } from "node:crypto";
import { messageOf } from "../../core/errors.ts";
import type { Problem } from "../../core/problem.ts";
import type { Files } from "../../platform/files.ts";
import { CertificateSource, lastCertificate } from "../../server/served-certificates.ts";
import type { Flags } from "../flags/table.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { webhookPortFlags } from "./endpoint-flags.ts";
import { certificateSettings } from "./listen-on.ts";

export interface FoundAuthority {
  /** PEM. */
  readonly ca?: string;
  /** Why there is no CA, and what to do. */
  readonly note?: string;
}

async function authorityOfFile(path: string, files: Files): Promise<FoundAuthority> {
  const last = lastCertificate(await files.read(path));
  if (last !== undefined && new X509Certificate(last).ca) return { ca: last };
  return {
    note: `The manifest has no caBundle, because ${path} does not contain the CA that signed it. Add the CA to the file, or set caBundle yourself (for example with cert-manager).`,
  };
}

/** Throws an error with what the operator must fix. */
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
