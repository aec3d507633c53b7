// What a load balancer is to be, as the API describes it. Pure.

import { errorProblem, type Problem } from "#ccm";
import { keyOf } from "./annotations.ts";
import { type Desired, typeOf } from "./balancer.ts";
import { healthCheckOf, passThroughRules, terminatingRules } from "./forwarding.ts";
import type { Settings } from "./settings.ts";

export interface Spec {
  readonly name: string;
  readonly droplet_ids: readonly number[];
  readonly [member: string]: unknown;
}

function conflicts({ settings }: Desired): readonly Problem[] {
  const error = (text: string) =>
    errorProblem(
      "InvalidAnnotation",
      `${text} Nothing of the load balancer is changed until this is corrected.`,
    );
  const isSized = settings["size-slug"] !== undefined && (settings["size-unit"] ?? 0) > 0;
  const isNamed = settings["sticky-sessions-cookie-name"] !== undefined;
  const hasCookie = isNamed && settings["sticky-sessions-cookie-ttl"] !== undefined;
  return [
    ...(isSized
      ? [error(`${keyOf("size-slug")} and ${keyOf("size-unit")} are both set. Remove size-slug.`)]
      : []),
    ...(settings["sticky-sessions-type"] === "cookies" && !hasCookie
      ? [error(`Sticky sessions by cookie need ${keyOf("sticky-sessions-cookie-name")} and …-cookie-ttl.`)]
      : []),
  ];
}

/** With an error among the problems, the specification is not used. */
export function specOf(
  desired: Desired,
  operator: Settings,
  certificate: string | undefined,
): { readonly spec: Spec; readonly problems: readonly Problem[] } {
  const { settings, sourceRanges, targets } = desired;
  const { rules, problems } =
    typeOf(desired, operator) === "REGIONAL"
      ? terminatingRules(desired, certificate)
      : passThroughRules(desired);
  const health = healthCheckOf(desired);
  const { "size-slug": size, "size-unit": unit = 0, "sticky-sessions-type": type } = settings;
  const cookie = {
    cookie_name: settings["sticky-sessions-cookie-name"],
    cookie_ttl_seconds: settings["sticky-sessions-cookie-ttl"],
  };
  const spec = {
    name: settings.name ?? desired.defaultName,
    ...(size === undefined ? { size_unit: Math.max(unit, 1) } : { size }),
    forwarding_rules: rules,
    health_check: health.check,
    sticky_sessions: { type, ...(type === "cookies" && cookie) },
    droplet_ids: targets.flatMap(({ machine }) => (machine === undefined ? [] : Number(machine.key))),
    redirect_http_to_https: settings["redirect-http-to-https"],
    enable_proxy_protocol: settings["enable-proxy-protocol"],
    enable_backend_keepalive: settings["enable-backend-keepalive"],
    disable_lets_encrypt_dns_records: settings["disable-lets-encrypt-dns-records"],
    http_idle_timeout_seconds: settings["http-idle-timeout-seconds"],
    firewall: {
      allow: sourceRanges?.map((range) => `cidr:${range}`) ?? settings["allow-rules"] ?? [],
      deny: settings["deny-rules"] ?? [],
    },
  };
  return { spec, problems: [...problems, ...health.problems, ...conflicts(desired)] };
}
