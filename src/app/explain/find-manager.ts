// Finds the manager that leads, through the Lease, and its secure port.
import { milliseconds, minutes } from "../../core/brand.ts";
import { formatDuration } from "../../core/duration.ts";
import { messageOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import { holderOf } from "../../kube/leader-election/lease-record.ts";
import type { Lease, Node } from "../../kube/objects.ts";
import { nodes } from "../../kube/resources.ts";
import type { Files } from "../../platform/files.ts";
import { readLease } from "../cleanup/cluster-state.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import type { Flags } from "../flags/flag-table.ts";
import { observerText } from "../leadership/replica-identity.ts";
import { leaseOf } from "../permissions.ts";
import { type ManagerAddress, NoAnswer } from "./ask-manager.ts";

export interface Leader {
  readonly identity: string;
  /** The address of its pod or Node; undefined if neither is found. */
  readonly address: string | undefined;
}

/** `worker-1_1f0c…` is on the host `worker-1`. */
export const hostOf = (identity: string): string => identity.slice(0, Math.max(0, identity.lastIndexOf("_")));

function addressIn({ status }: Node): string | undefined {
  const addresses = status.addresses ?? [];
  return (addresses.find(({ type }) => type === "InternalIP") ?? addresses[0])?.address;
}

function podIPOf(pod: unknown): string | undefined {
  const { status } = (pod ?? {}) as { readonly status?: { readonly podIP?: unknown } };
  return typeof status?.podIP === "string" ? status.podIP : undefined;
}

type Readable = Pick<KubeApi, "get" | "request">;

/** Undefined if it does not exist, or may not be read. */
function unlessUnreadable(error: unknown): undefined {
  if (!isKubeError(error, "not-found", "forbidden")) throw error;
}

/** Undefined if no replica leads, or the Lease cannot be read. */
export async function findLeader(
  api: Readable,
  flags: Flags,
  signal: AbortSignal,
): Promise<Leader | undefined> {
  const lease = await readLease(api, flags, signal).catch(unlessUnreadable);
  const identity = lease === undefined ? "" : holderOf(lease);
  if (identity === "") return undefined;
  const host = hostOf(identity);
  if (host === "") return { identity, address: undefined };
  const path = `/api/v1/namespaces/${leaseOf(flags).namespace}/pods/${encodeURIComponent(host)}`;
  const pod = await api.request({ verb: "get", resource: "pods", path }, signal).catch(unlessUnreadable);
  const address = podIPOf(pod);
  if (address !== undefined) return { identity, address };
  const node = await api.get(nodes, { name: host }, signal).catch(unlessUnreadable);
  return { identity, address: node && addressIn(node) };
}

/** How to run a command with the settings of a manager in a pod. */
export const inPod = (program: string, command: string, flags: Flags): string =>
  `kubectl -n ${leaseOf(flags).namespace} exec POD -- ${program} ${command}`;

/** The clocks of two machines may differ by so much. */
const clockSkew = minutes(1);
const whatToDo =
  "Nothing is changed in the cloud or the cluster until a manager leads. Check that its pods or its unit run, and read their logs.";

/** Undefined if managers with these flags use no Lease, or if it may not be read. `now` is the wall clock of this machine. */
export async function leadershipText(
  api: Readable,
  flags: Flags,
  now: number,
  signal: AbortSignal,
): Promise<{ readonly isHeld: boolean; readonly text: string } | undefined> {
  if (!flags["leader-elect"]) return undefined;
  let lease: Lease | undefined;
  try {
    lease = await readLease(api, flags, signal);
  } catch (error) {
    if (isKubeError(error, "forbidden")) return undefined;
    throw error;
  }
  const { namespace, name: bare } = leaseOf(flags);
  const name = `${namespace}/${bare}`;
  const holder = lease === undefined ? "" : holderOf(lease);
  if (lease !== undefined && holder !== "") {
    const { renewTime, leaseDurationSeconds = 0 } = lease.spec ?? {};
    const age = now - Date.parse(renewTime ?? "");
    const isHeld = !(age > leaseDurationSeconds * 1000 + clockSkew);
    const text = isHeld
      ? `The leader is ${holder}, which renewed its Lease at ${renewTime ?? "an unknown time"}.`
      : `No manager leads: ${holder} renewed the Lease last at ${renewTime}, ${formatDuration(milliseconds(Math.round(age / 1000) * 1000))} ago by the clock of this machine. ${whatToDo}`;
    const observer = isHeld ? observerText(holder, name) : undefined;
    return observer === undefined ? { isHeld, text } : { isHeld: false, text: observer };
  }
  return {
    isHeld: false,
    text: `No manager leads: the Lease ${name} ${lease === undefined ? "does not exist" : "has no holder"}. ${whatToDo}`,
  };
}

/** Credentials are sent to it, so it must be HTTPS. */
export function serverProblems(server: string | undefined): readonly Problem[] {
  if (server === undefined || (URL.canParse(server) && new URL(server).protocol === "https:")) return [];
  const text = `must be a URL such as https://localhost:10258, got ${JSON.stringify(server)}`;
  return [invalidFlag("server", text)];
}

/** Throws NoAnswer if no manager leads, and a ConfigurationError for a CA file that cannot be read. */
export async function findManager(
  flags: Flags,
  { files }: { readonly files: Files },
  connect: () => Promise<{ readonly api: KubeApi }>,
  signal: AbortSignal,
): Promise<ManagerAddress> {
  const { server, "server-ca-file": caFile, "secure-port": port } = flags;
  const ca = caFile === undefined ? undefined : await readCA(files, caFile);
  if (server !== undefined) return { url: new URL(server).origin, ca };
  const { api } = await connect();
  const leader = await findLeader(api, flags, signal);
  if (leader?.address === undefined) {
    const who =
      leader === undefined
        ? "no replica holds the Lease, or it cannot be read"
        : `the leader ${leader.identity} has no pod or Node of that name`;
    throw new NoAnswer(`cannot find the manager: ${who}. Set --server, or use --offline`);
  }
  const host = leader.address.includes(":") ? `[${leader.address}]` : leader.address;
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
