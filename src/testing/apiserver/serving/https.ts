// The sandbox on loopback: one listener for bearer tokens, one for client certificates, over the same server and store.
// It adds nothing but sockets and credentials; stopping it is abrupt, starting again takes the same ports.

import type { Authority } from "../../../pki/authority.ts";
import type { Files } from "../../../platform/files.ts";
import type { ApiServer } from "../api-server.ts";
import { administrator } from "../as-transport.ts";
import { answerError } from "../http/answer.ts";
import { unauthorized } from "../objects/api-error.ts";
import type { Identity } from "../objects/kube-object.ts";
import { startCertificateListener } from "./certificate-listener.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { openedStream } from "./opened-stream.ts";

export interface HttpsFaceParts {
  readonly server: ApiServer;
  readonly authority: Authority;
  /** 0, or absent, for any free port; a restart takes the same again. */
  readonly port?: number;
  readonly certificatePort?: number;
  readonly token: string;
}

export interface HttpsFace {
  readonly url: string;
  readonly certificateURL: string;
  readonly ca: string;
  readonly token: string;
  /** Contexts `token` (current) and `certificate`, both administrators. */
  readonly kubeconfig: string;
  /** Breaks every connection. The store stays with the ApiServer. */
  stop(): Promise<void>;
  /** Listens again on the same ports. */
  start(): Promise<void>;
}

const names = ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"];

const isWatch = /[?&]watch=(1|true)(&|$)/;

function bearer(request: Request): string | undefined {
  return /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
}

/** A connection that breaks instead of an answer. An error with a reason would be printed by Bun. */
function brokenAnswer(): Response {
  return new Response(new ReadableStream({ start: (controller) => controller.error() }));
}

async function answer(
  server: ApiServer,
  request: Request,
  identity: Identity | undefined,
): Promise<Response> {
  if (identity === undefined) return answerError(unauthorized());
  const body = request.body === null ? undefined : Uint8Array.from(await request.bytes());
  const { method, url, headers, signal } = request;
  const plain = { method, url, headers: Object.fromEntries(headers), ...(body !== undefined && { body }) };
  try {
    const response = await server.handle(plain, identity, signal);
    if (response.body === null || !isWatch.test(url)) return response;
    return new Response(openedStream(response.body), { status: response.status, headers: response.headers });
  } catch {
    return brokenAnswer();
  }
}

export async function startHttpsFace(parts: HttpsFaceParts): Promise<HttpsFace> {
  const { server, authority, token } = parts;
  const tls = authority.issueServer("sandbox", names);
  const client = authority.issueClient({ commonName: "admin", organizations: ["system:masters"] });
  const identify = (request: Request): Identity | undefined => {
    const given = bearer(request);
    if (given === undefined) return undefined;
    return given === token ? administrator : server.tokens.find(given);
  };
  const listen = (port: number) =>
    Bun.serve({
      hostname: "127.0.0.1",
      port,
      // Watches are silent for as long as nothing happens.
      idleTimeout: 0,
      development: false,
      // Outside development Bun would share the port with whoever else listens there.
      reusePort: false,
      tls: { key: tls.key, cert: tls.cert },
      fetch: (request) => answer(server, request, identify(request)),
    });
  let tokens = listen(parts.port ?? 0);
  const listenForCertificates = (port: number) =>
    startCertificateListener(server, { ...tls, ca: authority.cert }, port);
  let certificates = await listenForCertificates(parts.certificatePort ?? 0);
  const port = tokens.port ?? 0;
  const certificatePort = certificates.port;
  const url = `https://127.0.0.1:${port}`;
  const certificateURL = `https://127.0.0.1:${certificatePort}`;
  return {
    url,
    certificateURL,
    ca: authority.cert,
    token,
    kubeconfig: writeKubeconfig(authority.cert, [
      { name: "token", server: url, token },
      { name: "certificate", server: certificateURL, ...client },
    ]),
    stop: async () => {
      await Promise.all([tokens.stop(true), certificates.stop()]);
    },
    start: async () => {
      tokens = listen(port);
      certificates = await listenForCertificates(certificatePort);
    },
  };
}

/** Readable by the owner only: it holds credentials. */
export function saveKubeconfig(face: HttpsFace, files: Files, path: string): Promise<void> {
  return files.write(path, face.kubeconfig, 0o600);
}
