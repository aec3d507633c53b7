// Plans the creation of a load balancer, and of its stack if there is none. Pure.

import type { Plan, Problem } from "#ccm";
import { launchConfigOf } from "./launch.ts";
import type { Desired, Mark, Prefetched, RancherStep } from "./model.ts";
import { balancerName, metadataOf } from "./names.ts";

export function planCreation(
  desired: Desired,
  { stackID, image, hosts }: Prefetched,
  { stack, mark }: { readonly stack: string; readonly mark: Mark },
  problems: readonly Problem[],
): Plan<RancherStep> {
  const chosen = desired.settings["lb-image"] ?? image;
  if (chosen === undefined) {
    const text =
      "The Rancher setting lb.instance.image is empty, so no load balancer is created. Set it, or load-balancers-image.";
    return { steps: [], problems: [{ severity: "error", reason: "MissingCloudObject", text }] };
  }
  const scale = desired.settings["lb-scale"] ?? 1;
  const name = balancerName(desired.defaultName);
  const body = {
    name,
    ...(stackID !== undefined && { stackId: stackID }),
    ...(scale !== "global" && { scale }),
    launchConfig: launchConfigOf(desired, chosen, hosts),
    lbConfig: {},
    metadata: metadataOf(mark.cluster, desired.owner.uid),
  };
  const send = {
    kind: "create",
    type: "loadBalancerService",
    body,
    ...(stackID === undefined && { stack }),
  } as const;
  // If the stack was removed, the next plan looks for it again.
  return { steps: [{ do: "create load balancer", on: name, send, changesPrefetched: true }], problems };
}
