// Requests that list, create, change and delete load balancers, and a load balancer as the API shows it.

import { invalid } from "../base/answer.ts";
import type { BodyReader } from "../base/body-reader.ts";
import { labelSelector } from "../base/listing.ts";
import type { Balancer, Service, Target } from "../state/balancers.ts";
import { findOffer, loadBalancerTypes, locations, offer } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";
import { balancerActions } from "./balancer-actions.ts";
import { checkServices, readService } from "./balancer-services.ts";
import { checkTarget, readTarget } from "./balancer-targets.ts";
import { type Handlers, start, startAction } from "./request.ts";
import { resourceHandlers } from "./resource-handlers.ts";

function serverTarget(project: Project, balancer: Balancer, id: number, usesPrivateIp: boolean): unknown {
  const status = project.health(balancer, id);
  return {
    type: "server",
    server: { id },
    health_status: balancer.services.map(({ listen_port }) => ({ listen_port, status })),
    use_private_ip: usesPrivateIp,
  };
}

function targetView(project: Project, balancer: Balancer, target: Target): unknown {
  switch (target.type) {
    case "server":
      return serverTarget(project, balancer, target.server, target.usesPrivateIp);
    case "ip":
      return {
        type: "ip",
        ip: { ip: target.ip },
        health_status: balancer.services.map(({ listen_port }) => ({ listen_port, status: "healthy" })),
      };
    case "label_selector": {
      const { type, selector, usesPrivateIp } = target;
      const matches = labelSelector(selector, "selector");
      const chosen = project.servers.list().filter(({ labels }) => matches(labels));
      return {
        type,
        label_selector: { selector },
        use_private_ip: usesPrivateIp,
        targets: chosen.map(({ id }) => serverTarget(project, balancer, id, usesPrivateIp)),
      };
    }
  }
}

export function balancerView(project: Project, balancer: Balancer): unknown {
  const { id, name, created, labels, services, ipv4, ipv6, pointers } = balancer;
  const address = (ip: string | null) => ({ ip, dns_ptr: ip === null ? null : (pointers[ip] ?? null) });
  return {
    id,
    name,
    created,
    labels,
    services,
    load_balancer_type: offer(loadBalancerTypes, balancer.type),
    location: offer(locations, balancer.location),
    algorithm: { type: balancer.algorithm },
    public_net: { enabled: balancer.isPublic, ipv4: address(ipv4), ipv6: address(ipv6) },
    private_net: balancer.privateNets.map(({ network, ip }) => ({ network, ip })),
    targets: balancer.targets.map((target) => targetView(project, balancer, target)),
    protection: { delete: balancer.isProtected },
    included_traffic: 21_990_232_555_520,
    ingoing_traffic: null,
    outgoing_traffic: null,
  };
}

interface NewBalancer {
  readonly name: string;
  readonly changes: Pick<Balancer, "labels" | "type" | "location" | "algorithm" | "isPublic">;
  readonly services: readonly Service[];
  readonly targets: readonly Target[];
  readonly network: number | undefined;
}

const algorithms = ["round_robin", "least_connections"] as const;

function readNew(body: BodyReader): NewBalancer {
  const name = body.needText("name");
  const type = findOffer(loadBalancerTypes, body.needOffer("load_balancer_type"));
  if (type === undefined) body.reject("load_balancer_type", "load balancer type not found");
  const [locationName, zone] = [body.text("location"), body.text("network_zone")];
  if ((locationName === undefined) === (zone === undefined))
    body.reject("location", "exactly one of location and network_zone is required");
  const location =
    locationName === undefined
      ? locations.find(({ network_zone }) => network_zone === zone)
      : findOffer(locations, locationName);
  if (location === undefined)
    body.reject(locationName === undefined ? "network_zone" : "location", "not found");
  const algorithm = body.object("algorithm")?.oneOf("type", algorithms) ?? "round_robin";
  const labels = body.labels() ?? {};
  const isPublic = body.flag("public_interface") ?? true;
  const network = body.integer("network");
  const services = body.objects("services").map((entry) => readService(entry));
  const targets = body.objects("targets").map(readTarget);
  body.done();
  return {
    name,
    changes: { labels, type: type?.name ?? "", location: location?.name ?? "", algorithm, isPublic },
    services,
    targets: targets.filter((target) => target !== undefined),
    network,
  };
}

/** Checks everything before it stores anything. The addresses appear when the action ends. */
function create(project: Project, body: BodyReader): Balancer {
  const { name, changes, services, targets, network } = readNew(body);
  project.balancers.refuseUsedName(name);
  checkServices(project, changes.type, services);
  if (network !== undefined) project.networks.existing(network);
  const draft = { ...changes, targets: [] as Target[], privateNets: [] as Balancer["privateNets"] };
  if (network !== undefined) draft.privateNets = [{ network, ip: "" }];
  for (const target of targets) {
    checkTarget(project, draft, target);
    draft.targets = [...draft.targets, target];
  }
  const balancer = project.balancers.prepare(name, { ...changes, services, targets });
  if (network === undefined) return project.balancers.put(balancer);
  const ip = project.balancers.reserve(balancer, network);
  return project.balancers.put({ ...balancer, privateNets: [{ network, ip }] });
}

export function balancerHandlers(project: Project): Handlers {
  const { balancers } = project;
  return resourceHandlers(project, "load_balancers", balancers, {
    view: (balancer) => balancerView(project, balancer),
    name: (name) => {
      if (name === "") throw invalid("name", "must not be empty");
    },
    create: (body) => {
      const { id } = create(project, body);
      const action = start(project, {
        command: "create_load_balancer",
        resources: [{ type: "load_balancer", id }],
        end: () => balancers.change(id, balancers.addresses()),
      });
      return { id, more: { action } };
    },
    remove: ({ id }) =>
      startAction(project, {
        command: "delete_load_balancer",
        resources: [{ type: "load_balancer", id }],
        end: () => balancers.remove(id),
      }),
    actions: balancerActions(project),
  });
}
