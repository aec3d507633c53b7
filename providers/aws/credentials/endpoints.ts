// The endpoints of AWS's services by region, and the overrides in `[ServiceOverride]`. Pure.

import type { Endpoint, Service } from "../api/query-api.ts";

/** Custom endpoints of services, by region. */
export interface Override {
  /** The AWS service name. */
  readonly service: string;
  readonly region: string;
  readonly url: string;
  readonly "signing-region": string;
  readonly "signing-name"?: string | undefined;
}

/** The domains of AWS's partitions, by the beginning of their regions. */
const domains = [
  ["cn-", "amazonaws.com.cn"],
  ["us-isob-", "sc2s.sgov.gov"],
  ["us-isof-", "csp.hci.ic.gov"],
  ["eu-isoe-", "cloud.adc-e.uk"],
  ["us-iso-", "c2s.ic.gov"],
  ["eusc-", "amazonaws.eu"],
] as const;

function domainOf(region: string): string {
  return domains.find(([start]) => region.startsWith(start))?.[1] ?? "amazonaws.com";
}

export function endpointOf(
  { name, id }: Pick<Service<string>, "name" | "id">,
  region: string,
  { overrides, url }: { readonly overrides: readonly Override[]; readonly url?: string | undefined },
): Endpoint {
  const own = overrides.find((one) => one.service === name && one.region === region);
  return {
    url: own?.url ?? url ?? `https://${id}.${region}.${domainOf(region)}`,
    signingName: own?.["signing-name"] ?? id,
    signingRegion: own?.["signing-region"] ?? region,
  };
}
