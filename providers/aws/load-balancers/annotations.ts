// Service annotations under service.beta.kubernetes.io/aws-load-balancer-.

import { entries, type Field, flag, integer, type NodeSelector, oneOf, parseCidr, text } from "#ccm";

export const prefix = "service.beta.kubernetes.io/aws-load-balancer-";

type Pairs = ReadonlyMap<string, string>;

/** Parses lists such as `a=1,b=,c`: a key without a value has an empty value, as in the Go manager. */
function readPairs(raw: string): Pairs {
  const parts = raw.split(",").map((part) => part.trim());
  const pairs = parts.map((part) => {
    const [key = "", ...value] = part.split("=");
    return [key.trim(), value.join("=").trim()] as const;
  });
  return new Map(pairs.filter(([key]) => key !== ""));
}

const pairsExpected = "a comma-separated list such as key=value,other=value";
const tags: Field<Pairs> = {
  text: "Further tags for everything that is created.",
  expects: pairsExpected,
  kind: "pairs",
  parse: (raw) => {
    const value = readPairs(raw);
    const reserved = [...value.keys()].find(
      (key) => key.startsWith("aws:") || key.startsWith("kubernetes.io/"),
    );
    return reserved === undefined ? { value } : { wrong: `the reserved key ${JSON.stringify(reserved)}` };
  },
};

/** The labels that a Node needs; an empty value means any. */
const nodeLabels: Field<NodeSelector> = {
  text: "Labels of the Nodes that are targets.",
  expects: pairsExpected,
  parse: (raw) => {
    const wanted = [...readPairs(raw)];
    const matches = (labels: Readonly<Record<string, string>>) =>
      wanted.every(([key, value]) => labels[key] !== undefined && (value === "" || labels[key] === value));
    return { value: { text: raw.trim(), matches } };
  },
};

export const preserveClientIP = "preserve_client_ip.enabled";
export const proxyProtocolV2 = "proxy_protocol_v2.enabled";

const targetGroupAttributes: Field<Pairs> = {
  text: "Attributes of target groups. Only for network load balancers.",
  expects: `a comma-separated list of ${preserveClientIP} and ${proxyProtocolV2}, each with =true or =false`,
  kind: "pairs",
  parse: (raw) => {
    const value = readPairs(raw);
    const wrong = [...value].find(
      ([key, set]) => ![preserveClientIP, proxyProtocolV2].includes(key) || !/^(true|false)$/.test(set),
    );
    return wrong === undefined ? { value } : { wrong: JSON.stringify(wrong.join("=")) };
  },
};

/**
 * Settings that AWS accepts only at creation, in the order of the subnets. Two lists are equal in any
 * order, because the cloud does not show the order.
 */
function atCreation(what: string, expects: string, isValid: (entry: string) => boolean): Field<Pairs> {
  return {
    text: `${what} Only for new network load balancers; one for each subnet, in their order.`,
    expects,
    whenChanged: "reject",
    parse: (raw) => {
      const value = new Map([...readPairs(raw)].map(([entry]) => [entry, ""]));
      const wrong = [...value.keys()].find((entry) => !isValid(entry));
      return wrong === undefined ? { value } : { wrong: JSON.stringify(wrong) };
    },
  };
}

/** Any value but "false" means internal, as in the Go manager: users write "true" and "0.0.0.0/0". */
const internal: Field<boolean> & { readonly fallback: false } = {
  text: "Whether the load balancer has private addresses only. Any value but false means yes.",
  expects: "true or false",
  fallback: false,
  whenChanged: "reject",
  parse: (raw) => ({ value: raw.trim() !== "false" }),
};

const healthPort: Field<number | "traffic-port"> = {
  text: "Checked port. Default: the node port, or the health check node port with externalTrafficPolicy: Local.",
  expects: "traffic-port or a port from 1 to 65535",
  parse: (raw) => {
    if (raw.trim() === "traffic-port") return { value: "traffic-port" };
    return integer("", { min: 1, max: 65_535 }).parse(raw);
  },
};

const matching = (what: string, expects: string, pattern: RegExp) =>
  entries(what, expects, (entry) => (pattern.test(entry) ? entry : undefined));
