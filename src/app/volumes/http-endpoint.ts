// The HTTP endpoint of csi-controller and node-volumes: /healthz, /readyz and /metrics without
// authentication, like the sidecars of Kubernetes.

import { describeError } from "../../core/error-message.ts";
import { listenPlain, type PlainListener } from "../../platform/listener.ts";
import { textAnswer } from "../../server/answers.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";

export interface Pages {
  /** Why the process should be restarted; undefined while it is healthy. */
  readonly unhealthy: () => Promise<string | undefined>;
  /** Why the process does not serve volumes yet; undefined once it does. */
  readonly notReady: () => string | undefined;
  readonly metrics: () => string;
}

/** `:9808` means all addresses. Pure. */
function parseAddress(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, brackets, plain = "", digits = ""] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/\s]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  return digits === "" || port > 65_535 ? undefined : { host: brackets ?? plain, port };
}

const metricsType = "text/plain; version=0.0.4; charset=utf-8";

function checked(problem: string | undefined) {
  return problem === undefined ? textAnswer("ok") : textAnswer(`${problem}\n`, 500);
}

/** Undefined without `--http-endpoint`. */
export async function serveHttp(
  { settings }: Configuration,
  log: Log,
  { unhealthy, notReady, metrics }: Pages,
): Promise<PlainListener | undefined> {
  const endpoint = settings.flags["http-endpoint"];
  if (endpoint === undefined) return undefined;
  const address = parseAddress(endpoint);
  if (address === undefined) {
    const text = `--http-endpoint must be an address with a port, such as 127.0.0.1:9808 or :9808, got ${JSON.stringify(endpoint)}.`;
    throw new ConfigurationError([{ severity: "error", reason: "InvalidFlag", text }]);
  }
  const listener = await listenPlain({
    ...address,
    answer: (path) => {
      if (path === "/healthz") return unhealthy().then(checked);
      if (path === "/readyz") return checked(notReady());
      return path === "/metrics" ? textAnswer(metrics(), 200, metricsType) : undefined;
    },
  }).catch((error: unknown) => {
    throw new Error(`Cannot listen on ${endpoint} (--http-endpoint): ${describeError(error)}.`, {
      cause: error,
    });
  });
  log.info(`Serving /healthz, /readyz and /metrics on ${address.host}:${listener.port}`);
  return listener;
}
