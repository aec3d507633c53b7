// Operations of load balancers. Like the API, rejects a change while another one is being processed.

import {
  type Answer,
  integer,
  listOf,
  type Operations,
  partOperations,
  Refused,
  removal,
} from "#ccm/testing";
import type { Account } from "../state/account.ts";
import { type Balancer, balancerShape, ruleShape } from "../state/balancers.ts";
import { findRegion } from "../state/catalog.ts";
import { checkBalancer, checkChange } from "./balancer-rules.ts";
import { reads } from "./pages.ts";

/** Droplets with the tag are targets of a load balancer that has this tag. */
function balancerView({ droplets }: Account, { region, ...balancer }: Balancer) {
  const { tag, sticky_sessions, ipv6, droplet_ids, ...shown } = balancer;
  const tagged = () => droplets.list().filter(({ tags }) => tags.includes(tag));
  return {
    ...shown,
    ...(ipv6 !== "" && { ipv6 }),
    tag,
    region: findRegion(region),
    droplet_ids: tag === "" ? droplet_ids : tagged().map(({ id }) => id),
    sticky_sessions: sticky_sessions.type === "none" ? { type: "none" } : sticky_sessions,
  };
}

function create(account: Account, body: unknown): Answer {
  const { balancers } = account;
  const request = balancerShape(body, "");
  const draft = balancers.draft(request);
  checkBalancer(account, draft);
  if (request.validate_only) return { status: 204 };
  const { id } = balancers.put({ ...draft, tags: account.addTags(draft.tags) });
  account.activate(id);
  return { status: 202, body: { load_balancer: balancerView(account, balancers.withID(id)) } };
}

function store(account: Account, after: Balancer, before: Balancer): void {
  checkBalancer(account, after);
  if (account.isBusy(before))
    throw new Refused(403, "Load Balancer can't be updated while it processes previous actions");
  account.balancers.put(after);
  account.occupy(after.id);
}

function replace(account: Account, before: Balancer, body: unknown): Answer {
  const { balancers } = account;
  const request = balancerShape(body, "");
  checkChange(before, request);
  const { region, vpc_uuid, ...changes } = balancers.replaced(request);
  // Tags are only read when a load balancer is created.
  const after = { ...before, ...changes, tags: before.tags };
  if (request.validate_only) {
    checkBalancer(account, after);
    return { status: 204 };
  }
  store(account, after, before);
  return { status: 200, body: { load_balancer: balancerView(account, balancers.existing(before.id)) } };
}

const parts = {
  droplets: { droplet_ids: listOf(integer(1, Number.MAX_SAFE_INTEGER)) },
  forwarding_rules: { forwarding_rules: listOf(ruleShape) },
};

/** Whether the query selects the load balancer; without `names` and `uuids` it selects every one. */
function matches({ id, name }: Balancer, query: URLSearchParams): boolean {
  const [names, ids] = [query.getAll("names"), query.getAll("uuids")];
  return (names.length === 0 || names.includes(name)) && (ids.length === 0 || ids.includes(id));
}

export function balancerOperations(account: Account): Operations {
  const { balancers } = account;
  const path = "/v2/load_balancers";
  const view = (balancer: Balancer) => balancerView(account, balancer);
  return {
    ...reads("load_balancers", "load_balancer", { records: balancers, view, matches }),
    [`POST ${path}`]: ({ body }) => create(account, body),
    [`PUT ${path}/{id}`]: ({ id, body }) => replace(account, balancers.withID(id), body),
    ...removal(path, balancers),
    ...partOperations(path, balancers, parts, (after, before) => store(account, after, before)),
  };
}
