// A session with the cloud: a connection and the inventory of its machines. Each leadership session begins with a
// new cloud session, and a reload replaces it. A closed session makes no changes in the cloud.

import type { AccountContext } from "../../cloud/account.ts";
import { type AbandonedCall, longestCall, timeToEnd, withDeadlines } from "../../cloud/call-deadlines.ts";
import { Inventory } from "../../cloud/inventory/instances.ts";
import { defined } from "../../core/defined.ts";
import { formatDuration } from "../../core/duration.ts";
import { messageOf } from "../../core/error-message.ts";
import { Redaction } from "../../core/redaction.ts";
import { chooseProxy, proxySettingsOf } from "../../kube/connection/proxy.ts";
import type { OpenSocket } from "../../platform/socket.ts";
import type { Instances } from "../../provider/instances.ts";
import type { AnyCloud, AnyProvider } from "../../provider/provider.ts";
import { linkedController } from "../../runtime/abortable.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import type { Log } from "../../telemetry/log.ts";
import { closeCloud } from "../close-cloud.ts";
import { ConfigurationError, noInstances } from "../configuration/configuration-error.ts";
import { type ConnectContext, type ConnectedCloud, connectCloud } from "../connect-cloud.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import type { ManagerPlatform } from "../system-platform.ts";

export interface CloudSession {
  readonly settings: ReadFlags;
  readonly connected: ConnectedCloud;
  readonly instances: Instances;
  readonly inventory: Inventory;
  /** Aborted when the session is closed. */
  readonly life: AbortSignal;
  /** Stops the session's requests immediately. Resolves when the session holds no cloud resources, or after a few seconds. */
  close(): Promise<void>;
}

export interface CloudSessionOptions {
  readonly provider: AnyProvider;
  readonly platform: ManagerPlatform;
  readonly log: Log;
  readonly report: AccountContext["report"];
  readonly announce: NonNullable<AccountContext["announce"]>;
  readonly mayWrite: WriteGate;
  /** Known cloud limits, which stay valid for the next session. */
  readonly budgets: NonNullable<AccountContext["budgets"]>;
  readonly clusterUID: () => string | undefined;
  readonly readSecret: ConnectContext["readSecret"];
  /** The workers' unfinished items, such as `service default/shop`. */
  readonly inProgress: () => string;
  /** Aborted when the manager has ended. */
  readonly life: AbortSignal;
}

/** Sends no requests. Throws a ConfigurationError for invalid settings. */
export function openCloudSession(options: CloudSessionOptions, settings: ReadFlags): CloudSession {
  const { provider, platform, log, report, announce, mayWrite, budgets, clusterUID, readSecret } = options;
  const { flags } = settings;
  const { clock, random, environment, redaction = new Redaction() } = platform;
  const { controller, unlink } = linkedController(options.life);
  const life = controller.signal;
  const { connected: opened, problems } = connectCloud(
    provider,
    { environment, ...settings.cloud, cluster: flags["cluster-name"], clusterUID },
    {
      transport: platform.cloudTransport,
      openSocket: throughProxy(platform),
      clock,
      random,
      report,
      announce,
      signal: life,
      deadline: flags["cloud-call-timeout"],
      mayMutate: () => {
        if (flags.mode === "observe") return { reason: "--mode=observe changes nothing." };
        return life.aborted ? { reason: "the connection to the cloud was replaced." } : mayWrite();
      },
      budgets,
      redaction,
      readSecret,
    },
  );
  if (opened === undefined) throw new ConfigurationError(problems);
  const onAbandoned = (call: AbandonedCall): void =>
    log.error(describeAbandoned(provider.name, call, options.inProgress()));
  const cloud = withDeadlines(opened.cloud, { clock, onAbandoned, redaction });
  const { instances } = cloud;
  if (instances === undefined) throw new ConfigurationError([noInstances(provider.name)]);
  const inventory = new Inventory({
    instances,
    clock,
    signal: life,
    isNeeded: needsInstances(settings, cloud),
    onListenerError: (error) =>
      log.error(`Cannot process an answer about instances; skipped until the next one: ${messageOf(error)}`),
  });
  const close = async (): Promise<void> => {
    unlink();
    controller.abort(new Error("the session with the cloud has ended"));
    await closeCloud(cloud, clock, log);
  };
  return { settings, connected: { ...opened, cloud }, instances, inventory, life, close };
}

/** Load balancers alone need no instances if a provider id or an address names each target. */
function needsInstances({ controllers, flags }: ReadFlags, { loadBalancers }: AnyCloud): boolean {
  const areAlone = [...controllers].every((name) => name === "service");
  const isNamed = loadBalancers?.needsHandles === false && flags["foreign-nodes"] === "ignore";
  return !areAlone || !isNamed;
}

/** Bun applies the proxy variables to requests, but not to WebSockets. */
function throughProxy({ cloudSocket, environment }: ManagerPlatform): OpenSocket | undefined {
  return (
    cloudSocket &&
    ((request, signal) => {
      const proxy = chooseProxy(request.url, undefined, proxySettingsOf(environment));
      return cloudSocket({ ...request, ...defined({ proxy }) }, signal);
    })
  );
}

function describeAbandoned(
  provider: string,
  { operation, object, why }: AbandonedCall,
  inProgress: string,
): string {
  const subject = object === "" ? operation : `${operation} (${object})`;
  const problem =
    why === "cancelled"
      ? `ignores the cancellation of ${subject}. The call was given up after ${formatDuration(timeToEnd)}`
      : `has not ended ${subject} within ${formatDuration(longestCall)}. The call was given up`;
  const where = inProgress === "" ? "" : ` In progress: ${inProgress}.`;
  return `The provider ${provider} ${problem}: its result is discarded, and it sends no more requests.${where} Report this to the author of the provider.`;
}