const groups = (what: string) =>
  matching(what, "a comma-separated list of ids such as sg-0123456789abcdef0", /^sg-[0-9a-z]+$/);

const no = { fallback: false };
const isPath = /^\/[\x21-\x7e]*$/;
const path: Field<string> = {
  text: "Path of HTTP and HTTPS health checks.",
  expects: "a path such as /healthz",
  parse: (raw) =>
    isPath.test(raw.trim()) ? { value: raw.trim() } : { wrong: JSON.stringify(raw.slice(0, 80)) },
};
const threshold = { min: 2, max: 10 };

/** Types that the AWS Load Balancer Controller serves. */
export const otherTypes = ["nlb-ip", "external"] as const;

export const annotations = {
  type: oneOf(
    "nlb is a network load balancer. The AWS Load Balancer Controller serves the types nlb-ip and external.",
    ["classic", "nlb", ...otherTypes],
    { fallback: "classic", whenChanged: "reject" },
  ),
  internal,
  subnets: entries(
    "Ids of the subnets, or values of their tag Name. Default: discovered.",
    "a comma-separated list",
    (one) => one,
  ),
  "ssl-cert": matching(
    "ARN of the certificate for TLS.",
    "an ARN such as arn:aws:acm:us-east-1:123456789012:certificate/1234",
    /^arn:\S+$/,
  ),
  "ssl-ports": entries(
    "Ports with TLS, by number or name. Default: *, which means all.",
    "a comma-separated list",
    (one) => one,
  ),
  "ssl-negotiation-policy": text("TLS policy. Default: the AWS default policy."),
  "backend-protocol": oneOf(
    "Protocol to the Nodes. Network load balancers know ssl only.",
    ["http", "https", "ssl", "tcp"],
    {
      anyCase: true,
    },
  ),
  "proxy-protocol": oneOf("* sends the PROXY protocol to the Nodes. Only for classic load balancers.", ["*"]),
  "access-log-enabled": flag("Whether to write access logs.", no),
  "access-log-emit-interval": oneOf("Minutes between access logs.", ["5", "60"]),
  "access-log-s3-bucket-name": text("S3 bucket of access logs."),
  "access-log-s3-bucket-prefix": text("Prefix of access logs in the bucket."),
  "connection-draining-enabled": flag("Whether targets that are removed finish their connections.", no),
  "connection-draining-timeout": integer("Seconds that draining targets get to finish their connections.", {
    min: 1,
    max: 3600,
  }),
  "connection-idle-timeout": integer(
    "Seconds until an idle connection ends.",
    { min: 1, max: 4000 },
    { fallback: 60 },
  ),
  "cross-zone-load-balancing-enabled": flag("Whether targets get traffic from all zones.", no),
  "security-groups": groups("Security groups of the load balancer, instead of one that Fairlead creates."),
  "extra-security-groups": groups("Further security groups. Only for classic load balancers."),
  "additional-resource-tags": tags,
  "healthcheck-protocol": oneOf("Protocol of health checks.", ["tcp", "http", "https", "ssl"], {
    anyCase: true,
  }),
  "healthcheck-port": healthPort,
  "healthcheck-path": path,
  "healthcheck-healthy-threshold": integer("Successes until a target is healthy.", threshold),
  "healthcheck-unhealthy-threshold": integer("Failures until a target is unhealthy.", threshold),
  "healthcheck-timeout": integer(
    "Seconds until a health check fails. No effect for network load balancers.",
    { min: 2, max: 120 },
  ),
  "healthcheck-interval": integer("Seconds between health checks.", { min: 5, max: 300 }),
  "eip-allocations": atCreation(
    "Elastic IP addresses.",
    "a comma-separated list of ids such as eipalloc-0123456789abcdef0",
    (one) => /^eipalloc-[0-9a-z]+$/.test(one),
  ),
  "private-ipv4-addresses": atCreation(
    "Private IPv4 addresses of internal load balancers.",
    "a comma-separated list of IPv4 addresses",
    (one) => !one.includes(":") && parseCidr(`${one}/32`) !== undefined,
  ),
  "target-group-attributes": targetGroupAttributes,
  "target-node-labels": nodeLabels,
};

export type Annotations = typeof annotations;

export const keyOf = (name: keyof Annotations & string): string => prefix + name;
