// Asks a running manager through its secure port, with the credentials of the kubeconfig.

import type { Milliseconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { describeError } from "../../core/error-message.ts";
import type { Connection } from "../../kube/connection/connection.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Transport } from "../../platform/transport.ts";
import { withDeadline } from "../../runtime/abortable.ts";
import type { NotFound } from "./describe-object.ts";
import type { DescribedKind, Description } from "./description.ts";

export interface ManagerAddress {
  /** The origin of the secure port. */
  readonly url: string;
  /** PEM; without it the authorities of the system are trusted. */
  readonly ca: string | undefined;
  /** The name in the certificate, if it is not the host of the URL. */
  readonly serverName?: string;
}

export interface AskDeps {
  readonly connection: Pick<Connection, "access">;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly timeout: Milliseconds;
}

export interface ManagerAnswer {
  readonly identity: string;
  readonly leads: boolean;
  /** Present if no replica leads, as far as this one knows. */
  readonly noLeader?: string;
  /** Present if another program leads. */
  readonly otherLeader?: string;
  readonly objects: readonly Description[];
  readonly notFound?: NotFound;
}

/** Why there is no answer, and what to do. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

function refusalText(url: string, status: number, body: string): string {
  const said = /"message": "((?:[^"\\]|\\.)*)"/.exec(body)?.[1]?.replaceAll('\\"', '"') ?? body.slice(0, 200);
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
  const isTls = /CERT|SELF_SIGNED|UNABLE_TO|TLS|ALTNAME/i.test(why);
  const hint = isTls
    ? "set --server-ca-file to the CA of its certificate; for a generated one that is cloud-controller-manager-ca.crt in its --cert-dir"
    : "check that the manager runs, and its address (ss -ltnp, as root, names the program at the port), or use kubectl port-forward and --server=https://localhost:10258";
  return `cannot reach the manager at ${url} (${why}); ${hint}`;
}

function isAnswer(value: unknown): value is ManagerAnswer {
  return typeof value === "object" && value !== null && "objects" in value && Array.isArray(value.objects);
}

/** Reads one page of the secure port. Throws NoAnswer if there is no answer. */
export async function readPage(
  { url, ca, serverName }: ManagerAddress,
  page: string,
  { connection, transport, clock, timeout }: AskDeps,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: string }> {
  const send = async (stop: AbortSignal) => {
    const { headers, tls } = await connection.access(stop);
    const { cert, key } = tls ?? {};
    const response = await transport(
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
    return await withDeadline(clock, timeout, `The manager at ${url}`, signal, send);
  } catch (error) {
    throw new NoAnswer(unreachableText(url, error), { cause: error });
  }
}

/** Throws NoAnswer. */
export async function askManager(
  address: ManagerAddress,
  asked: { readonly kind: DescribedKind; readonly name: string } | undefined,
  deps: AskDeps,
  signal: AbortSignal,
): Promise<ManagerAnswer> {
  const query = asked === undefined ? "" : `?kind=${asked.kind}&name=${encodeURIComponent(asked.name)}`;
  const { url } = address;
  const { status, body } = await readPage(address, `/debug/explain${query}`, deps, signal);
  if (status !== 200) throw new NoAnswer(refusalText(url, status, body));
  const value: unknown = JSON.parse(body);
  if (!isAnswer(value)) throw new NoAnswer(refusalText(url, 404, ""));
  return value;
}
