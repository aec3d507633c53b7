// Operations of certificates. A certificate in use cannot be deleted.

import { type Answer, fields, listOf, type Operations, oneOf, Refused, removal, text } from "#ccm/testing";
import type { Account } from "../state/account.ts";
import { reads } from "./pages.ts";

const newCertificate = fields({
  name: text(),
  type: oneOf(["custom", "lets_encrypt"], "custom"),
  dns_names: listOf(text()),
  private_key: text(""),
  leaf_certificate: text(""),
  certificate_chain: text(""),
});

function create({ certificates, later, times }: Account, body: unknown): Answer {
  const { name, type, dns_names, private_key, leaf_certificate } = newCertificate(body, "");
  const isUploaded = type === "custom";
  if (isUploaded && !(leaf_certificate.includes("BEGIN CERTIFICATE") && private_key.includes("PRIVATE KEY")))
    throw new Refused(422, "leaf_certificate and private_key must be in PEM format");
  if (!isUploaded && dns_names.length === 0) throw new Refused(422, "dns_names is required");
  if (certificates.list().some((other) => other.name === name))
    throw new Refused(422, "Certificate name is already used");
  const names = isUploaded ? {} : { dns_names };
  const { id } = certificates.add(name, { type, state: isUploaded ? "verified" : "pending", ...names });
  if (!isUploaded) {
    later.add(times.activation, () => {
      if (certificates.get(id)?.state === "pending") certificates.change(id, { state: "verified" });
    });
  }
  return { status: 201, body: { certificate: certificates.existing(id) } };
}

export function certificateOperations(account: Account): Operations {
  const { certificates, balancers } = account;
  const path = "/v2/certificates";
  return {
    ...reads("certificates", "certificate", {
      records: certificates,
      matches: ({ name }, query) => (query.get("name") ?? name) === name,
    }),
    [`POST ${path}`]: ({ body }) => create(account, body),
    ...removal(path, certificates, ({ id }) => {
      const rules = balancers.list().flatMap(({ forwarding_rules }) => forwarding_rules);
      if (rules.some(({ certificate_id }) => certificate_id === id))
        throw new Refused(403, "Make sure the certificate is not in use before deleting it");
    }),
  };
}
