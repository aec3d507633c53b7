// The actions by which servers and load balancers join and leave networks.

import type { Refusal } from "../base/answer.ts";
import type { Attachable, AttachableCollection } from "../state/networks.ts";
import type { Project } from "../state/project.ts";
import { refuseLocked } from "./request.ts";
import type { ActionRules } from "./resource-handlers.ts";

interface AttachmentRules<T> {
  /** Whether the resource cannot join this network because it is in one already. */
  isAttached(resource: T, network: number): boolean;
  alreadyAttached(): Refusal;
  notAttached(network: number): Refusal;
  /** Whether the resource may have further addresses in a network. */
  readonly hasAliases: boolean;
}

export function attachmentActions<T extends Attachable>(
  project: Project,
  collection: AttachableCollection<T>,
  { isAttached, alreadyAttached, notAttached, hasAliases }: AttachmentRules<T>,
): ActionRules<T> {
  const { networks } = project;
  // TypeScript cannot derive the type of these changes from the generic parameter.
  const changesTo = (privateNets: T["privateNets"]) => ({ privateNets }) as Partial<T>;
  return {
    attach_to_network: (resource, body) => {
      const network = body.needInteger("network");
      const [ip, ipRange] = [body.text("ip"), body.text("ip_range")];
      const aliasIps = hasAliases ? (body.texts("alias_ips") ?? []) : undefined;
      body.done();
      networks.existing(network);
      refuseLocked(project, { type: collection.kind, id: resource.id });
      refuseLocked(project, { type: "network", id: network });
      if (isAttached(resource, network)) throw alreadyAttached();
      const taken = collection.reserve(resource, network, ip, ipRange);
      for (const alias of aliasIps ?? []) collection.reserve(resource, network, alias);
      return {
        network,
        end: ({ privateNets }) =>
          changesTo([...privateNets, { network, ip: taken, ...(aliasIps && { aliasIps }) }]),
        fail: () => {
          for (const each of [taken, ...(aliasIps ?? [])]) networks.release(network, each);
        },
      };
    },
    detach_from_network: ({ privateNets }, body) => {
      const network = body.needInteger("network");
      body.done();
      if (!privateNets.some((net) => net.network === network)) throw notAttached(network);
      refuseLocked(project, { type: "network", id: network });
      return { network, end: (now) => changesTo(collection.released(now, network)) };
    },
  };
}
