// Requests for certificates. The issuance of a managed certificate is an action.

import { X509Certificate } from "node:crypto";
import { Refusal } from "../base/answer.ts";
import type { BodyReader } from "../base/body-reader.ts";
import type { ActionView } from "../state/actions.ts";
import type { Certificate, Issued } from "../state/certificates.ts";
import type { Project } from "../state/project.ts";
import { type Handlers, start } from "./request.ts";
import { resourceHandlers } from "./resource-handlers.ts";

function usersOf({ balancers }: Project, id: number): readonly number[] {
  return balancers
    .list()
    .filter(({ services }) => services.some(({ http }) => http?.certificates.includes(id) === true))
    .map((balancer) => balancer.id);
}

function certificateView(project: Project, certificate: Certificate): unknown {
  const { id, name, created, labels, type, domainNames, issued, issuance, error } = certificate;
  const renewal = issuance === "completed" ? "scheduled" : "unavailable";
  return {
    id,
    name,
    created,
    labels,
    type,
    domain_names: domainNames,
    certificate: issued?.certificate ?? null,
    fingerprint: issued?.fingerprint ?? null,
    not_valid_before: issued?.notBefore ?? null,
    not_valid_after: issued?.notAfter ?? null,
    status: type === "managed" ? { issuance, renewal, error } : null,
    used_by: usersOf(project, id).map((user) => ({ id: user, type: "load_balancer" })),
  };
}

function issue(project: Project, id: number): ActionView {
  const { certificates } = project;
  return start(project, {
    command: "create_certificate",
    resources: [{ type: "certificate", id }],
    end: () => certificates.change(id, { issuance: "completed", issued: certificates.issue(), error: null }),
    fail: (error) => certificates.change(id, { issuance: "failed", error }),
  });
}

function parse(pem: string): (Issued & { readonly domainNames: readonly string[] }) | undefined {
  try {
    const { fingerprint256, validFrom, validTo, subjectAltName, subject } = new X509Certificate(pem);
    const names = [...(subjectAltName ?? "").matchAll(/DNS:([^,\s]+)/g)].map(([, name = ""]) => name);
    return {
      certificate: pem,
      fingerprint: fingerprint256.toLowerCase(),
      notBefore: new Date(validFrom).toISOString(),
      notAfter: new Date(validTo).toISOString(),
      domainNames: names.length > 0 ? names : [/CN=([^\n,]+)/.exec(subject)?.[1] ?? ""],
    };
  } catch {
    return undefined;
  }
}

function create({ certificates }: Project, body: BodyReader): Certificate {
  const name = body.needText("name");
  const labels = body.labels() ?? {};
  const type = body.oneOf("type", ["uploaded", "managed"] as const) ?? "uploaded";
  const domainNames = body.texts("domain_names") ?? [];
  const isManaged = type === "managed";
  if (isManaged && domainNames.length === 0) body.reject("domain_names", "is required");
  if (!isManaged) body.needText("private_key");
  const parsed = isManaged ? undefined : parse(body.needText("certificate"));
  if (!isManaged && parsed === undefined) body.reject("certificate", "must be a certificate in PEM format");
  body.done();
  certificates.refuseUsedName(name);
  return certificates.add(
    name,
    parsed === undefined
      ? { labels, type, domainNames, issued: null, issuance: "pending" }
      : { labels, type, domainNames: parsed.domainNames, issued: parsed },
  );
}

export function certificateHandlers(project: Project): Handlers {
  const { certificates } = project;
  return resourceHandlers(project, "certificates", certificates, {
    view: (certificate) => certificateView(project, certificate),
    create: (body) => {
      const { id, type } = create(project, body);
      return { id, more: { action: type === "managed" ? issue(project, id) : null } };
    },
    remove: ({ id }) => {
      if (usersOf(project, id).length > 0)
        throw new Refusal("resource_in_use", "certificate is used by a load balancer");
      certificates.remove(id);
      return { status: 204 };
    },
  });
}
