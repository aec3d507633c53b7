// Finds the secure port of the manager that leads.

import { messageOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import type { Node } from "../../kube/objects.ts";
import { nodes } from "../../kube/resources.ts";
import type { Files } from "../../platform/files.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import type { Flags } from "../flags/flag-table.ts";
import type { Leadership } from "../leadership/judge-leases.ts";
import { leaseOf } from "../permissions.ts";
import { type ManagerAddress, NoAnswer } from "./ask-manager.ts";

function addressIn({ status }: Node): string | undefined {
  const addresses = status.addresses ?? [];
  return (addresses.find(({ type }) => type === "InternalIP") ?? addresses[0])?.address;
}

/** Undefined if it does not exist, or may not be read. */
function unlessUnreadable(error: unknown): undefined {
  if (!isKubeError(error, "not-found", "forbidden")) throw error;
}

/** The address of its pod or Node: `worker-1_1f0c…` is on the host `worker-1`. Undefined if neither is found. */
async function addressOf(
  api: KubeApi,
  identity: string,
  flags: Flags,
  signal: AbortSignal,
): Promise<string | undefined> {
  const host = identity.slice(0, Math.max(0, identity.lastIndexOf("_")));
  if (host === "") return undefined;
  const path = `/api/v1/namespaces/${leaseOf(flags).namespace}/pods/${encodeURIComponent(host)}`;
  const pod = await api.request({ verb: "get", resource: "pods", path }, signal).catch(unlessUnreadable);
  const { podIP } = (pod as { readonly status?: { readonly podIP?: unknown } } | undefined)?.status ?? {};
  if (typeof podIP === "string") return podIP;
  const node = await api.get(nodes, { name: host }, signal).catch(unlessUnreadable);
  return node && addressIn(node);
}

/** How to run a command with the settings of a manager in a pod. */
export const inPod = (program: string, command: string, flags: Flags): string =>
  `kubectl -n ${leaseOf(flags).namespace} exec POD -- ${program} ${command}`;

/** Credentials are sent to it, so it must be HTTPS. */
export function serverProblems(server: string | undefined): readonly Problem[] {
  if (server === undefined || (URL.canParse(server) && new URL(server).protocol === "https:")) return [];
  const text = `must be a URL such as https://localhost:10258, got ${JSON.stringify(server)}`;
  return [invalidFlag("server", text)];
}

/** Throws NoAnswer if no manager is known to lead, and a ConfigurationError for a CA file that cannot be read. */
export async function findManager(
  flags: Flags,
  { files }: { readonly files: Files },
  { api, own }: { readonly api: KubeApi; readonly own?: Leadership },
  signal: AbortSignal,
): Promise<ManagerAddress> {
  const { server, "server-ca-file": caFile, "secure-port": port } = flags;
  const ca = caFile === undefined ? undefined : await readCA(files, caFile);
  if (server !== undefined) return { url: new URL(server).origin, ca };
  const refuse = (why: string): never => {
    throw new NoAnswer(`cannot find the manager: ${why} Set --server, or use --offline`);
  };
  if (own === undefined) return refuse("--leader-elect is off, or the Lease cannot be read.");
  // Another program would get the credentials.
  if (own.holder === "" || own.kind === "other") return refuse(own.found?.problem ?? "");
  const address = await addressOf(api, own.holder, flags, signal);
  if (address === undefined) return refuse(`the leader ${own.holder} has no pod or Node of that name.`);
  const host = address.includes(":") ? `[${address}]` : address;
  // Its own certificate has no address of the machine.
  return { url: `https://${host}:${port}`, ca, serverName: "localhost" };
}

async function readCA(files: Files, path: string): Promise<string> {
  try {
    return await files.read(path);
  } catch (error) {
    throw new ConfigurationError([invalidFlag("server-ca-file", `cannot be read: ${messageOf(error)}`)]);
  }
}
