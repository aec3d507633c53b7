// Finds the secure port of the leading manager, and queries it with the credentials of the kubeconfig.

import { ConfigurationError } from "../../app/configuration/configuration-error.ts";
import { invalidFlag } from "../../app/flags/flag-problems.ts";
import type { Flags } from "../../app/flags/flag-table.ts";
import { connectionSource } from "../../app/kube-client.ts";
import type { LeaseLeader } from "../../app/leadership/judge-leases.ts";
import { type Operator, patienceOf } from "../../app/operator.ts";
import { leaseOf } from "../../app/permissions.ts";
import { defined } from "../../core/defined.ts";
import { describeError, isTlsCode, messageOf, runtimeCodeOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { type Connection, openConnection } from "../../kube/connection/connection.ts";
import { undefinedIf } from "../../kube/errors/kube-error.ts";
import { readStatus } from "../../kube/errors/status-error.ts";
import type { Node } from "../../kube/objects.ts";
import { nodes } from "../../kube/resources.ts";
import type { Files } from "../../platform/files.ts";
import { withDeadline } from "../../runtime/deadline.ts";
import type { NamedObject } from "./description.ts";
import type { ExplainAnswer } from "./explain-text.ts";

export interface ManagerAddress {
  /** The origin of the secure port. */
  readonly url: string;
  /** PEM. If undefined, the system's authorities are trusted. */
  readonly ca: string | undefined;
  /** The name in the certificate, if it differs from the host of the URL. */
  readonly serverName?: string;
}

export interface ManagerAnswer
  extends Pick<ExplainAnswer, "objects" | "notFound" | "noLeader" | "otherLeader"> {
  readonly identity: string;
  readonly leads: boolean;
}

/** Why there is no answer, and the remedy. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

function refusalText(url: string, status: number, body: string): string {
  const said = readStatus(body)?.message ?? body.slice(0, 200);
  if (status === 401)
    return `the manager at ${url} did not accept the credentials of the kubeconfig (401). It accepts tokens and client certificates of its own cluster; select that cluster with --context or --kubeconfig`;
  if (status === 403)
    return `the manager at ${url} refused the request (${said}). Grant the verb get on the path /debug/explain; docs/endpoints.md has a ClusterRole`;
  if (status === 404)
    return `the manager at ${url} has no page /debug/explain, so it is older than this executable, or another program`;
  return `the manager at ${url} answered ${status}: ${said}`;
}

function unreachableText(url: string, error: unknown): string {
  const why = describeError(error);
  const hint = isTlsCode(runtimeCodeOf(error))
    ? "set --server-ca-file to the CA of its certificate; for a generated one that is cloud-controller-manager-ca.crt in its --cert-dir"
    : "check that the manager runs, and its address (ss -ltnp, as root, names the program at the port), or use kubectl port-forward and --server=https://localhost:10258";
  return `cannot reach the manager at ${url} (${why}); ${hint}`;
}

function isAnswer(value: unknown): value is ManagerAnswer {
  return typeof value === "object" && value !== null && "objects" in value && Array.isArray(value.objects);
}

function addressIn({ status }: Node): string | undefined {
  const addresses = status.addresses ?? [];
  return (addresses.find(({ type }) => type === "InternalIP") ?? addresses[0])?.address;
}

/** The address of the leader's pod or Node: `worker-1_1f0c…` is on the host `worker-1`. Undefined if neither is found. */
async function addressOf(
  api: KubeApi,
  identity: string,
  flags: Flags,
  signal: AbortSignal,
): Promise<string | undefined> {
  const host = identity.slice(0, Math.max(0, identity.lastIndexOf("_")));
  if (host === "") return undefined;
  const path = `/api/v1/namespaces/${leaseOf(flags).namespace}/pods/${encodeURIComponent(host)}`;
  const unlessUnreadable = undefinedIf("not-found", "forbidden");
  const pod = await api.request({ verb: "get", resource: "pods", path }, signal).catch(unlessUnreadable);
  const { podIP } = (pod as { readonly status?: { readonly podIP?: unknown } } | undefined)?.status ?? {};
  if (typeof podIP === "string") return podIP;
  const node = await api.get(nodes, { name: host }, signal).catch(unlessUnreadable);
  return node && addressIn(node);
}

/** How to run a command with the settings of a manager in a pod. */
export const inPod = (program: string, command: string, flags: Flags): string =>
  `kubectl -n ${leaseOf(flags).namespace} exec POD -- ${program} ${command}`;

/** The URL must be HTTPS, because credentials are sent to it. */
export function serverProblems(server: string | undefined): readonly Problem[] {
  if (server === undefined || (URL.canParse(server) && new URL(server).protocol === "https:")) return [];
  const text = `must be a URL such as https://localhost:10258, got ${JSON.stringify(server)}`;
  return [invalidFlag("server", text)];
}

/** Throws NoAnswer if no manager is known to lead, and a ConfigurationError for a CA file that cannot be read. */
export async function findManager(
  { settings: { flags }, platform: { files }, signal }: Operator,
  { api, own }: { readonly api: KubeApi; readonly own?: LeaseLeader },
): Promise<ManagerAddress> {
  const { server, "server-ca-file": caFile, "secure-port": port } = flags;
  const ca = caFile === undefined ? undefined : await readCA(files, caFile);
  if (server !== undefined) return { url: new URL(server).origin, ca };
  const refuse = (why: string): never => {
    throw new NoAnswer(`cannot find the manager: ${why} Set --server, or use --offline`);
  };
  if (own === undefined) return refuse("--leader-elect is off, or the Lease cannot be read.");
  // Another program would receive the credentials.
  if (own.holder === "" || own.kind === "other") return refuse(own.found?.text ?? "");
  const address = await addressOf(api, own.holder, flags, signal);
  if (address === undefined) return refuse(`the leader ${own.holder} has no pod or Node of that name.`);
  const host = address.includes(":") ? `[${address}]` : address;
  // The manager's generated certificate does not contain the machine's address.
  return { url: `https://${host}:${port}`, ca, serverName: "localhost" };
}

async function readCA(files: Files, path: string): Promise<string> {
  try {
    return await files.read(path);
  } catch (error) {
    throw new ConfigurationError([invalidFlag("server-ca-file", `cannot be read: ${messageOf(error)}`)]);
  }
}

/** Connects as the kubeconfig describes. */
export const connectionOf = ({ settings, platform, signal }: Operator): Promise<Connection> =>
  openConnection(connectionSource(settings.flags, platform.environment), platform, signal);

/** Reads one page of a server with the credentials of the connection. Throws NoAnswer if there is none. */
export async function readPage(
  { url, ca, serverName }: ManagerAddress,
  page: string,
  operator: Operator,
  connection: Pick<Connection, "access">,
): Promise<{ readonly status: number; readonly body: string }> {
  const { platform, signal } = operator;
  const send = async (stop: AbortSignal) => {
    const { headers, tls } = await connection.access(stop);
    const { cert, key } = tls ?? {};
    const response = await platform.transport(
      {
        method: "GET",
        url: `${url}${page}`,
        headers: { ...headers, accept: "application/json, */*" },
        tls: defined({ ca, cert, key, serverName }),
      },
      stop,
    );
    return { status: response.status, body: await response.text() };
  };
  try {
    return await withDeadline(platform.clock, patienceOf(operator), `The manager at ${url}`, signal, send);
  } catch (error) {
    throw new NoAnswer(unreachableText(url, error), { cause: error });
  }
}

/** Throws NoAnswer if no manager answers. */
export async function askManager(
  address: ManagerAddress,
  asked: NamedObject | undefined,
  operator: Operator,
): Promise<ManagerAnswer> {
  const query = asked === undefined ? "" : `?kind=${asked.kind}&name=${encodeURIComponent(asked.name)}`;
  const { url } = address;
  const page = `/debug/explain${query}`;
  const { status, body } = await readPage(address, page, operator, await connectionOf(operator));
  if (status !== 200) throw new NoAnswer(refusalText(url, status, body));
  const value: unknown = JSON.parse(body);
  if (!isAnswer(value)) throw new NoAnswer(refusalText(url, 404, ""));
  return value;
}
