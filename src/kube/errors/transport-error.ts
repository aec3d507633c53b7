// Converts a failure without a response (refused, reset, TLS) into a KubeError that names the cause and the remedy. Uses
// the code of the error, never its message. The caller handles timeouts.

import { isTlsCode, runtimeCodeOf } from "../../core/error-message.ts";
import { keepsRetrying } from "../../core/retry-promise.ts";
import { KubeError, type KubeErrorFacts } from "./kube-error.ts";

const expired = new Set(["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"]);
const wrongName = new Set(["ERR_TLS_CERT_ALTNAME_INVALID", "HOSTNAME_MISMATCH"]);
const untrusted = new Set([
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "INVALID_CA",
  "UNKNOWN_CERTIFICATE_VERIFICATION_ERROR",
]);

export function transportError(error: unknown, origin: string, facts: KubeErrorFacts): KubeError {
  const code = runtimeCodeOf(error);
  const withCause = { ...facts, cause: error };
  if (untrusted.has(code)) {
    return new KubeError(
      "tls",
      `The certificate of ${origin} is not signed by the configured certificate authority (${code}). Check certificate-authority or certificate-authority-data in the kubeconfig, or ca.crt of the service account.`,
      withCause,
    );
  }
  if (expired.has(code)) {
    return new KubeError(
      "tls",
      `The certificate of ${origin} has expired or is not valid yet (${code}). Renew it, or correct the clock of this machine.`,
      withCause,
    );
  }
  if (wrongName.has(code)) {
    return new KubeError(
      "tls",
      `The certificate of ${origin} is not valid for this host name (${code}). Use a host name that the certificate contains, or set tls-server-name in the kubeconfig.`,
      withCause,
    );
  }
  if (isTlsCode(code)) {
    return new KubeError(
      "tls",
      `The TLS handshake with ${origin} failed (${code}). Check the certificate authority, the client certificate and its key.`,
      withCause,
    );
  }
  const reason = code === "" ? "no response" : code;
  return new KubeError(
    "unreachable",
    `Cannot reach the API server at ${origin} (${reason}). Check that it is running, and the address, network and proxy.`,
    { ...withCause, promise: keepsRetrying },
  );
}
