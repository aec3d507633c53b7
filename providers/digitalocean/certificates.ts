// The certificate of a Service, by id or name. Let's Encrypt certificates get another id whenever DigitalOcean renews them. Pure.

import type { Problem } from "#ccm";
import { annotation, type Desired } from "./balancer.ts";
import type { ApiCertificate, ApiLoadBalancer } from "./resources.ts";

export const needsCertificates = ({ settings }: Desired): boolean =>
  settings["certificate-id"] !== undefined || settings["certificate-name"] !== undefined;

export interface CertificateChoice {
  /** Undefined: the Service names none, or one that does not exist. */
  readonly id?: string;
  /** The id in the annotation was replaced by a renewal: this one is stored there. */
  readonly renewedTo?: string;
  readonly problem?: Problem;
}

export const certificateOf = ({ forwarding_rules }: ApiLoadBalancer): string | undefined =>
  forwarding_rules?.map(({ certificate_id }) => certificate_id).find((id) => id);

const letsEncrypt = "lets_encrypt";

function missing(name: "certificate-id" | "certificate-name", value: string): Problem {
  const text = `The certificate ${JSON.stringify(value)} does not exist. Nothing of the load balancer is changed. Upload it, or correct ${annotation(name)}. An upload is noticed within 30 minutes, or when the Service changes.`;
  return { severity: "error", reason: "MissingCloudObject", text };
}

/**
 * The load balancer keeps a certificate that may be the renewed one: a listing of certificates can be older than a renewal, and an id
 * that is sent back would replace the valid certificate by the expired one.
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
  if (id !== undefined && used !== undefined && id !== used && current?.type === letsEncrypt) {
    if (named === undefined || named.name === current.name) return { id: used, renewedTo: used };
  }
  if (named !== undefined) return { id: named.id };
  return {
    problem: id === undefined ? missing("certificate-name", name ?? "") : missing("certificate-id", id),
  };
}
