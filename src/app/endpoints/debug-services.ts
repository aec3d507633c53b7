// What is known of Services and their balancers, for `/debug/state`: the warnings that hold, and each balancer with those
// it serves and the addresses that they were given.

import { keyOf } from "../../kube/objects.ts";
import type { Manager } from "../manager/manager.ts";

export function serviceProblemsOf(manager: Manager) {
  return [...manager.serviceProblems()].map(([service, problems]) => ({ service, problems }));
}

export function balancersOf(manager: Manager) {
  const services = new Map(manager.services.list().map((service) => [keyOf(service.metadata), service]));
  return (manager.balancers?.latest?.items ?? [])
    .filter(({ ownership }) => ownership === "ours")
    .map(({ group, state }) => {
      const members = manager.membersOf(group);
      const ingress = members.flatMap((key) => services.get(key)?.status?.loadBalancer?.ingress ?? []);
      const addresses = ingress.flatMap(({ ip, hostname }) => ip ?? hostname ?? []);
      return { group, state, services: members, addresses: [...new Set(addresses)] };
    });
}
