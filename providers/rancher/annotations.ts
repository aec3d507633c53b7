// Service annotations under service.rancher.io/. The Go manager has none.

import { type Field, flag, list, oneOf, text } from "#ccm";

export const protocolNames = ["tcp", "http", "https", "tls", "udp"] as const;
export type Protocol = (typeof protocolNames)[number];

/** The protocol of all ports, or of a single port. */
export interface Protocols {
  readonly all?: Protocol | undefined;
  readonly byPort: Readonly<Record<string, Protocol>>;
}

const protocolOf = (name: string): Protocol | undefined => protocolNames.find((one) => one === name);

function parseProtocols(raw: string): { readonly value: Protocols } | { readonly wrong: string } {
  const wrong = { wrong: JSON.stringify(raw.slice(0, 80)) };
  const byPort: Record<string, Protocol> = {};
  let all: Protocol | undefined;
  for (const part of raw.split(",")) {
    const [, port, name = ""] = /^(?:(\d{1,5})\s*=)?\s*([a-z]+)$/.exec(part.trim().toLowerCase()) ?? [];
    const protocol = protocolOf(name);
    if (protocol === undefined || (port === undefined && all !== undefined)) return wrong;
    if (port === undefined) all = protocol;
    else byPort[port] = protocol;
  }
  return { value: { all, byPort } };
}

const protocolField: Field<Protocols> = {
  text: "Protocol of all ports, or of single ports: http, or 80=http,443=https. Default: the protocol of the port.",
  expects: "tcp, http, https, tls or udp, or a list such as 80=http,443=https",
  parse: parseProtocols,
};

/** How many containers a load balancer runs. */
export type Scale = number | "global";

const scaleField: Field<Scale> = {
  text: "Number of load balancer containers, or global for one on each host. A change to or from global creates the load balancer again. Without it, a new load balancer has one, and an existing one keeps its number.",
  expects: "a number from 1 to 100, or global",
  parse: (raw) => {
    const value = raw.trim().toLowerCase();
    if (value === "global") return { value };
    const isNumber = /^\d{1,3}$/.test(value) && Number(value) >= 1 && Number(value) <= 100;
    return isNumber ? { value: Number(value) } : { wrong: JSON.stringify(raw.slice(0, 80)) };
  },
};

const selectorPattern = /^[\w./-]+=[\w./-]+(,\s*[\w./-]+=[\w./-]+)*$/;

const hostSelector: Field<string> = {
  text: "Labels of the hosts on which the load balancer runs, such as lb=true. A change creates the load balancer again.",
  expects: "labels such as lb=true,zone=a",
  parse: (raw) =>
    selectorPattern.test(raw.trim())
      ? { value: raw.trim().replaceAll(/\s/g, "") }
      : { wrong: JSON.stringify(raw.slice(0, 80)) },
};

export const annotations = {
  "lb-adopt": text(
    "Name or id, such as 1s12, of an existing load balancer that the Service takes over. Its rules and published ports are replaced.",
  ),
  "lb-scale": scaleField,
  "lb-host-selector": hostSelector,
  "lb-image": text(
    "Image of the load balancer. A change upgrades it: its containers are replaced one by one. If unset, an existing load balancer keeps its image.",
  ),
  "lb-protocol": protocolField,
  "lb-certificates": list("Names or ids of certificates for ports with https or tls."),
  "lb-default-certificate": text("Name or id of the certificate for clients without SNI."),
  "lb-proxy-protocol": flag("Send the PROXY protocol to the Nodes.", { fallback: false }),
  "lb-stickiness-cookie": text("Name of a cookie that keeps a client on the same Node. For http and https."),
  "lb-haproxy-config": text("Lines for haproxy.cfg, after those that Fairlead generates."),
  "lb-ip-mode": oneOf("The ipMode in the status. Default: Proxy with lb-proxy-protocol, otherwise VIP.", [
    "VIP",
    "Proxy",
  ]),
};
