// The certificate of a Service, by id or name. Let's Encrypt certificates get a different id whenever DigitalOcean renews them. Pure.

import { errorProblem, type ProviderProblem } from "#ccm";
import { keyOf } from "./annotations.ts";
import type { Desired } from "./balancer.ts";
import type { ApiCertificate, ApiLoadBalancer } from "./resources.ts";

export const needsCertificates = ({ settings }: Desired): boolean =>
  settings["certificate-id"] !== undefined || settings["certificate-name"] !== undefined;

export interface CertificateChoice {
  /** Undefined if the Service names no certificate, or a missing one. */
  readonly id?: string;
  /** True if a renewal replaced the certificate in the annotation. This id must then be stored there. */
  readonly isRenewed?: boolean;
  readonly problem?: ProviderProblem;
}

export const certificateOf = ({
  forwarding_rules,
}: Pick<ApiLoadBalancer, "forwarding_rules">): string | undefined =>
  forwarding_rules?.map(({ certificate_id }) => certificate_id).find((id) => id);

/**
 * The load balancer keeps a certificate that may be the renewed one: a listing of certificates can be older than a renewal, and
 * an outdated id would replace the valid certificate by the expired one.
 */
export function chooseCertificate(
  { settings }: Desired,
  known: readonly ApiCertificate[],
  balancer: ApiLoadBalancer | undefined,
): CertificateChoice {
  const { "certificate-id": id, "certificate-name": name } = settings;
  if (id === undefined && name === undefined) return {};
  const named = known.find((one) => (id === undefined ? one.name === name : one.id === id));
  const used = balancer && certificateOf(balancer);
  const current = known.find((one) => one.id === used);
  if (used !== undefined && current === undefined && named?.type !== "custom") return { id: used };
  const isOther = id !== undefined && used !== undefined && id !== used;
  const isRenewed =
    isOther && current?.type === "lets_encrypt" && (named?.name ?? current.name) === current.name;
  if (isRenewed) return { id: used, isRenewed };
  if (named !== undefined) return { id: named.id };
  const key = keyOf(id === undefined ? "certificate-name" : "certificate-id");
  const text = `The certificate ${JSON.stringify(id ?? name)} does not exist. Nothing of the load balancer is changed. Upload it, or correct ${key}. An upload is noticed within 30 minutes, or when the Service changes.`;
  return { problem: errorProblem("MissingCloudObject", text) };
}
