// User and machine actions soon after a restart, while nothing else happens. Checks invariant 26: every wait has a scheduled
// wake-up. A wait for a cloud response follows a request, so the response comes long before a periodic listing would end the wait.

import { wantsLoadBalancer } from "../../src/controllers/service/predicates.ts";
import { servesWithoutClass } from "../../src/controllers/service/served-classes.ts";
import { type Milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import type { Service } from "../../src/kube/objects.ts";
import { findDeviations, hasWitness, mayExceedMassLimit, undeletedNodes } from "./node-deviations.ts";
import type { World } from "./world.ts";

/** Two listings that are 30 s apart, and the cloud operations. */
const proofTime: Milliseconds = seconds(60);
/** A kubelet stops, its Node becomes NotReady, and its instance is proved to be gone. */
const departureTime: Milliseconds = minutes(4);

type Pass = (duration: Milliseconds) => Promise<boolean>;

/** Returns whether no invariant was violated. */
export const endsEveryWait = async (world: World, seed: number, pass: Pass): Promise<boolean> => {
  const { users, cloud, absence, invariants } = world;
  for (const replica of [...world.replicas]) world.killReplica(replica);
  world.startReplica();
  if (!(await pass(minutes(1)))) return false;
  const [disabled, lost] = users
    .services()
    .filter((service) => wantsLoadBalancer(service, servesWithoutClass));
  if (disabled !== undefined) users.editSpec(disabled.metadata.name, { type: "ClusterIP" });
  if (!(await pass(seconds(5 + 5 * (seed % 6))))) return false;
  if (disabled !== undefined) users.editSpec(disabled.metadata.name, { type: "LoadBalancer" });
  const balancersOf = ({ metadata: { uid } }: Service) =>
    cloud.balancers.list().filter(({ labels }) => labels["owner-uid"] === uid);
  for (const { id, labels } of lost === undefined ? [] : balancersOf(lost)) {
    absence.lost(labels["owner-uid"] ?? "");
    cloud.balancers.remove(id);
  }
  // Only a change shows that a load balancer was lost.
  if (lost !== undefined) users.editSpec(lost.metadata.name, { ports: [{ port: 444, protocol: "TCP" }] });
  world.addNode("joins");
  if (!(await pass(proofTime))) return false;
  for (const service of [disabled, lost].filter((one) => one !== undefined)) {
    if (balancersOf(service).length !== 1)
      invariants.violated(26, `${service.metadata.name} still has no load balancer`);
  }
  if (hasWitness(world) && !mayExceedMassLimit(world, 1)) world.removeMachine("joins");
  if (!(await pass(departureTime))) return false;
  const left = undeletedNodes(world).map((name) => `${name} should be deleted`);
  const problems = [...findDeviations(world), ...left];
  if (problems.length > 0) invariants.violated(26, problems.join("; "));
  return problems.length === 0;
};
