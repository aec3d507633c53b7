// The environment of a manager as values: clock, random numbers, files and network. Tests pass virtual implementations.

import { Redaction } from "../core/redaction.ts";
import { systemClock } from "../platform/clock.ts";
import { type Environment, systemEnvironment, systemHostname, windowsHome } from "../platform/environment.ts";
import { systemFiles } from "../platform/files.ts";
import { type CollectGarbage, collectGarbage, residentBytes } from "../platform/memory.ts";
import { type Random, systemRandom } from "../platform/random.ts";
import { type OpenSocket, systemSocket } from "../platform/socket.ts";
import { systemTransport, type Transport } from "../platform/transport.ts";
import type { KubePlatform } from "./kube-client.ts";

export interface ManagerPlatform extends KubePlatform {
  readonly random: Random;
  readonly cloudTransport: Transport;
  /** If unset, clouds do not report changes. */
  readonly cloudSocket?: OpenSocket;
  /** The secrets that this process learns as it connects. If unset, each manager creates a redaction. */
  readonly redaction?: Redaction;
  /** Only a process with a single manager collects garbage early, because a collection covers the whole process. */
  readonly collectGarbage?: CollectGarbage;
  /** Set together with `collectGarbage`. */
  readonly residentBytes?: () => number;
}

/** This machine's clock, network, disk and environment. */
export function systemPlatform(environment: Environment = systemEnvironment()): ManagerPlatform {
  return {
    clock: systemClock,
    random: systemRandom,
    files: systemFiles,
    transport: systemTransport,
    cloudTransport: systemTransport,
    cloudSocket: systemSocket,
    redaction: new Redaction(),
    collectGarbage,
    residentBytes,
    // As in upstream, the identity of a replica starts with the host name. Outside a pod, no variable contains it.
    environment: { HOME: windowsHome(), ...environment, HOSTNAME: systemHostname() },
  };
}
