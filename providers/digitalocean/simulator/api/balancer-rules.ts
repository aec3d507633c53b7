// The API's validation of a load balancer. Its messages are only examples, except those for names and for changes that are processed.

import { parseCidr, parseIp } from "#ccm";
import { Refused } from "#ccm/testing";
import type { Account } from "../state/account.ts";
import type { Balancer, BalancerRequest, ForwardingRule } from "../state/balancers.ts";
import { findRegion } from "../state/catalog.ts";

function require(isValid: boolean, message: string): void {
  if (!isValid) throw new Refused(422, message);
}

const isTls = (protocol: string) => ["https", "http2", "http3"].includes(protocol);
const transport = (protocol: string) => (protocol === "udp" || protocol === "http3" ? "udp" : "tcp");

function checkRule(rule: ForwardingRule, { type, forwarding_rules }: Balancer): void {
  const { entry_protocol, entry_port, target_protocol, target_port, certificate_id, tls_passthrough } = rule;
  const name = `forwarding rule ${entry_protocol}:${entry_port}`;
  if (type === "REGIONAL_NETWORK") {
    const isPlain = [entry_protocol, target_protocol].every((each) => each === "tcp" || each === "udp");
    require(isPlain, `${name}: network load balancers have only the protocols tcp and udp`);
    require(entry_port ===
      target_port, `${name}: entry port and target port of a network load balancer differ`);
  }
  require((entry_protocol === "udp") ===
    (target_protocol === "udp"), `${name}: udp needs the target protocol udp`);
  const secrets = Number(certificate_id !== "") + Number(tls_passthrough);
  if (isTls(entry_protocol))
    require(secrets === 1, `${name}: needs exactly one of certificate_id and tls_passthrough`);
  else require(secrets === 0, `${name}: certificate_id and tls_passthrough need a protocol with TLS`);
  if (entry_protocol === "http3") {
    require(!tls_passthrough, `${name}: http3 needs a certificate`);
    const others = forwarding_rules.map((each) => each.entry_protocol);
    require(others.some(
      (each) => each === "https" || each === "http2",
    ), `${name}: http3 needs an https or http2 rule`);
  }
}

function checkRules(balancer: Balancer): void {
  const { forwarding_rules, type } = balancer;
  require(forwarding_rules.length > 0 || type === "GLOBAL", "forwarding_rules must have at least one entry");
  for (const rule of forwarding_rules) checkRule(rule, balancer);
  const ports = forwarding_rules.map((rule) => `${transport(rule.entry_protocol)}:${rule.entry_port}`);
  require(new Set(ports).size === ports.length, "forwarding rules must have different entry ports");
}

function isFirewallEntry(entry: string): boolean {
  const [, kind, source = ""] = /^(ip|cidr):(.+)$/.exec(entry) ?? [];
  if (kind === undefined) return false;
  return (kind === "ip" ? parseIp(source) : parseCidr(source)) !== undefined;
}

/** Throws unless this load balancer can exist. */
export function checkBalancer(account: Account, balancer: Balancer): void {
  const { id, name, region, type, droplet_ids, tag, sticky_sessions, firewall, network, network_stack } =
    balancer;
  require(/^[A-Za-z0-9][A-Za-z0-9.-]{0,254}$/.test(name) && !name.endsWith("-"), "name is invalid");
  const others = account.balancers.list().filter((other) => other.id !== id);
  require(!others.some((other) => other.name === name), "name is not unique");
  if (type !== "GLOBAL") require(findRegion(region) !== undefined, "region is invalid");
  require(tag === "" || droplet_ids.length === 0, "droplet_ids and tag are mutually exclusive");
  for (const droplet of droplet_ids) {
    const known = account.droplets.get(droplet);
    const text = account.refusalOfDroplets ?? `droplet ${droplet} is not in region ${region}`;
    require(known !== undefined && known.region === region, text);
  }
  checkRules(balancer);
  for (const { certificate_id } of balancer.forwarding_rules) {
    const isKnown = certificate_id === "" || account.certificates.get(certificate_id) !== undefined;
    require(isKnown, `certificate ${certificate_id} not found`);
  }
  const hasCookie = sticky_sessions.cookie_name !== "" && sticky_sessions.cookie_ttl_seconds > 0;
  require(sticky_sessions.type === "none" ||
    hasCookie, "sticky sessions need cookie_name and cookie_ttl_seconds");
  const invalid = [...firewall.allow, ...firewall.deny].find((entry) => !isFirewallEntry(entry));
  require(invalid === undefined, `firewall rule ${invalid} is invalid`);
  require(network === "EXTERNAL" || network_stack === "IPV4", "internal load balancers have no IPv6");
}

/** Throws if a replacement changes a setting that is fixed for the life of a load balancer. */
export function checkChange(before: Balancer, request: BalancerRequest): void {
  for (const name of ["type", "network", "network_stack", "region"] as const) {
    const isSame = (request[name] ?? "") === "" || request[name] === before[name];
    require(isSame, `${name} cannot be updated`);
  }
}
