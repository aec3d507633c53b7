// Settings of DigitalOcean operators: the Go manager's environment variables, with its defaults, and the names of problems.

import {
  applicable,
  type Call,
  collect,
  declareReasons,
  didYouMean,
  errorProblem,
  ifFound,
  list,
  operatorDefaults,
  type Problem,
  secret,
  settingError,
  text,
  url,
  type Values,
} from "#ccm";
import { annotations } from "./annotations.ts";
import type { DigitalOceanApi } from "./api.ts";

const ineffective = (what: string, env: string) => text(what, { env, ineffective: true });

const publicEndpoint = "https://api.digitalocean.com";
const defaults = operatorDefaults(annotations, "");

export const config = {
  token: secret("The API token, with read and write access.", {
    env: "DO_ACCESS_TOKEN",
    file: { required: "the API token" },
  }),
  endpoint: url("URL of the DigitalOcean API.", { fallback: publicEndpoint, env: "DO_OVERRIDE_URL" }),
  "cluster-id": text("Id of the cluster: load balancers get the tag k8s:<id>.", { env: "DO_CLUSTER_ID" }),
  "vpc-id": text("VPC of new load balancers. Default: the default VPC of the region.", {
    env: "DO_CLUSTER_VPC_ID",
  }),
  region: text("Region of new load balancers. Default: the region of the Nodes.", { env: "REGION" }),
  "firewall-name": text("Firewall with the ports that Services open on Nodes.", {
    env: "PUBLIC_ACCESS_FIREWALL_NAME",
  }),
  "firewall-tags": list("Tags of the droplets that the firewall protects.", {
    env: "PUBLIC_ACCESS_FIREWALL_TAGS",
  }),
  ...defaults,
  "default-lb-type": { ...defaults["default-lb-type"], fallback: "REGIONAL_NETWORK" } as const,
  // Accepted, because manifests of the Go manager set them.
  "rate-limit-qps": ineffective("Fairlead stays below the limit of the API.", "DO_API_RATE_LIMIT_QPS"),
  "debug-address": ineffective("The secure port has /healthz and /readyz.", "DEBUG_ADDR"),
  "metrics-address": ineffective("Metrics are on the secure port.", "METRICS_ADDR"),
};

export type Settings = Values<typeof config>;

const halfFirewall =
  "PUBLIC_ACCESS_FIREWALL_NAME and PUBLIC_ACCESS_FIREWALL_TAGS are needed together, and only one of them is set. Set both, or none to keep no firewall.";

export function checkConfig(settings: Settings): readonly Problem[] {
  const { "firewall-name": name, "firewall-tags": tags = [] } = settings;
  return applicable(
    (name === undefined) !== (tags.length === 0) && settingError("firewall-name", halfFirewall),
  );
}

/** Whether the cloud has the region and the VPC of the settings. */
export async function checkWithCloud(
  api: DigitalOceanApi,
  { region, "vpc-id": vpc }: Settings,
  call: Call,
): Promise<readonly Problem[]> {
  const so =
    "No load balancer is created until this is corrected; existing load balancers keep their settings.";
  const slugs = region === undefined ? [] : (await collect(api.regions(call))).map(({ slug }) => slug);
  const nearest = didYouMean(region ?? "", slugs);
  const hint = nearest ? `Did you mean ${nearest}?` : `The regions are ${slugs.toSorted().join(", ")}.`;
  const unknown = `REGION is ${JSON.stringify(region)}, which DigitalOcean does not have. ${hint} ${so}`;
  const missing = `DO_CLUSTER_VPC_ID is ${JSON.stringify(vpc)}, which the account does not have. ${so}`;
  const hasVPC = vpc === undefined || (await ifFound(api.vpc(vpc, call))) !== undefined;
  return applicable(
    region !== undefined && !slugs.includes(region) && errorProblem(reasons.RegionUnknown, unknown, "region"),
    !hasVPC && errorProblem("MissingCloudObject", missing, "vpc-id"),
  );
}

/** The reasons of problems that only DigitalOcean has. */
export const reasons = declareReasons({
  FirewallForeign:
    "The firewall with the configured name has different tags. Correct the tags in the cloud, or the settings.",
  LoadBalancerConfigError:
    "The Nodes do not support the network stack. Change the annotation network-stack, type or network.",
  LoadBalancerErrored:
    "The cloud could not set up the load balancer. Delete it in the cloud, or contact DigitalOcean support.",
  RegionUnknown: "The Nodes are in several regions, or REGION does not exist. Set or correct REGION.",
});
