// Serves CSI services on a Unix socket until the command is stopped.

import { describeError } from "../../core/error-message.ts";
import { Redaction } from "../../core/redaction.ts";
import { listenOnSocket } from "../../platform/http2-socket.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { abortable } from "../../runtime/abortable.ts";
import type { Log } from "../../telemetry/log.ts";
import { type RpcReport, RpcServer } from "../../volumes/grpc/rpc-server.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import type { Console } from "../console.ts";
import type { ManagerPlatform } from "../system-platform.ts";

/** The process that serves CSI. */
export interface CsiProcess {
  readonly provider: AnyProvider;
  readonly program: string;
  readonly console: Pick<Console, "systemd" | "reloads">;
  readonly platform: ManagerPlatform;
  readonly configuration: Configuration;
  /** Aborted when the process is asked to stop. */
  readonly signal: AbortSignal;
}

/** The maximum length of a Unix socket path on Linux. */
const maxPath = 107;

/** The path in `--csi-endpoint`, which is a URL or a path. */
export function socketPathOf({
  platform,
  configuration,
}: Pick<CsiProcess, "platform" | "configuration">): string {
  const endpoint = configuration.settings.flags["csi-endpoint"] ?? platform.environment["CSI_ENDPOINT"];
  const path = (endpoint ?? "").replace(/^unix:(\/\/(?=\/))?/, "");
  if (path.startsWith("/") && Buffer.byteLength(path) <= maxPath) return path;
  const text = `--csi-endpoint must be a Unix socket with at most ${maxPath} characters, such as unix:///run/csi/socket, got ${JSON.stringify(endpoint ?? "")}. Set it, or the variable CSI_ENDPOINT.`;
  throw new ConfigurationError([{ severity: "error", reason: "InvalidFlag", text }]);
}

function logCall(log: Log, { method, code, message, milliseconds }: RpcReport): void {
  const took = { milliseconds: Math.round(milliseconds) };
  if (code === "OK") log.debug(4, `${method} succeeded`, took);
  else log.warn(`${method} failed: ${code}: ${message}`, took);
}

export interface SocketOptions {
  readonly path: string;
  readonly signal: AbortSignal;
  readonly onListen?: () => void;
  /** Called for each completed call. */
  readonly onCall?: (report: RpcReport) => void;
}

/** Resolves when the signal is aborted and the socket is closed. */
export async function serveCsi(
  { platform }: Pick<CsiProcess, "platform">,
  log: Log,
  { path, signal, onListen, onCall }: SocketOptions,
  add: (server: RpcServer) => void,
): Promise<void> {
  const { clock, redaction = new Redaction() } = platform;
  const report = (ended: RpcReport): void => {
    logCall(log, ended);
    onCall?.(ended);
  };
  const server = new RpcServer({ clock, report, redact: redaction.apply });
  add(server);
  const listener = await listenOnSocket(path, server.handle).catch((error: unknown) => {
    throw new Error(`Cannot listen on ${path}: ${describeError(error)}. Check the folder of the socket.`, {
      cause: error,
    });
  });
  log.info(`Serving on ${path}`);
  onListen?.();
  await abortable(new Promise<never>(() => undefined), signal).catch(() => undefined);
  await listener.close();
}

/** Why clients cannot reach the sockets; undefined while the sockets exist. */
export async function missingSocket(
  { platform }: Pick<CsiProcess, "platform">,
  paths: readonly string[],
): Promise<string | undefined> {
  for (const path of paths)
    if ((await platform.files.version(path)) === undefined)
      return `The socket ${path} was removed, so no client can connect. Start this process again.`;
  return undefined;
}
