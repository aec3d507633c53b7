// The load balancers of Tidewater, one frontend per Service: lists and reads them, and applies single steps.

import { type Context, type LoadBalancers, parseCidr, publishIPs, type ServiceUID, seconds } from "#ccm";
import type { ApiFrontend, ZoneApis } from "./api.ts";
import { type FrontendStep, type Observed, planFrontend } from "./plan-frontend.ts";
import { type annotations, isLinked, memberLimits, type Zone, zoneNames } from "./settings.ts";
import { waitForTicket } from "./tickets.ts";

function stateOf({ condition }: ApiFrontend): Observed["state"] {
  if (condition === "broken") return "failed";
  return condition === "building" || condition === "changing" ? "changing" : "ready";
}

export function loadBalancers(
  apis: ZoneApis,
  { cluster, owner: manager }: Context["mark"],
): LoadBalancers<typeof annotations, Observed, FrontendStep> {
  const toObserved = (zone: Zone, frontend: ApiFrontend): readonly Observed[] => {
    const { tags, id, pools } = frontend;
    const rest = { name: `${zone}/${id}`, state: stateOf(frontend), zone, frontend };
    if (tags["manager"] !== manager || tags["service"] === undefined)
      return [{ ...rest, group: id, owners: [], ownership: "unmarked" }];
    // The tag holds the uid of a Service, because this provider wrote it.
    const owner = tags["service"] as ServiceUID;
    const common = { ...rest, group: owner, owners: [owner] };
    if (tags["cluster"] !== cluster) return [{ ...common, ownership: "foreign", cluster: tags["cluster"] }];
    return [{ ...common, ownership: "ours", ...(pools === undefined && { shallow: true }) }];
  };
  return {
    list: zoneNames.map((zone) => ({
      name: zone,
      list: async function* (call) {
        for await (const page of apis[zone].frontends(call))
          yield page.flatMap((frontend) => toObserved(zone, frontend));
      },
    })),
    partOf: ({ settings }) => settings.zone,
    // A label is found at once, also while the listing lags.
    observe: async ([member], listed, call) => {
      const label = listed?.frontend.label ?? member?.defaultName ?? "";
      const zone = listed?.zone ?? member?.settings.zone;
      const frontend = zone && (await apis[zone].findFrontend(label, call));
      const [found] = zone && frontend ? toObserved(zone, frontend) : [];
      return found?.ownership === "ours" ? found : undefined;
    },
    readsLag: seconds(2),
    settingsOf: ({ zone, frontend }) => ({ zone, class: frontend.class }),
    rangesOf: ({ frontend: { allow } }) => allow?.flatMap((range) => parseCidr(range) ?? []) ?? "unspecified",
    reaches: ({ settings }, { machine }, observed) => {
      const zone = observed?.zone ?? settings.zone;
      if (machine === undefined || isLinked(zone, machine.source)) return true;
      return `their zone is not linked with zone ${zone}`;
    },
    targetLimit: ({ settings }, observed) => memberLimits[observed?.frontend.class ?? settings.class],
    plan: ([desired], observed, { others }) => planFrontend(desired, observed, { cluster, manager }, others),
    targetsOnly: (step) => (step.nodes === undefined ? undefined : step),
    apply: async ({ zone, request, nodes, ...step }, call) =>
      waitForTicket(zone, await apis[zone].change(request, call), `"${step.do}" of ${step.on}`, nodes),
    releases: true,
    supports: ["sourceRanges", "UDP"],
    publish: (_member, observed) => publishIPs([observed?.frontend.address], "the frontend to be built"),
  };
}
