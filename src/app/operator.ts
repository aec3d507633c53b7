// Access for commands: the settings and the kubeconfig that kubectl would use, read-only clients,
// and the cloud. Nothing changes in the cloud before a confirmation.

import type { AccountContext } from "../cloud/account.ts";
import type { CloudCallReport } from "../cloud/governed-transport.ts";
import { type Milliseconds, minutes } from "../core/brand.ts";
import type { KubeApi } from "../kube/client/api.ts";
import type { Transport, TransportRequest } from "../platform/transport.ts";
import type { Call } from "../provider/call.ts";
import type { AnyCloud, AnyProvider } from "../provider/provider.ts";
import type { Configuration } from "./configuration/configuration.ts";
import { ConfigurationError } from "./configuration/configuration-error.ts";
import { connectCloud } from "./connect-cloud.ts";
import type { ReadFlags } from "./flags/read-flags.ts";
import { connectKube } from "./kube-client.ts";
import { secretReader } from "./read-secret.ts";
import type { ManagerPlatform } from "./system-platform.ts";

export interface Operator {
  readonly provider: AnyProvider;
  readonly program: string;
  readonly platform: ManagerPlatform;
  /** The configuration that was read at the start, with its problems. */
  readonly configuration: Configuration;
  /** The configuration's settings, with the user's kubeconfig. */
  readonly settings: ReadFlags;
  readonly signal: AbortSignal;
  /** The user agent of API server requests. */
  readonly userAgent: string;
  /** The connections to close when the command ends. If unset, none are closed. */
  readonly opened?: AnyCloud[] | undefined;
}

/** The time that a command waits for the API server and the cloud. */
export const patienceOf = ({ settings: { flags } }: Pick<Operator, "settings">): Milliseconds =>
  flags.timeout ?? minutes(1);

/** A cloud call with the urgency of a change by a user. */
export const callOf = (signal: AbortSignal): Call => ({ signal, urgency: "user-change" });

/** HTTP methods without side effects. */
const reading = ["GET", "HEAD", "OPTIONS"];
/** The API server answers reviews without storing them. */
const review = /^\/apis\/auth(entication|orization)\.k8s\.io\/v1\/[a-z]*reviews$/;

export class ReadOnlyTransports {
  /** The blocked requests, as method and URL without query. */
  readonly refused: string[] = [];
  #sent = 0;

  /** The number of sent requests, excluding watches. */
  get sent(): number {
    return this.#sent;
  }

  /** Allows only reads on the API server. */
  kube(transport: Transport): Transport {
    return (request, signal) => this.#send(transport, request, signal, reading);
  }

  /** Allows reads and permission reviews on the API server. */
  kubeWithReviews(transport: Transport): Transport {
    return (request, signal) =>
      review.test(new URL(request.url).pathname)
        ? transport(request, signal)
        : this.#send(transport, request, signal, reading);
  }

  /**
   * Allows only reads on the cloud. The declaration of each request decides, because some clouds
   * read with POST, sign in with PUT, or sign out with DELETE.
   */
  cloud(transport: Transport): Transport {
    return (request, signal) =>
      this.#send(transport, request, signal, [
        ...reading,
        "POST",
        ...(request.isSignIn ? ["PUT", "DELETE"] : []),
      ]);
  }

  async #send(
    transport: Transport,
    request: TransportRequest,
    signal: AbortSignal,
    allowed: readonly string[],
  ): Promise<Response> {
    const { method, url } = request;
    if (!allowed.includes(method.toUpperCase())) {
      const { origin, pathname } = new URL(url);
      this.refused.push(`${method} ${origin}${pathname}`);
      throw new Error(`${method} ${pathname} was not sent: this command changes nothing.`);
    }
    if (!url.includes("watch=true")) this.#sent += 1;
    return transport(request, signal);
  }
}

/** A read-only API server client. */
export async function readingApi({
  settings,
  platform,
  userAgent,
  signal,
}: Pick<Operator, "settings" | "platform" | "userAgent" | "signal">): Promise<KubeApi> {
  const transport = new ReadOnlyTransports().kube(platform.transport);
  const hooks = {
    userAgent,
    mayWrite: () => ({ reason: "this command changes nothing." }),
    onRequest: () => undefined,
  };
  return (await connectKube(settings.flags, { ...platform, transport }, hooks, signal)).api;
}

/** With `read`, the transports block every change. Throws a ConfigurationError. */
export function cloudOf(
  operator: Operator,
  access: "read" | "change",
  clusterUID: string | undefined,
  report: (call: CloudCallReport) => void = () => undefined,
  announce: AccountContext["announce"] = () => undefined,
): AnyCloud {
  const { provider, settings, platform, signal } = operator;
  const { clock, random, environment, cloudTransport } = platform;
  const { "cluster-name": cluster, "cloud-call-timeout": deadline } = settings.flags;
  const isReading = access === "read";
  const { connected, problems } = connectCloud(
    provider,
    { environment, ...settings.cloud, cluster, clusterUID: () => clusterUID },
    {
      clock,
      random,
      signal,
      deadline,
      transport: isReading ? new ReadOnlyTransports().cloud(cloudTransport) : cloudTransport,
      mayMutate: () => (isReading ? { reason: "nothing is changed before it is confirmed." } : true),
      report,
      readSecret: secretReader(() => readingApi(operator)),
      announce,
    },
  );
  if (connected === undefined) throw new ConfigurationError(problems);
  operator.opened?.push(connected.cloud);
  return connected.cloud;
}
