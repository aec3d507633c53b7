// Operations of Neutron that the provider uses: networks, ports, floating IPs, routers and security groups.

import {
  anything,
  fields,
  integer,
  listOf,
  type Operations,
  optional,
  Refused,
  removal,
  text,
} from "#ccm/testing";
import type { Project } from "../state/project.ts";
import type { FloatingIP, Port, Router, SecurityGroup, SecurityGroupRule, Subnet } from "../state/records.ts";
import { matching, type PageSize, pageOf, reads, versions } from "./pages.ts";

const base = "/network/v2.0";

/** The object in a body, for example in `port`. */
const bodyOf = (body: unknown, name: string): unknown =>
  (body as Readonly<Record<string, unknown>> | undefined)?.[name];

const newFloatingIP = fields({
  floating_network_id: text(),
  description: text(""),
  port_id: optional(text()),
  subnet_id: optional(text()),
  floating_ip_address: optional(text()),
});

function association(
  project: Project,
  port_id: string | null | undefined,
): Pick<FloatingIP, "port_id" | "fixed_ip_address" | "status"> {
  const port = project.ports.get(port_id ?? "");
  if (port_id && port === undefined)
    throw new Refused(404, `Port ${port_id} could not be found.`, "PortNotFound");
  if (port === undefined) return { port_id: null, fixed_ip_address: null, status: "DOWN" };
  if (project.floatingIPs.list().some((one) => one.port_id === port.id))
    throw new Refused(
      409,
      `Cannot associate floating IP with port ${port.id}: it has one.`,
      "FloatingIPPortAlreadyAssociated",
    );
  return { port_id: port.id, fixed_ip_address: port.fixed_ips[0]?.ip_address ?? null, status: "ACTIVE" };
}

function floatingOperations(project: Project, size: PageSize): Operations {
  const { floatingIPs, subnets, networks, ids } = project;
  const path = `${base}/floatingips`;
  return {
    ...reads(path, ["floatingips", "floatingip"], floatingIPs, size),
    ...removal(path, floatingIPs),
    [`POST ${path}`]: ({ body }) => {
      const {
        subnet_id,
        floating_ip_address: wanted,
        ...rest
      } = newFloatingIP(bodyOf(body, "floatingip"), "");
      const network = networks.get(rest.floating_network_id);
      if (network?.["router:external"] !== true)
        throw new Refused(
          400,
          `Network ${rest.floating_network_id} is not a valid external network.`,
          "BadRequest",
        );
      const isUsable = ({ id, network_id, ip_version, isFull }: Subnet) =>
        network_id === network.id && ip_version === 4 && isFull !== true && (subnet_id ?? id) === id;
      const subnet = subnets.list().find(isUsable);
      if (subnet === undefined)
        throw new Refused(
          409,
          `No more IP addresses available on network ${network.id}.`,
          "IpAddressGenerationFailure",
        );
      const id = ids.uuid();
      const address = wanted ?? project.addressIn(subnet.cidr);
      const floatingip = floatingIPs.put({
        id,
        name: address,
        floating_ip_address: address,
        ...rest,
        ...association(project, rest.port_id),
      });
      return { status: 201, body: { floatingip } };
    },
    [`PUT ${path}/{id}`]: ({ id, body }) => {
      const { port_id } = fields({ port_id: anything })(bodyOf(body, "floatingip"), "");
      floatingIPs.withID(id);
      const floatingip = floatingIPs.change(id, association(project, port_id as string | null));
      return { status: 200, body: { floatingip } };
    },
  };
}

const newRule = fields({
  security_group_id: text(),
  direction: text(),
  ethertype: text("IPv4"),
  protocol: optional(text()),
  port_range_min: optional(integer(0, 65_535)),
  port_range_max: optional(integer(0, 65_535)),
  remote_ip_prefix: optional(text()),
});

