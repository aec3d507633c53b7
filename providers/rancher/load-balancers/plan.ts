// Plans the steps from the observed to the desired load balancer. Pure.

import { type Plan, type Problem, waitFor } from "#ccm";
import { planActivation, waitForBalancer } from "./activation.ts";
import { addressProblems } from "./address.ts";
import { chooseCertificates } from "./certificates.ts";
import { planUpgrade, reasonToRecreate } from "./launch.ts";
import type { Desired, Mark, Observed, Prefetched, RancherStep } from "./model.ts";
import { planBackends } from "./plan-backends.ts";
import { planChanges } from "./plan-changes.ts";
import { planCreation } from "./plan-creation.ts";
import { planEnd, planRecreation } from "./plan-end.ts";
import { portProblems } from "./ports.ts";
import { lbConfigOf } from "./rules.ts";

export interface PlanSettings {
  readonly stack: string;
  readonly mark: Mark;
}

export function planLoadBalancer(
  desired: Desired | undefined,
  observed: Observed | undefined,
  prefetched: Prefetched,
  settings: PlanSettings,
): Plan<RancherStep> {
  if (desired === undefined || desired.ending !== undefined)
    return observed === undefined ? { steps: [] } : planEnd(desired, observed, settings.mark);
  const certificates = chooseCertificates(desired, prefetched.certificates);
  const problems = [
    ...certificates.problems,
    ...portProblems(desired),
    ...addressProblems(desired, observed, prefetched.hosts),
  ];
  if (problems.some(({ severity }) => severity === "error")) return { steps: [], problems };
  if (observed === undefined) return planCreation(desired, prefetched, settings, problems);
  if (observed.ownership === "unmarked") return planAdoption(desired, observed, settings.mark);
  const what = reasonToRecreate(desired, observed);
  if (what !== undefined && desired.settings["lb-adopt"] === undefined)
    return { ...planRecreation(observed, what, settings.mark), problems };
  const kept = what === undefined ? problems : [...problems, adoptedStays(observed, what)];
  return planExisting({ desired, observed, mark: settings.mark }, certificates, kept);
}

type Certificates = ReturnType<typeof chooseCertificates>;

function planExisting(
  context: { readonly desired: Desired; readonly observed: Observed; readonly mark: Mark },
  certificates: Certificates,
  problems: readonly Problem[],
): Plan<RancherStep> {
  const { desired, observed, mark } = context;
  const backends = planBackends(context);
  if (backends.refused.length > 0) return { steps: [], refused: backends.refused };
  const config = lbConfigOf(desired, backends.ids, certificates);
  // Rules of an external service that is created now follow in the next plan, which knows its id.
  const isFirst = backends.ids.length === 0 && backends.steps.length > 0;
  const changes = isFirst ? [] : planChanges(desired, observed, config, mark);
  const steps = [...backends.steps, ...(changes === "not now" ? [] : changes)];
  if (steps.length > 0) return { steps, problems };
  const upgrade = planUpgrade(desired, observed);
  const { state } = observed.balancer;
  if (upgrade === "not now") {
    const what = `to accept another image, it is ${state}: finish or roll back its upgrade in Rancher`;
    return { ...waitForBalancer(observed, what), problems };
  }
  if (upgrade.length > 0) return { steps: upgrade, problems };
  if (changes === "not now")
    return { ...waitForBalancer(observed, `to accept changes, it is ${state}`), problems };
  const activation = planActivation(observed);
  if (activation.steps.length > 0 || activation.wait !== undefined || backends.waitingFor === undefined)
    return { ...activation, problems: [...problems, ...(activation.problems ?? [])] };
  return { ...waitFor(backends.waitingFor), problems };
}

/** First only the mark, so that no other Service adopts it while the rest changes. */
function planAdoption({ owner }: Desired, observed: Observed, mark: Mark): Plan<RancherStep> {
  const { name, links = {}, actions = {} } = observed.balancer;
  const { self: link } = links;
  if (link === undefined || actions["update"] === undefined)
    return waitForBalancer(observed, "to accept its adoption");
  const send = { kind: "adopt", link, cluster: mark.cluster, owner: owner.uid } as const;
  return { steps: [{ do: "adopt load balancer", on: name, send }] };
}

function adoptedStays({ balancer }: Observed, what: string): Problem {
  const text = `A change of ${what} needs a new load balancer, but the Service has adopted ${balancer.name}. So ${what} stays. Change it in Rancher, or remove service.rancher.io/lb-adopt: then Fairlead deletes it and creates a new one.`;
  return { severity: "warning", reason: "UnsupportedByCloud", text };
}
