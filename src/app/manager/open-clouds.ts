// Connects to the cloud: once, and a second time for controllers under another Lease, whose changes need their own gate. Sends
// no requests yet.

import type { AccountContext } from "../../cloud/account.ts";
import { type AbandonedCall, withCallGuard } from "../../cloud/call-guard.ts";
import { withDeclaredReasons } from "../../cloud/declared-reasons.ts";
import { defined } from "../../core/defined.ts";
import type { Redaction } from "../../core/redaction.ts";
import { chooseProxy, proxySettingsOf } from "../../kube/connection/proxy.ts";
import type { OpenSocket } from "../../platform/socket.ts";
import type { Instances } from "../../provider/instances.ts";
import type { AnyProvider } from "../../provider/provider.ts";
import { undeclaredReason } from "../../provider/reasons.ts";
import type { WriteGate } from "../../runtime/write-gate.ts";
import type { Log } from "../../telemetry/log.ts";
import { ConfigurationError, noInstances } from "../configuration/configuration-error.ts";
import { type ConnectedCloud, connectCloud } from "../connect-cloud.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import type { ManagerPlatform } from "../system-platform.ts";

/** One generation of connections; a reload may begin the next one. */
export interface Generation {
  /** Whether these connections are still in use: work that outlives a reload must not change the cloud. */
  readonly isCurrent: () => boolean;
  /** Aborted when the next connections are used. */
  readonly replaced: AbortSignal;
  readonly onAbandoned: (call: AbandonedCall) => void;
  /** Undeclared reasons that were logged, by all generations. */
  readonly undeclaredReasons: Set<string>;
  /** Shared by all generations, one for each of the connections. */
  readonly budgets: Readonly<Record<"main" | "migrated", NonNullable<AccountContext["budgets"]>>>;
}

export interface OpenCloudsOptions {
  readonly provider: AnyProvider;
  readonly settings: ReadFlags;
  readonly platform: ManagerPlatform;
  readonly log: Log;
  readonly report: AccountContext["report"];
  /** `migrated` is set only if controllers migrate to another Lease. */
  readonly gates: { readonly main: WriteGate; readonly migrated: WriteGate | undefined };
  readonly generation: Generation;
  readonly redaction: Redaction;
  readonly clusterUID: () => string | undefined;
  /** Aborted when the manager has ended. */
  readonly life: AbortSignal;
}

export interface OpenClouds {
  readonly main: ConnectedCloud;
  /** The same as `main` if no controllers migrate. */
  readonly migrated: ConnectedCloud;
  readonly instances: Instances;
}

/** Throws a ConfigurationError for invalid settings. */
export function openClouds({
  provider,
  settings,
  platform,
  log,
  report,
  gates,
  redaction,
  clusterUID,
  generation: { isCurrent, replaced, onAbandoned, budgets, undeclaredReasons },
  life,
}: OpenCloudsOptions): OpenClouds {
  const { flags } = settings;
  const { cloudTransport: transport, cloudSocket, clock, random, environment } = platform;
  // Bun applies the variables for proxies to requests, and not to WebSockets.
  const openSocket: OpenSocket | undefined =
    cloudSocket &&
    ((request, signal) => {
      const proxy = chooseProxy(request.url, undefined, proxySettingsOf(environment));
      return cloudSocket({ ...request, ...defined({ proxy }) }, signal);
    });
  const mayMutate =
    (mayWrite: WriteGate): AccountContext["mayMutate"] =>
    () => {
      if (flags.mode === "observe") return { reason: "--mode=observe changes nothing." };
      return isCurrent() ? mayWrite() : { reason: "the connection to the cloud was replaced." };
    };
  const onUndeclared = (reason: string): void => {
    if (undeclaredReasons.has(reason)) return;
    undeclaredReasons.add(reason);
    log.error(
      `The provider ${provider.name} reported a problem with the reason ${JSON.stringify(reason.slice(0, 80))}, which it does not declare. It is shown as ${undeclaredReason}. Declare it with declareReasons, or use a common reason.`,
    );
  };
  const guarded = (connected: ConnectedCloud): ConnectedCloud => {
    const { apply: redact } = redaction;
    const cloud = withDeclaredReasons(connected.cloud, provider.reasons, { onUndeclared, redact });
    return { ...connected, cloud: withCallGuard(cloud, { clock, replaced, onAbandoned, redaction }) };
  };
  const open = (gate: WriteGate, place: keyof Generation["budgets"]) => {
    const opened = connectCloud(
      provider,
      { environment, ...settings.cloud, cluster: flags["cluster-name"], clusterUID },
      {
        transport,
        openSocket,
        clock,
        random,
        report,
        signal: life,
        deadline: flags["cloud-call-timeout"],
        mayMutate: mayMutate(gate),
        budgets: budgets[place],
        redaction,
      },
    );
    return { ...opened, connected: opened.connected && guarded(opened.connected) };
  };
  const { connected: main, problems } = open(gates.main, "main");
  if (main === undefined) throw new ConfigurationError(problems);
  const { instances } = main.cloud;
  if (instances === undefined) throw new ConfigurationError([noInstances(provider.name)]);
  const migrated = gates.migrated === undefined ? undefined : open(gates.migrated, "migrated").connected;
  return { main, migrated: migrated ?? main, instances };
}
