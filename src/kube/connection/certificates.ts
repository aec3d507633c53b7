// Checks PEM texts before they are used: Bun answers a bad key or CA with nothing but "failed to open socket".
// It verifies no chain; that is done by TLS itself.

import { createPrivateKey, X509Certificate } from "node:crypto";

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** What is wrong with a bundle of CA certificates, or undefined. */
export function caBundleProblem(pem: string): string | undefined {
  const blocks = pem.match(certificateBlock);
  if (blocks === null) return "it contains no PEM certificate";
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block);
    } catch {
      return `certificate ${index + 1} of ${blocks.length} in it cannot be read`;
    }
  }
  return undefined;
}

/** What is wrong with a client certificate and its key, or undefined. Says nothing about validity in time. */
export function clientCertificateProblem(cert: string, key: string): string | undefined {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    return "the client certificate is not a PEM certificate";
  }
  try {
    return certificate.checkPrivateKey(createPrivateKey(key))
      ? undefined
      : "the client key does not belong to the client certificate";
  } catch {
    return "the client key is not a PEM private key without a passphrase";
  }
}

/** Wall time at which a certificate ends, in milliseconds; undefined when it cannot be read. */
export function certificateEnd(pem: string): number | undefined {
  try {
    const end = Date.parse(new X509Certificate(pem).validTo);
    return Number.isNaN(end) ? undefined : end;
  } catch {
    return undefined;
  }
}
