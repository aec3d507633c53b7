// Reads targets of load balancers, and checks them against the network and the limits of the load balancer.

import { isSameIp } from "#ccm";
import { Refusal } from "../base/answer.ts";
import type { BodyReader } from "../base/body-reader.ts";
import { labelSelector } from "../base/listing.ts";
import type { Balancer, Target } from "../state/balancers.ts";
import { loadBalancerTypes, offer } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";

/** Undefined when a field is invalid. */
export function readTarget(body: BodyReader): Target | undefined {
  body.need("type");
  const type = body.oneOf("type", ["server", "label_selector", "ip"] as const);
  const usesPrivateIp = body.flag("use_private_ip") ?? false;
  switch (type) {
    case undefined:
      return undefined;
    case "server":
      return { type, server: body.needObject("server").needInteger("id"), usesPrivateIp };
    case "label_selector": {
      const selector = body.needObject("label_selector").needText("selector");
      labelSelector(selector, "label_selector.selector")({});
      return { type, selector, usesPrivateIp };
    }
    case "ip":
      return { type, ip: body.needObject("ip").needText("ip") };
  }
}

export function isSameTarget(one: Target, other: Target): boolean {
  if (one.type === "server") return other.type === "server" && one.server === other.server;
  if (one.type === "ip") return other.type === "ip" && isSameIp(one.ip, other.ip);
  return other.type === "label_selector" && one.selector === other.selector;
}

function checkServer(
  { servers }: Project,
  { privateNets }: Pick<Balancer, "privateNets">,
  { server: id, usesPrivateIp }: Extract<Target, { readonly type: "server" }>,
): void {
  const server = servers.existing(id);
  if (!usesPrivateIp) {
    if (server.ipv4 === null) throw new Refusal("missing_ipv4", "server has no public IPv4 address");
    return;
  }
  const isShared = server.privateNets.some((net) =>
    privateNets.some(({ network }) => network === net.network),
  );
  if (!isShared)
    throw new Refusal("server_not_attached_to_network", "server is not attached to the same network");
}

function checkIp({ servers, robot }: Project, ip: string): void {
  if (robot.isUnavailable) throw new Refusal("robot_unavailable", "robot is not available");
  const isOfServer = servers
    .list()
    .some((each) => each.ipv4 === ip || each.privateNets.some((net) => net.ip === ip));
  if (isOfServer)
    throw new Refusal("cloud_resource_ip_not_allowed", `IP ${ip} belongs to a Hetzner Cloud resource`);
  if (!robot.owns(ip)) throw new Refusal("ip_not_owned", `IP ${ip} is not owned by the project owner`);
}

/** Throws a Refusal unless the target can be added. */
export function checkTarget(
  project: Project,
  balancer: Pick<Balancer, "type" | "targets" | "isPublic" | "privateNets">,
  target: Target,
): void {
  const { targets, privateNets, isPublic, type } = balancer;
  const usesPrivateIp = target.type !== "ip" && target.usesPrivateIp;
  if (usesPrivateIp && privateNets.length === 0)
    throw new Refusal("load_balancer_not_attached_to_network", "load balancer is not attached to a network");
  if (target.type === "server") checkServer(project, balancer, target);
  if (target.type === "ip") checkIp(project, target.ip);
  if (!usesPrivateIp && !isPublic && target.type !== "ip")
    throw new Refusal("load_balancer_public_interface_disabled", "public interface is disabled");
  if (targets.some((each) => isSameTarget(each, target)))
    throw new Refusal("target_already_defined", "target is already defined");
  const { max_targets } = offer(loadBalancerTypes, type);
  if (targets.length >= max_targets)
    throw new Refusal("resource_limit_exceeded", `at most ${max_targets} targets are allowed`);
}
