// Operations of VPCs, and the data of regions and the account that clients read.

import { type Answer, fields, flag, type Operations, Refused, removal, text } from "#ccm/testing";
import type { Account } from "../state/account.ts";
import { findRegion, regions } from "../state/catalog.ts";
import { pageOf, reads } from "./pages.ts";

const newVpc = fields({
  name: text(),
  region: text(),
  description: text(""),
  ip_range: text("10.133.0.0/20"),
});
const replacedVpc = fields({ name: text(), description: text(""), default: flag(false) });

export function networkOperations({ vpcs, droplets, balancers, ids }: Account): Operations {
  const path = "/v2/vpcs";
  const membersOf = (vpc: string) => {
    const kinds = { droplet: droplets.list(), loadbalancer: balancers.list() };
    return Object.entries(kinds).flatMap(([kind, all]) =>
      all
        .filter(({ vpc_uuid }) => vpc_uuid === vpc)
        .map(({ id, name, created_at }) => ({ urn: `do:${kind}:${id}`, name, created_at })),
    );
  };
  const replace = (id: string, changes: unknown): Answer => {
    return { status: 200, body: { vpc: vpcs.put({ ...vpcs.withID(id), ...replacedVpc(changes, "") }) } };
  };
  return {
    ...reads("vpcs", "vpc", { records: vpcs }),
    [`POST ${path}`]: ({ body }) => {
      const created = newVpc(body, "");
      if (findRegion(created.region) === undefined) throw new Refused(422, "region is invalid");
      const id = ids.uuid();
      const vpc = vpcs.put({ ...created, id, urn: `do:vpc:${id}`, created_at: ids.now, default: false });
      return { status: 201, body: { vpc } };
    },
    [`PUT ${path}/{id}`]: ({ id, body }) => replace(id, body),
    [`PATCH ${path}/{id}`]: ({ id, body }) => {
      const { name, description, default: isDefault } = vpcs.withID(id);
      return replace(id, { name, description, default: isDefault, ...Object(body) });
    },
    ...removal(path, vpcs, (vpc) => {
      if (vpc.default) throw new Refused(403, "Can not delete default VPCs");
      if (membersOf(vpc.id).length > 0) throw new Refused(403, "Can not delete VPC with members");
    }),
    [`GET ${path}/{id}/members`]: (request) =>
      pageOf("members", membersOf(vpcs.withID(request.id).id), request),
    "GET /v2/regions": (request) => pageOf("regions", regions, request),
    "GET /v2/account": () => ({
      status: 200,
      body: {
        account: {
          droplet_limit: 25,
          floating_ip_limit: 3,
          reserved_ip_limit: 3,
          volume_limit: 100,
          email: "ops@example.com",
          name: "Ops",
          uuid: "b6fr89dbf6d9156cace5f3c78dc9851d957381ef",
          email_verified: true,
          status: "active",
          status_message: "",
          team: { uuid: "5df3e3004a17e242b7c20ca6c9fc25b701a47ece", name: "Ops" },
        },
      },
    }),
  };
}
