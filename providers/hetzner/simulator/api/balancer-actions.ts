// Actions of load balancers: services, targets, networks, public interface, algorithm, type, PTR records and protection.

import { isSameIp } from "#ccm";
import { invalid, notFound, Refusal } from "../base/answer.ts";
import type { BodyReader } from "../base/body-reader.ts";
import type { Balancer } from "../state/balancers.ts";
import { findOffer, loadBalancerTypes } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";
import { attachmentActions } from "./attachment-actions.ts";
import { checkServices, readService } from "./balancer-services.ts";
import { checkTarget, isSameTarget, readTarget } from "./balancer-targets.ts";
import type { ActionRules, ActionWork } from "./resource-handlers.ts";

type Change = (balancer: Balancer, body: BodyReader) => Partial<Balancer>;

/** The changes by action. Each checks the request and returns what changes when the action ends. */
function changesOf(project: Project): Readonly<Record<string, Change>> {
  return {
    add_service: ({ type, services: before }, body) => {
      const services = [...before, readService(body)];
      body.done();
      checkServices(project, type, services);
      return { services };
    },
    update_service: ({ type, services: before }, body) => {
      const port = body.needInteger("listen_port");
      const service = before.find(({ listen_port }) => listen_port === port);
      body.done();
      if (service === undefined) throw notFound("load_balancer_service", port);
      const updated = readService(body, service);
      body.done();
      const services = before.map((each) => (each === service ? updated : each));
      checkServices(project, type, services);
      return { services };
    },
    delete_service: ({ services: before }, body) => {
      const port = body.needInteger("listen_port");
      body.done();
      const services = before.filter(({ listen_port }) => listen_port !== port);
      if (services.length === before.length) throw notFound("load_balancer_service", port);
      return { services };
    },
    add_target: (balancer, body) => {
      const target = readTarget(body);
      body.done();
      if (target === undefined) throw invalid("type", "is required");
      checkTarget(project, balancer, target);
      return { targets: [...balancer.targets, target] };
    },
    remove_target: ({ targets: before }, body) => {
      const target = readTarget(body);
      body.done();
      const targets = before.filter((each) => target !== undefined && !isSameTarget(each, target));
      if (targets.length === before.length) throw new Refusal("not_found", "load balancer target not found");
      return { targets };
    },
    change_algorithm: ({ algorithm }, body) => {
      body.need("type");
      const changed = body.oneOf("type", ["round_robin", "least_connections"] as const) ?? algorithm;
      body.done();
      return { algorithm: changed };
    },
    change_type: ({ services, targets }, body) => {
      const type = findOffer(loadBalancerTypes, body.needOffer("load_balancer_type"));
      if (type === undefined) body.reject("load_balancer_type", "load balancer type not found");
      body.done();
      if (type === undefined || services.length > type.max_services || targets.length > type.max_targets)
        throw new Refusal("invalid_load_balancer_type", "the load balancer type does not fit");
      return { type: type.name };
    },
    change_dns_ptr: ({ ipv4, ipv6, pointers }, body) => {
      const ip = body.needText("ip");
      if (!body.isNull("dns_ptr")) body.need("dns_ptr");
      const pointer = body.text("dns_ptr");
      body.done();
      const own = [ipv4, ipv6].find((each) => each !== null && isSameIp(each, ip));
      if (own === undefined || own === null) throw notFound("IP", ip);
      const others = Object.entries(pointers).filter(([key]) => key !== own);
      const record: [string, string][] = pointer === undefined ? [] : [[own, pointer]];
      return { pointers: Object.fromEntries([...others, ...record]) };
    },
    enable_public_interface: () => ({ isPublic: true }),
    disable_public_interface: ({ privateNets, targets }) => {
      if (privateNets.length === 0) throw notAttached();
      if (targets.some((target) => target.type !== "ip" && !target.usesPrivateIp))
        throw new Refusal("targets_without_use_private_ip", "a target uses the public IP");
      return { isPublic: false };
    },
    change_protection: ({ isProtected }, body) => {
      const changed = body.flag("delete") ?? isProtected;
      body.done();
      return { isProtected: changed };
    },
  };
}

/** Servers that were deleted during the action are not targets. */
function withoutDeleted({ servers }: Project, changes: Partial<Balancer>): Partial<Balancer> {
  const { targets } = changes;
  if (targets === undefined) return changes;
  return {
    ...changes,
    targets: targets.filter((target) => target.type !== "server" || servers.get(target.server) !== undefined),
  };
}

function notAttached(): Refusal {
  return new Refusal("load_balancer_not_attached_to_network", "load balancer is not attached to a network");
}

export function balancerActions(project: Project): ActionRules<Balancer> {
  const entries = Object.entries(changesOf(project)).map(([name, change]) => [
    name,
    (balancer: Balancer, body: BodyReader): ActionWork<Balancer> => {
      const changes = change(balancer, body);
      return {
        command: name === "change_type" ? "change_load_balancer_type" : name,
        end: () => withoutDeleted(project, changes),
      };
    },
  ]);
  return {
    ...Object.fromEntries(entries),
    ...attachmentActions(project, project.balancers, {
      // A load balancer can be in one network only.
      isAttached: ({ privateNets }) => privateNets.length > 0,
      alreadyAttached: () =>
        new Refusal("load_balancer_already_attached", "load balancer is already attached to a network"),
      notAttached,
      hasAliases: false,
    }),
  };
}
