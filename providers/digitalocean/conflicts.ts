// Which annotations of a Service contradict each other, and which have no effect with its ports. Pure.

import {
  type DesiredWithoutTargets,
  errorProblem,
  type Field,
  type ProviderProblem,
  warningProblem,
} from "#ccm";
import { annotations, keyOf, type Name } from "./annotations.ts";
import type { Annotations } from "./balancer.ts";
import type { ApiRule } from "./resources.ts";

export type Member = DesiredWithoutTargets<Annotations>;

export function invalid(names: readonly [Name, ...Name[]], text: string): ProviderProblem {
  const advice = `Nothing of the load balancer is changed. Correct ${names.map(keyOf).join(", ")}.`;
  return errorProblem("InvalidAnnotation", `${text} ${advice}`, keyOf(names[0]));
}

const unused = (name: Name, why: string): ProviderProblem =>
  warningProblem("InvalidAnnotation", `${keyOf(name)} has no effect, because ${why}`, keyOf(name));

export const lists = ["http-ports", "tls-ports", "http2-ports"] as const;
export const isTls = (protocol: string): boolean => ["https", "http2", "http3"].includes(protocol);
const cookies = ["sticky-sessions-cookie-name", "sticky-sessions-cookie-ttl"] as const;

export function conflictsIn({ settings, sourceRanges }: Member): readonly ProviderProblem[] {
  const { "size-slug": size, "size-unit": unit = 0, "sticky-sessions-type": type, network } = settings;
  const managed = "kubernetes.digitalocean.com/firewall-managed";
  const problems: ProviderProblem[] = [];
  if (network === "INTERNAL" && settings["network-stack"] === "DUALSTACK")
    problems.push(invalid(["network-stack", "network"], "Internal load balancers have no IPv6."));
  if (size !== undefined && unit > 0)
    problems.push(invalid(["size-slug", "size-unit"], "The size is set twice."));
  if (type === "cookies" && cookies.some((name) => settings[name] === undefined))
    problems.push(invalid(cookies, "Sticky sessions need a name and a lifetime of the cookie."));
  if (!settings[managed]) problems.push(unused(managed, "it is for Services of type NodePort. Remove it."));
  if (sourceRanges !== undefined && settings["allow-rules"] !== undefined)
    problems.push(unused("allow-rules", "the Service has source ranges. Remove it."));
  if (settings["healthcheck-protocol"] === "tcp" && settings["healthcheck-path"] !== undefined)
    problems.push(unused("healthcheck-path", "checks with the protocol tcp have no path. Remove it."));
  return problems;
}

const ofHTTP = ["sticky-sessions-type", "enable-backend-keepalive", "http-idle-timeout-seconds"] as const;
export const ofTLS = ["certificate-id", "certificate-name", "tls-passthrough"] as const;

/** Settings that have no effect with the rules of a load balancer that terminates connections. */
export function unusedWith(
  rules: readonly ApiRule[],
  { settings, ports }: Member,
): readonly ProviderProblem[] {
  const problems: ProviderProblem[] = [];
  const check = (isUsed: boolean, names: readonly Name[], why: string) => {
    const isSet = (name: Name) => settings[name] !== (annotations[name] as Field<unknown>).fallback;
    if (!isUsed) problems.push(...names.filter(isSet).map((name) => unused(name, why)));
  };
  for (const name of ["http3-port", ...lists] as const) {
    const isTCP = (one: number) => ports.some(({ port, protocol }) => port === one && protocol === "TCP");
    const other = [settings[name] ?? []].flat().filter((port) => !isTCP(port));
    check(other.length === 0, [name], `no TCP port of the Service is ${other.join(", ")}. Correct it.`);
  }
  const has = (port: number, ...protocols: readonly string[]) =>
    rules.some((rule) => rule.entry_port === port && protocols.includes(rule.entry_protocol));
  const isHTTP = ({ entry_protocol: name, tls_passthrough }: ApiRule) =>
    !tls_passthrough && !["tcp", "udp"].includes(name);
  const redirects = has(80, "http") && has(443, "https", "http2");
  const toRedirect = "it redirects port 80 with the protocol http to port 443 with https or http2. Add them.";
  const usesTLS = rules.some((rule) => isTls(rule.entry_protocol));
  check(usesTLS, ofTLS, `no port uses TLS. Set ${keyOf("tls-ports")}.`);
  check(rules.some(isHTTP), ofHTTP, `the load balancer reads no HTTP. Set ${keyOf("http-ports")}.`);
  check(redirects, ["redirect-http-to-https"], toRedirect);
  return problems;
}
