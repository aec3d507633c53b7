// Operations of load balancers. A change while another one is processed is refused, as by the API.

import {
  type Answer,
  fields,
  integer,
  listOf,
  type OperationRequest,
  type Operations,
  Refused,
} from "#ccm/testing";
import type { Account } from "../state/account.ts";
import { type Balancer, balancerShape, type ForwardingRule, ruleShape } from "../state/balancers.ts";
import { findRegion } from "../state/catalog.ts";
import { checkBalancer, checkChange } from "./balancer-rules.ts";
import { existing, readOperations } from "./operations.ts";

/** Droplets with the tag are targets of a load balancer that has one. */
function balancerView({ droplets }: Account, { region, ...balancer }: Balancer) {
  const { tag, sticky_sessions, ipv6, droplet_ids, ip, ...shown } = balancer;
  const tagged = droplets.list().filter(({ tags }) => tags.includes(tag));
  return {
    ...shown,
    ip,
    ...(ipv6 !== "" && { ipv6 }),
    tag,
    region: findRegion(region),
    droplet_ids: tag === "" ? droplet_ids : tagged.map(({ id }) => id),
    sticky_sessions: sticky_sessions.type === "none" ? { type: "none" } : sticky_sessions,
  };
}

function create(account: Account, body: unknown): Answer {
  const { balancers } = account;
  const request = balancerShape(body, "");
  const draft = balancers.draft(request);
  checkBalancer(account, draft);
  if (request.validate_only) return { status: 204 };
  const { id } = balancers.put(draft);
  account.activate(id);
  return { status: 202, body: { load_balancer: balancerView(account, balancers.existing(id)) } };
}

function refuseBusy(account: Account, balancer: Balancer): void {
  if (account.isBusy(balancer))
    throw new Refused(403, "Load Balancer can't be updated while it processes previous actions");
}

function replace(account: Account, before: Balancer, body: unknown): Answer {
  const { balancers } = account;
  const request = balancerShape(body, "");
  checkChange(before, request);
  const { region, vpc_uuid, ...changes } = balancers.replaced(request);
  // Tags are only read when a load balancer is created.
  const after = { ...before, ...changes, tags: before.tags };
  checkBalancer(account, after);
  if (request.validate_only) return { status: 204 };
  refuseBusy(account, before);
  balancers.put(after);
  account.occupy(before.id);
  return { status: 200, body: { load_balancer: balancerView(account, balancers.existing(before.id)) } };
}

const dropletList = fields({ droplet_ids: listOf(integer(1, Number.MAX_SAFE_INTEGER)) });
const ruleList = fields({ forwarding_rules: listOf(ruleShape) });

export function balancerOperations(account: Account): Operations {
  const { balancers } = account;
  const path = "/v2/load_balancers";
  /** A change of a part of the load balancer. */
  const change = (part: (before: Balancer, body: unknown) => Partial<Balancer>) => {
    return ({ params, body }: OperationRequest): Answer => {
      const before = existing(balancers, params["id"]);
      const after = { ...before, ...part(before, body) };
      checkBalancer(account, after);
      refuseBusy(account, before);
      balancers.put(after);
      account.occupy(before.id);
      return { status: 204 };
    };
  };
  const keyOf = ({ entry_protocol, entry_port }: ForwardingRule) => `${entry_protocol}:${entry_port}`;
  return {
    ...readOperations(
      path,
      ["load_balancers", "load_balancer"],
      balancers,
      (balancer) => balancerView(account, balancer),
      ({ id, name }, query) => {
        const [names, ids] = [query.getAll("names"), query.getAll("uuids")];
        return (names.length === 0 || names.includes(name)) && (ids.length === 0 || ids.includes(id));
      },
    ),
    [`POST ${path}`]: ({ body }) => create(account, body),
    [`PUT ${path}/{id}`]: ({ params, body }) => replace(account, existing(balancers, params["id"]), body),
    [`DELETE ${path}/{id}`]: ({ params }) => {
      balancers.remove(existing(balancers, params["id"]).id);
      return { status: 204 };
    },
    [`POST ${path}/{id}/droplets`]: change(({ droplet_ids }, body) => {
      const added = dropletList(body, "").droplet_ids;
      return { droplet_ids: [...new Set([...droplet_ids, ...added])] };
    }),
    [`DELETE ${path}/{id}/droplets`]: change(({ droplet_ids }, body) => {
      const removed = dropletList(body, "").droplet_ids;
      return { droplet_ids: droplet_ids.filter((id) => !removed.includes(id)) };
    }),
    [`POST ${path}/{id}/forwarding_rules`]: change(({ forwarding_rules }, body) => {
      return { forwarding_rules: [...forwarding_rules, ...ruleList(body, "").forwarding_rules] };
    }),
    [`DELETE ${path}/{id}/forwarding_rules`]: change(({ forwarding_rules }, body) => {
      const removed = ruleList(body, "").forwarding_rules.map(keyOf);
      return { forwarding_rules: forwarding_rules.filter((rule) => !removed.includes(keyOf(rule))) };
    }),
  };
}
