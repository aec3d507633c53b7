// Actions of load balancers that concern networks: private networks and the public interface.

import { Refusal } from "../base/answer.ts";
import { BodyReader } from "../base/body-reader.ts";
import { locations, offer } from "../state/catalog.ts";
import type { Project } from "../state/project.ts";
import { type Handlers, refuseLocked, startAction } from "./request.ts";

function notAttached(): Refusal {
  return new Refusal("load_balancer_not_attached_to_network", "load balancer is not attached to a network");
}

export function balancerNetworkActionHandlers(project: Project): Handlers {
  const { balancers, networks } = project;
  const path = "POST /load_balancers/{id}/actions";
  return {
    [`${path}/attach_to_network`]: ({ id, body: raw }) => {
      const body = new BodyReader(raw);
      const network = body.needInteger("network");
      const [ip, ipRange] = [body.text("ip"), body.text("ip_range")];
      body.done();
      const balancer = balancers.existing(id);
      networks.existing(network);
      const resources = [
        { type: "load_balancer", id },
        { type: "network", id: network },
      ] as const;
      for (const resource of resources) refuseLocked(project, resource);
      // A load balancer can be in one network only.
      if (balancer.privateNets.length > 0)
        throw new Refusal("load_balancer_already_attached", "load balancer is already attached to a network");
      const zone = offer(locations, balancer.location).network_zone;
      const taken = networks.reserve(network, resources[0], { zone, ip, ipRange });
      return startAction(project, {
        command: "attach_to_network",
        resources,
        end: () => balancers.change(id, { privateNets: [{ network, ip: taken }] }),
        fail: () => networks.release(network, taken),
      });
    },
    [`${path}/detach_from_network`]: ({ id, body: raw }) => {
      const body = new BodyReader(raw);
      const network = body.needInteger("network");
      body.done();
      if (!balancers.existing(id).privateNets.some((net) => net.network === network)) throw notAttached();
      refuseLocked(project, { type: "network", id: network });
      return startAction(project, {
        command: "detach_from_network",
        resources: [
          { type: "load_balancer", id },
          { type: "network", id: network },
        ],
        end: () => balancers.detach(id, network),
      });
    },
    [`${path}/enable_public_interface`]: ({ id }) => {
      balancers.existing(id);
      return startAction(project, {
        command: "enable_public_interface",
        resources: [{ type: "load_balancer", id }],
        end: () => balancers.change(id, { isPublic: true }),
      });
    },
    [`${path}/disable_public_interface`]: ({ id }) => {
      const { privateNets, targets } = balancers.existing(id);
      if (privateNets.length === 0) throw notAttached();
      if (targets.some((target) => target.type !== "ip" && !target.usesPrivateIp))
        throw new Refusal("targets_without_use_private_ip", "a target uses the public IP");
      return startAction(project, {
        command: "disable_public_interface",
        resources: [{ type: "load_balancer", id }],
        end: () => balancers.change(id, { isPublic: false }),
      });
    },
  };
}