function groupOperations({ securityGroups, ports, ids }: Project, size: PageSize): Operations {
  const path = `${base}/security-groups`;
  const egress = (group: string, ethertype: string): SecurityGroupRule => ({
    id: ids.uuid(),
    security_group_id: group,
    direction: "egress",
    ethertype,
    protocol: null,
    port_range_min: null,
    port_range_max: null,
    remote_ip_prefix: null,
  });
  const change = (group: SecurityGroup, security_group_rules: readonly SecurityGroupRule[]) =>
    void securityGroups.put({ ...group, security_group_rules });
  return {
    ...reads(path, ["security_groups", "security_group"], securityGroups, size),
    [`POST ${path}`]: ({ body }) => {
      const { name, description } = fields({ name: text(), description: text("") })(
        bodyOf(body, "security_group"),
        "",
      );
      const id = ids.uuid();
      const rules = [egress(id, "IPv4"), egress(id, "IPv6")];
      const security_group = securityGroups.put({ id, name, description, security_group_rules: rules });
      return { status: 201, body: { security_group } };
    },
    ...removal(path, securityGroups, ({ id }) => {
      if (ports.list().some(({ security_groups: all }) => all.includes(id)))
        throw new Refused(409, `Security Group ${id} in use.`, "SecurityGroupInUse");
    }),
    [`GET ${base}/security-group-rules`]: (request) => {
      const all = securityGroups.list().flatMap(({ security_group_rules: rules }) => rules);
      const found = all.filter(matching(request.query));
      return pageOf("security_group_rules", found, request, (rule) => rule, size);
    },
    [`POST ${base}/security-group-rules`]: ({ body }) => {
      const {
        protocol = null,
        remote_ip_prefix = null,
        ...rest
      } = newRule(bodyOf(body, "security_group_rule"), "");
      const { port_range_min = null, port_range_max = null } = rest;
      const rule = { ...rest, protocol, remote_ip_prefix, port_range_min, port_range_max };
      const group = securityGroups.withID(rule.security_group_id);
      if (group.security_group_rules.some(({ id: _, ...one }) => Bun.deepEquals(one, rule)))
        throw new Refused(409, "Security group rule already exists.", "SecurityGroupRuleExists");
      const added = { ...rule, id: ids.uuid() };
      change(group, [...group.security_group_rules, added]);
      return { status: 201, body: { security_group_rule: added } };
    },
    [`DELETE ${base}/security-group-rules/{id}`]: ({ id }) => {
      const group = securityGroups
        .list()
        .find(({ security_group_rules: rules }) => rules.some((rule) => rule.id === id));
      if (group === undefined)
        throw new Refused(404, `Security group rule ${id} does not exist.`, "SecurityGroupRuleNotFound");
      change(
        group,
        group.security_group_rules.filter((rule) => rule.id !== id),
      );
      return { status: 204 };
    },
  };
}

const portChanges = fields({
  security_groups: optional(listOf(text())),
  allowed_address_pairs: optional(listOf(anything)),
});

function portOperations({ ports }: Project, size: PageSize): Operations {
  const path = `${base}/ports`;
  return {
    ...reads(path, ["ports", "port"], ports, size),
    [`PUT ${path}/{id}`]: ({ id, body, header }) => {
      const port = ports.withID(id);
      const revision = /^revision_number=(\d+)$/.exec(header("if-match") ?? "")?.[1];
      if (revision !== undefined && Number(revision) !== port.revision_number)
        throw new Refused(
          412,
          `Constrained to ${revision}, but current revision is ${port.revision_number}`,
          "RevisionNumberConstraintFailed",
        );
      const changes = Object.entries(portChanges(bodyOf(body, "port"), "")).filter(
        ([, value]) => value !== undefined,
      );
      const next = {
        ...Object.fromEntries(changes),
        revision_number: port.revision_number + 1,
      } as Partial<Port>;
      return { status: 200, body: { port: ports.change(id, next) } };
    },
  };
}

const routeList = fields({ routes: listOf(fields({ destination: text(), nexthop: text() })) });

function routerOperations({ routers }: Project, size: PageSize, hasAtomicRoutes: boolean): Operations {
  const path = `${base}/routers`;
  type Change = (has: Router["routes"], given: Router["routes"]) => Router["routes"];
  const change =
    (apply: Change): Operations[string] =>
    ({ id, body, header }) => {
      const { routes, revision_number } = routers.withID(id);
      const revision = /^revision_number=(\d+)$/.exec(header("if-match") ?? "")?.[1];
      if (revision !== undefined && Number(revision) !== revision_number)
        throw new Refused(
          412,
          `Constrained to ${revision}, but current revision is ${revision_number}`,
          "RevisionNumberConstraintFailed",
        );
      const next = apply(routes, routeList(bodyOf(body, "router"), "").routes);
      return {
        status: 200,
        body: { router: routers.change(id, { routes: next, revision_number: revision_number + 1 }) },
      };
    };
  const without: Change = (has, given) =>
    has.filter((one) => !given.some((other) => Bun.deepEquals(one, other)));
  return {
    ...reads(path, ["routers", "router"], routers, size),
    [`PUT ${path}/{id}`]: change((_, given) => given),
    ...(hasAtomicRoutes && {
      [`GET ${base}/extensions/extraroute-atomic`]: () => ({
        status: 200,
        body: { extension: { alias: "extraroute-atomic" } },
      }),
      [`PUT ${path}/{id}/add_extraroutes`]: change((has, given) => [...without(has, given), ...given]),
      [`PUT ${path}/{id}/remove_extraroutes`]: change(without),
    }),
  };
}

export function networkOperations(project: Project, size: PageSize, hasAtomicRoutes: boolean): Operations {
  const { networks, subnets } = project;
  return {
    "GET /network/": ({ url }) => versions(url.href, ["v2.0"]),
    ...reads(`${base}/networks`, ["networks", "network"], networks, size),
    ...reads(`${base}/subnets`, ["subnets", "subnet"], subnets, size),
    ...floatingOperations(project, size),
    ...groupOperations(project, size),
    ...portOperations(project, size),
    ...routerOperations(project, size, hasAtomicRoutes),
  };
}
