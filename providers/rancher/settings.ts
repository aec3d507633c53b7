// The settings of Rancher: the environment variables of the Go manager, and what it fixes in code.

import { flag, list, oneOf, secret, text } from "#ccm";

const live = { reload: "live" } as const;

const access = {
  url: text("URL of the Rancher API, such as http://rancher:8080/v2-beta/projects/1a5.", {
    required: true,
    env: "CATTLE_URL",
  }),
  "access-key": text("The access key of the API key.", { env: "CATTLE_ACCESS_KEY", ...live }),
  "secret-key": secret("The secret key of the API key.", { env: "CATTLE_SECRET_KEY" }),
  "access-key-file": text("A file with the access key. A changed file is read again."),
  "secret-key-file": text("A file with the secret key. A changed file is read again."),
  "project-id": text(
    "Id of the environment, such as 1a5. Required if the key can read several environments.",
  ),
  "ca-file": text("A file with the CA certificates of the API."),
  "insecure-skip-verify": flag("Do not verify the certificate of the API.", { fallback: false }),
  "events-enabled": flag(
    "Notice changes by the event socket of the API, before the next listing. Without it, only listings show them.",
    { fallback: true },
  ),
};

const instances = {
  addresses: oneOf("How the addresses of a host are written to its Node.", ["both", "external", "internal"], {
    fallback: "both",
    ...live,
  }),
  "node-domains": list(
    "Domains of Nodes whose host has a short name: host web-1 is then found as web-1.example.com. Without it: any domain, as with the Go manager.",
    live,
  ),
  "zone-label": text("Label of hosts with the zone. Without it: FailureDomain1.", live),
  "region-label": text("Label of hosts with the region. Without it: Region1.", live),
  "instance-type-label": text("Label of hosts with the instance type. Without it: rancher.", live),
  "node-labels": list(
    "Labels of hosts that their Nodes get too, by name, or by prefix with * at the end: team,example.com/*. Those with a slash change with the host; others are set if the Node lacks them.",
  ),
  "inactive-is-shutdown": flag("Give Nodes of inactive hosts the shutdown taint.", {
    fallback: false,
    ...live,
  }),
  "api-ids": flag("Also recognize provider ids with the API id of a host, such as rancher://1h5.", {
    fallback: false,
  }),
};

const loadBalancers = {
  "load-balancers-enabled": flag("Manage load balancers.", { fallback: true }),
  "load-balancers-stack": text("Name of the stack with the load balancers.", {
    fallback: "kubernetes-loadbalancers",
  }),
  "load-balancers-image": text(
    "Image of new load balancers, such as rancher/lb-service-haproxy:v0.9.14. Default: the Rancher setting lb.instance.image.",
    live,
  ),
};

const withoutEffect = {
  debug: flag("No effect: -v=6 logs requests.", { env: "RANCHER_CLIENT_DEBUG" }),
};

export const config = { ...access, ...instances, ...loadBalancers, ...withoutEffect };
