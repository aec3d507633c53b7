// Settings of Rancher operators: the Go manager's environment variables and file, and the names of problems.

import {
  applicable,
  type ConfigFile,
  declareReasons,
  flag,
  list,
  oneOf,
  type Problem,
  readGcfg,
  secret,
  settingError,
  settingWarning,
  text,
  url,
  type Values,
} from "#ccm";

const live = { reload: "live" } as const;
const apiKey = { file: { required: "the API key of the environment" } } as const;

const access = {
  url: url("URL of the Rancher API, such as http://rancher:8080/v2-beta/projects/1a5.", {
    example: "http://rancher:8080/v2-beta",
    required: true,
    env: "CATTLE_URL",
  }),
  "access-key": text("The access key of the API key.", { env: "CATTLE_ACCESS_KEY", ...apiKey, ...live }),
  "secret-key": secret("The secret key of the API key.", { env: "CATTLE_SECRET_KEY", ...apiKey }),
  "project-id": text(
    "Id of the environment, such as 1a5. Required if the key can read several environments.",
  ),
  "ca-file": text("A file with the API's CA certificates."),
  "insecure-skip-verify": flag("Do not verify the API's certificate.", { fallback: false }),
  "events-enabled": flag(
    "Follow the API's event socket, to detect changes before the next listing. If false, only listings show changes.",
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

const debug = flag("-v=6 logs requests.", { env: "RANCHER_CLIENT_DEBUG", ineffective: true });

export const config = { ...access, ...instances, ...loadBalancers, debug };
export type Settings = Values<typeof config>;

const otherVersion =
  "CATTLE_URL is the API of Rancher 2.x. Fairlead supports Rancher 1.6, whose API ends in /v2-beta";
const unverified = "the Rancher API's certificate is not verified. Set ca-file instead";

/** Checks that involve several settings. Pure. */
export function checkSettings(settings: Settings): readonly Problem[] {
  const { url, "project-id": project } = settings;
  const path = URL.canParse(url) ? new URL(url).pathname : "";
  const ofURL = /\/projects\/([^/]+)/.exec(path)?.[1];
  const two = `project-id is ${project}, but CATTLE_URL names ${ofURL}. Remove one of them`;
  return applicable(
    ofURL !== undefined && project !== undefined && ofURL !== project && settingError("project-id", two),
    /\/v3(\/|$)/.test(path) && settingError("url", otherVersion),
    settings["insecure-skip-verify"] && settingWarning("insecure-skip-verify", unverified),
  );
}

const names: Readonly<Record<string, string>> = {
  "cattle-url": "url",
  "cattle-access-key": "access-key",
  "cattle-secret-key": "secret-key",
};

/** Other names of the section Global are settings of Fairlead. */
export function readConfigFile(text: string): ConfigFile {
  return readGcfg(text, {
    sections: { Global: config },
    records: [],
    nameOf: (key) => names[key] ?? key,
    example: "cattle-url = http://rancher:8080",
  });
}

export const reasons = declareReasons({
  HostAgentDisconnected:
    "Rancher lost the connection to the host's agent. The Node stays. Start the agent, or remove the host from Rancher.",
  LoadBalancerFailed:
    "Rancher reports a load balancer error, such as a host port that is in use. Correct the cause; Fairlead then continues.",
});
