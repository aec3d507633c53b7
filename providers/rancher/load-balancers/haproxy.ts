// The part of haproxy.cfg for what the API has no field for: source ranges, session affinity and the PROXY protocol. Pure.

import { type Cidr, parseCidr } from "#ccm";
import type { Desired } from "./model.ts";

/** The name of the backend of a port, if the port needs a section of its own. */
export function backendName(
  { settings, sessionAffinitySeconds }: Pick<Desired, "settings" | "sessionAffinitySeconds">,
  port: number,
): string | undefined {
  return settings["lb-proxy-protocol"] || sessionAffinitySeconds !== undefined ? `port-${port}` : undefined;
}

/** One line for all ranges: the configuration is read back from it. */
const rangesLine = /^ {4}acl fairlead_ranges src (.+)$/m;

export function haproxyConfig(desired: Desired, ports: readonly number[]): string {
  const { settings, sourceRanges, sessionAffinitySeconds } = desired;
  const sections = ports.flatMap((port) => {
    const frontend =
      sourceRanges === undefined
        ? []
        : [
            `frontend ${port}`,
            `    acl fairlead_ranges src ${sourceRanges.join(" ")}`,
            "    tcp-request connection reject if !fairlead_ranges",
          ];
    const name = backendName(desired, port);
    const affinity =
      sessionAffinitySeconds === undefined
        ? []
        : [`    stick-table type ip size 200k expire ${sessionAffinitySeconds}s`, "    stick on src"];
    const server = settings["lb-proxy-protocol"] ? ["    server $IP send-proxy"] : [];
    return [...frontend, ...(name === undefined ? [] : [`backend ${name}`, ...affinity, ...server])];
  });
  const own = settings["lb-haproxy-config"];
  return [...sections, ...(own === undefined ? [] : [own])].join("\n");
}

export function rangesIn(config: string | null | undefined): readonly Cidr[] | "unspecified" {
  const [, text] = rangesLine.exec(config ?? "") ?? [];
  if (text === undefined) return "unspecified";
  return text.split(" ").flatMap((range) => parseCidr(range) ?? []);
}

export const sendsProxy = (config: string | null | undefined): boolean =>
  /^ {4}server \$IP send-proxy$/m.test(config ?? "");
