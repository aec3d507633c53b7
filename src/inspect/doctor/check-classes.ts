// The check of load balancer classes: Services of type LoadBalancer that no controller serves. Pure.

import { classesOf } from "../../app/flags/controller-settings.ts";
import { describeServed } from "../../controllers/service/served-classes.ts";
import { addressesOf } from "../../controllers/service/status/status.ts";
import { minutes } from "../../core/brand.ts";
import { countOf, shortList } from "../../core/text.ts";
import { keyOf, type Service } from "../../kube/objects.ts";
import { type CheckFinding, type KnownFacts, warning } from "./doctor-facts.ts";

/** The controller of a class may need minutes to create a load balancer. */
const patience = minutes(15);

const nameOfClass = ({ spec }: Service): string =>
  spec.loadBalancerClass === undefined
    ? "no loadBalancerClass"
    : `loadBalancerClass ${JSON.stringify(spec.loadBalancerClass)}`;

/** Only a controller's effects show that it serves a class. */
export function checkClasses({ cluster: { services, now }, flags }: KnownFacts): readonly CheckFinding[] {
  if (!("value" in services)) return [];
  const { ofOthers } = services.value;
  const byClass = Map.groupBy(ofOthers, nameOfClass);
  const isOld = ({ metadata }: Service): boolean =>
    now - Date.parse(metadata.creationTimestamp ?? "") > patience;
  return [...byClass].flatMap(([name, all]): readonly CheckFinding[] => {
    const isAnyServed = all.some((service) => addressesOf(service).length > 0);
    const waiting = isAnyServed ? [] : all.filter(isOld);
    if (waiting.length === 0) return [];
    const keys = shortList(waiting.map(({ metadata }) => keyOf(metadata)));
    return warning("ClassNotServed", {
      text: `${countOf(waiting.length, "Service")} with ${name} ${waiting.length === 1 ? "has" : "have"} had no address for more than 15 minutes, and no other Service with it has one: ${keys}.`,
      effect: `Probably no controller serves ${waiting.length === 1 ? "it" : "them"}. This manager serves ${describeServed(classesOf(flags))}.`,
      remedy:
        "Start the controller of the class, serve the class here with --load-balancer-class, or create the Services again with a class that is served.",
    });
  });
}
