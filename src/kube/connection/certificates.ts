// Validates PEM texts before they are used, because Bun only reports "failed to open socket" for a bad key or CA. TLS itself
// verifies the chain.

import { createPrivateKey, X509Certificate } from "node:crypto";

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** The problem with a bundle of CA certificates, or undefined. */
export function caBundleProblem(pem: string): string | undefined {
  const blocks = pem.match(certificateBlock);
  if (blocks === null) return "The certificate authority contains no PEM certificate";
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block);
    } catch {
      return `Certificate ${index + 1} of ${blocks.length} in the certificate authority is malformed`;
    }
  }
  return undefined;
}

/** The problem with a client certificate and its key, or undefined. It does not check the period of validity. */
export function clientCertificateProblem(cert: string, key: string): string | undefined {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    return "The client certificate is not a PEM certificate";
  }
  try {
    return certificate.checkPrivateKey(createPrivateKey(key))
      ? undefined
      : "The client key does not match the client certificate";
  } catch {
    return "The client key is not an unencrypted PEM private key";
  }
}

/** Wall time at which a certificate expires, in milliseconds; undefined when it is malformed. */
export function certificateEnd(pem: string): number | undefined {
  try {
    const end = Date.parse(new X509Certificate(pem).validTo);
    return Number.isNaN(end) ? undefined : end;
  } catch {
    return undefined;
  }
}
