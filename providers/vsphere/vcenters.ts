// The vCenters that the settings name, each completed from [Global] as the Go manager does. Pure.

import type { Secret, SecretName } from "#ccm";
import type { Family } from "./addresses.ts";
import type { Settings, VCenterSettings } from "./settings.ts";

export interface VCenter {
  /** The name in messages, in metrics, and of the source. */
  readonly name: string;
  readonly server: string;
  /** The URL with scheme and port, without a path. Not a URL if `server` is invalid. */
  readonly base: string;
  readonly skipsVerification: boolean;
  readonly caFile: string | undefined;
  readonly thumbprint: string | undefined;
  readonly datacenters: readonly string[];
  readonly families: readonly Family[];
  readonly user: string | undefined;
  readonly password: Secret | undefined;
  /** The Secret with the vCenter's credentials. */
  readonly secret: SecretName | undefined;
}

const defaultPort = 443;

function secretOf({
  "secret-name": name,
  "secret-namespace": namespace,
}: Pick<Settings, "secret-name" | "secret-namespace">): SecretName | undefined {
  return name === undefined || namespace === undefined ? undefined : { namespace, name };
}

/** A server may be a URL, for a proxy or a simulator. */
function baseOf(server: string, port: number | undefined): string {
  if (/^https?:\/\//i.test(server)) return URL.canParse(server) ? new URL(server).origin : "";
  const host = server.includes(":") && !server.startsWith("[") ? `[${server}]` : server;
  return `https://${host}:${port ?? defaultPort}`;
}

function complete(own: Omit<VCenterSettings, "server">, server: string, global: Settings): VCenter {
  return {
    name: own.name,
    server,
    base: baseOf(server, own.port ?? global.port),
    skipsVerification: own["insecure-flag"] || global["insecure-flag"],
    caFile: own["ca-file"] ?? global["ca-file"],
    thumbprint: own.thumbprint ?? global.thumbprint,
    datacenters: own.datacenters ?? global.datacenters ?? [],
    families: own["ip-family"] ?? global["ip-family"] ?? ["ipv4"],
    user: own.user ?? global.user,
    password: own.password ?? global.password,
    secret: secretOf(own) ?? secretOf(global),
  };
}

/** The server of [Global] is a vCenter as well, unless a section has its name. */
export function vcentersOf(settings: Settings): readonly VCenter[] {
  const { "virtual-centers": sections, server } = settings;
  const own = sections.map((one) => complete(one, one.server ?? one.name, settings));
  if (server === undefined || sections.some(({ name }) => name === server)) return own;
  const { "insecure-flag": insecure } = settings;
  return [...own, complete({ ...settings, name: server, "insecure-flag": insecure }, server, settings)];
}
