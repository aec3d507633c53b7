// What follows when the cloud is as it should be: the status of those who are served, and the finalizer of those who are
// not any more.

import { seconds } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import { finalizerPatch } from "../../../kube/patches/finalizer-patch.ts";
import { jsonPatch } from "../../../kube/patches/patch.ts";
import { serviceStatusPatch } from "../../../kube/patches/service-patch.ts";
import type { ObservedLoadBalancer, Publication } from "../../../provider/load-balancers.ts";
import { type Outcome, requeue, settled } from "../../../runtime/workers.ts";
import type { Change } from "../desired/kind-of-change.ts";
import type { Member } from "../desired/member.ts";
import { isLeftElsewhere } from "../observed/ownership.ts";
import { finalizer, hasFinalizer } from "../predicates.ts";
import { endOf, releasedAs } from "../status/event-texts.ts";
import { ingressOf, isSameIngress } from "../status/ingress.ts";
import type { Round, RoundParts } from "./context.ts";

interface Reached {
  readonly members: readonly Member[];
  readonly observed: ObservedLoadBalancer | undefined;
  /** What was begun and is now done. */
  readonly done?: Change | undefined;
}

export function createFinish({
  ports,
  groups,
  conditions,
  desiredServices: { endings },
  progress,
  reporter,
}: Pick<RoundParts, "ports" | "groups" | "conditions" | "desiredServices" | "progress" | "reporter">) {
  const { balancers, writes } = ports;
  const serve = async (
    { service, desired, problems }: Member,
    { observed, done }: Reached,
    { call: { signal } }: Round,
  ): Promise<Outcome> => {
    const publication = balancers.publish(desired, observed);
    if (publication.kind === "wait") {
      reporter.waits(service, publication.waitingFor);
      return requeue(seconds(2), publication.waitingFor);
    }
    const isTheirs = publication.kind === "not-ours";
    const guarded = isTheirs ? undefined : finalizerPatch(service, finalizer, "present", "status");
    const marked = guarded && (await writes.patch(service, guarded, "a load balancer is there", signal));
    const current = marked ?? service;
    const ingress = addressesFor(publication, current);
    const isWrittenAnyway = ingress !== undefined || done !== undefined;
    const shown = conditions.atRest(current, problems, isWrittenAnyway);
    const patch = serviceStatusPatch({
      service: current,
      ...(ingress !== undefined && { ingress }),
      ...(shown !== undefined && { conditions: shown }),
    });
    const why = ingress === undefined ? "nothing else is wrong" : "the load balancer has these addresses";
    if (patch !== undefined) await writes.patch(current, patch, why, signal);
    return settled;
  };

  /** It asks for nothing any more: once the cloud has nothing of it, the finalizer goes. */
  const letGo = async (
    { service, desired }: Member,
    { observed }: Reached,
    { group, call: { signal } }: Round,
  ): Promise<Outcome> => {
    const isLeft = observed?.owners.includes(desired.owner.uid) === true;
    if (isLeft) return requeue(seconds(2), "the cloud to let go of the load balancer");
    // It moved, and the group it left has not let go of it: without the finalizer nobody would know whose that was.
    if (isLeftElsewhere(ports, groups, desired.owner.uid, group)) {
      return requeue(progress.patience(group, seconds(2)), "another group to let go of the load balancer");
    }
    // In one write: with the last finalizer the Service is gone, and a second one would meet nobody.
    const isTheirs = balancers.publish(desired, observed).kind === "not-ours";
    const shown = conditions.atRest(service, [], true);
    const steps = [
      serviceStatusPatch({
        service,
        ...(!isTheirs && { ingress: [] }),
        ...(shown !== undefined && { conditions: shown }),
      }),
      finalizerPatch(service, finalizer, "absent", "status"),
    ].flatMap((patch) => (patch?.contentType === "application/json-patch+json" ? patch.body : []));
    if (steps.length === 0) return settled;
    await writes.patch(service, jsonPatch(steps, "status"), "nothing is left in the cloud", signal);
    if (!hasFinalizer(service)) return settled;
    const isReleased = desired.ending === "release";
    reporter.event(service, isReleased ? releasedAs(endings.nameOf(desired.owner.uid)) : endOf("delete"));
    return settled;
  };

  return async (round: Round, reached: Reached): Promise<Outcome> => {
    const { members, done } = reached;
    let rest: Outcome = settled;
    // Who waits does not keep the others waiting.
    for (const member of members) {
      const act = member.desired.ending === undefined ? serve : letGo;
      const outcome = await act(member, reached, round);
      if (outcome.kind !== "settled") rest = outcome;
    }
    if (rest.kind !== "settled") return rest;
    for (const { service, desired } of members) {
      reporter.recovered(service);
      if (desired.ending === undefined && (done === "ensure" || done === "update")) {
        reporter.event(service, endOf(done));
      }
    }
    return settled;
  };
}

/** Undefined where nothing is to be written. */
function addressesFor(publication: Publication, { status }: Service) {
  if (publication.kind !== "addresses") return undefined;
  const ingress = ingressOf(publication);
  return isSameIngress(status.loadBalancer?.ingress ?? [], ingress) ? undefined : ingress;
}
