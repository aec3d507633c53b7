// What a load balancer is to be and what it is, as the API describes both, and whether they are the same. Pure.

import type { Problem } from "#ccm";
import { annotation, type Desired, typeOf } from "./balancer.ts";
import { healthCheckOf, networkRules, terminatingRules } from "./forwarding.ts";
import type {
  ApiForwardingRule,
  ApiLoadBalancer,
  ApiStickySessions,
  BalancerPlace,
  BalancerSpec,
} from "./resources.ts";
import type { Settings } from "./settings.ts";

export interface SpecChoice {
  /** Undefined if the annotations contradict each other. */
  readonly spec?: BalancerSpec;
  readonly problems: readonly Problem[];
}

/** The Nodes whose machine is known. */
const dropletsOf = ({ targets }: Desired): readonly number[] =>
  targets.flatMap(({ machine }) => (machine === undefined ? [] : Number(machine.key)));

function stickySessionsOf({ settings }: Desired): ApiStickySessions {
  const { "sticky-sessions-type": type, "sticky-sessions-cookie-name": cookie_name } = settings;
  if (type === "none") return { type };
  return {
    type,
    cookie_name: cookie_name ?? "",
    cookie_ttl_seconds: settings["sticky-sessions-cookie-ttl"] ?? 0,
  };
}

function conflicts({ settings }: Desired): readonly Problem[] {
  const error = (text: string): Problem => ({ severity: "error", reason: "InvalidAnnotation", text });
  const { "size-slug": slug, "size-unit": unit } = settings;
  const { cookie_name, cookie_ttl_seconds } = stickySessionsOf({ settings } as Desired);
  return [
    ...(slug !== undefined && (unit ?? 0) > 0
      ? [
          error(
            `${annotation("size-slug")} and ${annotation("size-unit")} are both set. Nothing of the load balancer is changed. Remove size-slug.`,
          ),
        ]
      : []),
    ...(cookie_name === "" || cookie_ttl_seconds === 0
      ? [
          error(
            `Sticky sessions by cookie need a name and a lifetime. Nothing of the load balancer is changed. Set ${annotation("sticky-sessions-cookie-name")} and sticky-sessions-cookie-ttl.`,
          ),
        ]
      : []),
  ];
}

export function specOf(desired: Desired, operator: Settings, certificate: string | undefined): SpecChoice {
  const { settings, sourceRanges, defaultName } = desired;
  const isPassedOn = typeOf(desired, operator) === "REGIONAL_NETWORK";
  const { rules, problems: ofRules } = isPassedOn
    ? networkRules(desired)
    : terminatingRules(desired, certificate);
  const { check, problems: ofCheck } = healthCheckOf(desired);
  const problems = [...ofRules, ...ofCheck, ...conflicts(desired)];
  if (check === undefined) return { problems };
  const { "size-slug": size, "size-unit": unit = 0 } = settings;
  const spec = {
    name: settings.name ?? defaultName,
    ...(size === undefined ? { size_unit: Math.max(unit, 1) } : { size }),
    forwarding_rules: rules,
    health_check: check,
    sticky_sessions: stickySessionsOf(desired),
    droplet_ids: dropletsOf(desired),
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
  return { spec, problems };
}

/** Without the members that are null or absent. */
function compact<T extends object>(value: T): T {
  return Object.fromEntries(
    Object.entries(value).filter(([, one]) => one !== null && one !== undefined),
  ) as T;
}

/** What a change cannot or must not change. */
export function placeOf(balancer: ApiLoadBalancer): Partial<BalancerPlace> {
  const { type, network, network_stack, vpc_uuid, subnet_uuid, project_id, tls_cipher_policy } = balancer;
  const fixed = { region: balancer.region?.slug, type, network, network_stack, vpc_uuid, subnet_uuid };
  return compact({ ...fixed, project_id, tls_cipher_policy }) as Partial<BalancerPlace>;
}

/** What an existing load balancer has. */
export function presentSpec(balancer: ApiLoadBalancer): BalancerSpec {
  const { firewall, size_unit, size } = balancer;
  return compact({
    name: balancer.name,
    ...(size_unit ? { size_unit } : { size }),
    forwarding_rules: balancer.forwarding_rules ?? [],
    health_check: compact(balancer.health_check ?? {}),
    sticky_sessions: compact(balancer.sticky_sessions ?? { type: "none" }),
    droplet_ids: balancer.droplet_ids ?? [],
    redirect_http_to_https: balancer.redirect_http_to_https ?? false,
    enable_proxy_protocol: balancer.enable_proxy_protocol ?? false,
    enable_backend_keepalive: balancer.enable_backend_keepalive ?? false,
    disable_lets_encrypt_dns_records: balancer.disable_lets_encrypt_dns_records ?? false,
    http_idle_timeout_seconds: balancer.http_idle_timeout_seconds ?? 60,
    firewall: { allow: firewall?.allow ?? [], deny: firewall?.deny ?? [] },
  }) as BalancerSpec;
}

function ruleText(rule: ApiForwardingRule): string {
  const { entry_protocol, entry_port, target_protocol, target_port, certificate_id, tls_passthrough } = rule;
  const secrets = [certificate_id || "-", tls_passthrough === true];
  return [entry_protocol, entry_port, target_protocol, target_port, ...secrets].join();
}

const textOf = (value: unknown): string =>
  typeof value === "object" && value !== null && "entry_protocol" in value
    ? ruleText(value as ApiForwardingRule)
    : String(value);

/** Whether the cloud has all that is wanted. Lists are equal in any order. */
function has(observed: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    const texts = [wanted, Array.isArray(observed) ? observed : []].map((list) =>
      list.map(textOf).toSorted().join(" "),
    );
    return texts[0] === texts[1];
  }
  if (typeof wanted !== "object" || wanted === null) return observed === wanted;
  return Object.entries(wanted).every(([key, value]) =>
    has((observed as Readonly<Record<string, unknown>> | undefined)?.[key], value),
  );
}

/** Targets by tag are replaced by the Nodes. */
export const hasTargets = ({ droplet_ids, tag }: ApiLoadBalancer, wanted: readonly number[]): boolean =>
  !tag && has(droplet_ids, wanted);

/** The name and the targets apart. */
export function hasSpec(
  balancer: ApiLoadBalancer,
  { name: _, droplet_ids: __, ...wanted }: BalancerSpec,
): boolean {
  return has({ ...presentSpec(balancer), size: balancer.size }, wanted);
}
