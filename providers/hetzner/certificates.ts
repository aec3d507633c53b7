// The certificates of a Service: uploaded ones by name or id, or one managed by Hetzner that is created when missing. Pure.

import { type ProviderProblem, requestTo, warningProblem } from "#ccm";
import type { Desired, HetznerStep } from "./balancer.ts";
import { ownerLabel } from "./marks.ts";
import type { ApiCertificate } from "./resources.ts";
import { reasons } from "./settings.ts";

export interface CertificateChoice {
  /** Undefined if the Service names no certificate, or if its certificates are not usable yet. */
  readonly ids: readonly number[] | undefined;
  /** True while the certificate is not usable. Ports can then be neither created nor changed. */
  readonly isMissing: boolean;
  /** The step that creates the managed certificate. */
  readonly create?: HetznerStep;
  readonly waitingFor?: string;
  readonly problems: readonly ProviderProblem[];
}

const none: CertificateChoice = { ids: undefined, isMissing: false, problems: [] };
const missing = (...problems: readonly ProviderProblem[]): CertificateChoice => ({
  ...none,
  isMissing: true,
  problems,
});

export const needsCertificates = ({ settings }: Desired): boolean =>
  settings["certificate-type"] === "managed" || settings["http-certificates"] !== undefined;

export function chooseCertificates(desired: Desired, known: readonly ApiCertificate[]): CertificateChoice {
  if (desired.settings["certificate-type"] === "managed") return managedCertificate(desired, known);
  const names = desired.settings["http-certificates"];
  if (names === undefined) return none;
  const found = names.map((name) => known.find((one) => String(one.id) === name || one.name === name));
  const unknown = names.filter((_, index) => found[index] === undefined);
  if (unknown.length === 0) return { ...none, ids: found.flatMap((one) => one?.id ?? []) };
  const text = `The certificate ${unknown.map((name) => JSON.stringify(name)).join(", ")} does not exist in this project. The ports of the load balancer stay as they are. Upload it, or correct load-balancer.hetzner.cloud/http-certificates. An upload is noticed within 30 minutes, or when the Service changes.`;
  return missing(warningProblem("MissingCloudObject", text));
}

function managedCertificate(
  { owner, settings }: Desired,
  known: readonly ApiCertificate[],
): CertificateChoice {
  const name = settings["http-managed-certificate-name"] ?? `ccm-managed-certificate-${owner.uid}`;
  const domains = settings["http-managed-certificate-domains"] ?? [];
  const marked = known.filter(({ labels }) => labels[ownerLabel] === owner.uid);
  // A user may have added a second certificate after the first failed.
  const own = marked.find(({ status }) => status?.issuance !== "failed") ?? marked[0];
  if (own !== undefined) {
    const choice = issuedCertificate(own);
    return { ...choice, problems: [...choice.problems, ...changeProblems(own, domains)] };
  }
  if (domains.length === 0) {
    const text =
      "The managed certificate has no domains, so it is not created, and the ports of the load balancer stay as they are. Set load-balancer.hetzner.cloud/http-managed-certificate-domains.";
    return missing(warningProblem("InvalidAnnotation", text));
  }
  if (known.some((one) => one.name === name)) {
    const text = `The certificate ${name} exists without the label ${ownerLabel}=${owner.uid}, so it is not used. Add the label, or set a different load-balancer.hetzner.cloud/http-managed-certificate-name.`;
    return missing(warningProblem("AmbiguousCloudObject", text));
  }
  const labels = {
    [ownerLabel]: owner.uid,
    ...(settings["http-managed-certificate-acme-staging"] === true && { "HC-Use-Staging-CA": "true" }),
  };
  const body = { name, type: "managed", domain_names: domains, labels };
  return {
    ...missing(),
    create: {
      do: "create certificate",
      on: name,
      request: requestTo("POST /certificates", {}, body),
      changesPrefetched: true,
    },
  };
}

/** The domains of a certificate cannot be changed, and another certificate would interrupt the traffic until it is issued. */
function changeProblems(
  { name, domain_names }: ApiCertificate,
  domains: readonly string[],
): readonly ProviderProblem[] {
  const [is, wanted] = [domain_names, domains].map((names) =>
    names
      .map((one) => one.toLowerCase())
      .toSorted()
      .join(", "),
  );
  if (domains.length === 0 || is === wanted) return [];
  const text = `The certificate ${name} is for ${is}, and the Service requests ${wanted}. Hetzner cannot change the domains of a certificate, so it stays in use. To replace it, create a certificate with the label of ${name}, and delete ${name}.`;
  return [warningProblem("UnsupportedByCloud", text)];
}

function issuedCertificate({ id, name, status }: ApiCertificate): CertificateChoice {
  const issuance = status?.issuance ?? "completed";
  if (issuance === "completed") return { ...none, ids: [id] };
  if (issuance === "pending") return { ...missing(), waitingFor: `certificate ${name} to be issued` };
  const { code, message } = status?.error ?? { code: "unknown", message: "no reason given" };
  const text = `Hetzner could not issue the certificate ${name}: ${message} [${code}]. The ports of the load balancer stay as they are. Correct the DNS of its domains, then delete the certificate: it is created again within 30 minutes, or when the Service changes.`;
  return missing(warningProblem(reasons.CertificateIssuanceFailed, text));
}
