// Turns a failure without an answer (refused, reset, TLS) into a KubeError that says which of them it was and what to do.
// It reads the error's code only, never its message; deadlines are known to the caller and do not come here.

import { codeOf } from "../../core/errors.ts";
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
  const code = codeOf(error);
  const withCause = { ...facts, cause: error };
  if (untrusted.has(code)) {
    return new KubeError(
      "tls",
      `The certificate of ${origin} is not signed by the certificate authority we were given (${code}). Check certificate-authority(-data) in the kubeconfig, or the cluster's ca.crt.`,
      withCause,
    );
  }
  if (expired.has(code)) {
    return new KubeError(
      "tls",
      `The certificate of ${origin} is outside its validity (${code}). Renew it, or correct this machine's clock.`,
      withCause,
    );
  }
  if (wrongName.has(code)) {
    return new KubeError(
      "tls",
      `The certificate of ${origin} is for another name (${code}). Use a name it contains, or set tls-server-name in the kubeconfig.`,
      withCause,
    );
  }
  if (/TLS|SSL|CERT|X509|PEM|BORING/.test(code)) {
    return new KubeError(
      "tls",
      `No TLS connection to ${origin} could be made (${code}). Check the CA, the client certificate and its key.`,
      withCause,
    );
  }
  const why = code === "" ? "no answer" : code;
  return new KubeError(
    "unreachable",
    `The API server at ${origin} cannot be reached (${why}). Expected it to answer; check that it runs and that the address, network and proxy are right. We keep trying.`,
    withCause,
  );
}
