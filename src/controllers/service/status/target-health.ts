// The cloud's health check results for the targets of a load balancer: counts, the reasons with the names of the targets, and the
// problem for events, conditions and pages. Pure.

import type { Problem } from "../../../core/problem.ts";
import { commandText, cutText, shortList } from "../../../core/text.ts";
import type { Service } from "../../../kube/objects.ts";
import type { TargetCheck } from "../../../provider/load-balancers.ts";
import type { HealthSummary } from "../state/record-parts.ts";

const maxWhy = 300;
const maxNames = 100;
/** There may be thousands of checks, with texts of any size, so texts are shortened. */
const short = (text: string): string => cutText(text.slice(0, maxNames));

/** Undefined if no check has a result. */
export function summarizeHealth(checks: readonly TargetCheck[]): HealthSummary | undefined {
  const byTarget = Map.groupBy(checks, ({ target }) => target);
  if (byTarget.size === 0) return undefined;
  const failing = [...byTarget].flatMap(([target, own]) => {
    const texts = own.flatMap(({ isHealthy, text }) => (isHealthy ? [] : short(text)));
    return texts.length === 0 ? [] : { target: short(target), text: [...new Set(texts)].join(", ") };
  });
  const byText = [...Map.groupBy(failing, ({ text }) => text)].map(([text, same]) => ({
    text,
    names: same.map(({ target }) => target).toSorted(),
  }));
  const groups = byText.toSorted((a, b) => b.names.length - a.names.length || (a.text < b.text ? -1 : 1));
  return {
    healthy: byTarget.size - failing.length,
    unhealthy: failing.length,
    why: groups
      .map(({ text, names }) => `${shortList([text], maxNames)} (${shortList(names, maxNames)})`)
      .reduce(
        (all, one) => (all === "" ? one : all.length + one.length > maxWhy ? all : `${all}; ${one}`),
        "",
      ),
  };
}

export const areAllUnhealthy = ({ healthy, unhealthy }: HealthSummary): boolean =>
  healthy === 0 && unhealthy > 0;

/** Undefined while all targets are healthy. */
export function unhealthyTargets(
  { metadata: { namespace = "", name } }: Pick<Service, "metadata">,
  health: HealthSummary,
): Problem | undefined {
  const { healthy, unhealthy, why } = health;
  if (unhealthy === 0) return undefined;
  const isAll = areAllUnhealthy(health);
  const total = healthy + unhealthy;
  const reason = isAll ? "AllTargetsUnhealthy" : "TargetsUnhealthy";
  const pods = commandText(
    `kubectl -n ${namespace} get endpointslices -l kubernetes.io/service-name=${name}`,
  );
  return {
    severity: "warning",
    reason,
    text: isAll
      ? `The cloud's health checks fail for all ${total} targets of the load balancer: ${why}. Requests to the address of the Service fail.`
      : `The cloud's health checks fail for ${unhealthy} of ${total} targets of the load balancer: ${why}. They get no traffic from it.`,
    remedy: `Check that the Service has ready pods (${pods}), that they listen on its target ports, and that no firewall blocks the node ports. With externalTrafficPolicy: Local, only Nodes with a pod are healthy.`,
    // The names and counts change often without being news.
    identity: reason,
  };
}
