// Gathers all facts for `doctor`: about the cluster, the cloud with one page of machines per source, and the ports of this machine.

import { closeCloud } from "../../app/close-cloud.ts";
import { warningsOf } from "../../app/configuration/configuration.ts";
import { connectKube } from "../../app/kube-client.ts";
import { callOf, cloudOf, type Operator, patienceOf, ReadOnlyTransports } from "../../app/operator.ts";
import { reasonOfFailure } from "../../app/report/cloud-contact.ts";
import { Deprecations } from "../../app/report/deprecations.ts";
import { ServerTimes } from "../../app/report/server-times.ts";
import type { CloudCallReport } from "../../cloud/governed-transport.ts";
import { ofSource } from "../../cloud/inventory/source-inventory.ts";
import type { Announcement } from "../../core/announcements.ts";
import { seconds } from "../../core/brand.ts";
import { isTlsCode, runtimeCodeOf, textOf } from "../../core/error-message.ts";
import { messageIn } from "../../core/problem.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Transport } from "../../platform/transport.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { InstanceSource } from "../../provider/instances.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import { DeadlineError, withDeadline } from "../../runtime/deadline.ts";
import type { CloudFacts, CloudFailure, DoctorFacts, PortFact } from "./doctor-facts.ts";
import { type ClusterFacts, gatherCluster } from "./gather-cluster.ts";

async function cluster(operator: Operator, announced: Deprecations): Promise<DoctorFacts["cluster"]> {
  const { platform, settings, userAgent, signal } = operator;
  const { clock } = platform;
  const times = new ServerTimes(clock);
  const transport = times.observe(new ReadOnlyTransports().kubeWithReviews(platform.transport));
  let origin: string | undefined;
  const gather = async (stop: AbortSignal): Promise<ClusterFacts> => {
    const onAnnounced = (found: Announcement) => announced.note("kubernetes", found);
    const hooks = { userAgent, mayWrite: () => true as const, onRequest: () => undefined, onAnnounced };
    const { api } = await connectKube(settings.flags, { ...platform, transport }, hooks, stop);
    origin = api.origin;
    return gatherCluster({ ...operator, api, times }, stop);
  };
  try {
    return { value: await withDeadline(clock, patienceOf(operator), "The API server", signal, gather) };
  } catch (error) {
    signal.throwIfAborted();
    if (!isKubeError(error) && !(error instanceof DeadlineError)) throw error;
    const otherServer = isKubeError(error, "not-found") ? origin : undefined;
    return { unread: textOf(error), otherServer };
  }
}

/** Waits until the person's timeout. */
const ask = <T>(operator: Operator, what: string, work: (call: Call) => Promise<T>) =>
  withDeadline(operator.platform.clock, patienceOf(operator), what, operator.signal, (stop) =>
    work(callOf(stop)),
  );

/** A single page proves that the endpoint and the credentials work. Returns whether it contains a machine. */
async function tryListing(source: InstanceSource, operator: Operator): Promise<boolean | CloudFailure> {
  try {
    return await ask(operator, `The source ${source.name} of the cloud`, async (call) => {
      for await (const page of source.list(call)) return page.length > 0;
      return false;
    });
  } catch (error) {
    operator.signal.throwIfAborted();
    const { kind, detail } = CloudError.is(error) ? error : { kind: "deadline", detail: {} };
    const { status, cause } = detail as CloudError["detail"];
    const isTls = isTlsCode(runtimeCodeOf(cause));
    return { reason: reasonOfFailure(kind), status, isTls, message: textOf(error) };
  }
}

async function tryCheck({ checkSettings }: AnyCloud, operator: Operator): Promise<readonly CloudFailure[]> {
  const check = async (call: Call) => checkSettings?.(call) ?? [];
  try {
    const problems = await ask(operator, "The check of the settings", check);
    return problems.map((problem) => ({ reason: "CloudSettingsUnknown", message: messageIn(problem) }));
  } catch (error) {
    operator.signal.throwIfAborted();
    return [{ reason: "CloudSettingsUnchecked", message: textOf(error) }];
  }
}

async function cloud(operator: Operator, announced: Deprecations): Promise<CloudFacts> {
  const { platform, configuration, settings } = operator;
  const errors = configuration.problems.filter(({ severity }) => severity === "error");
  const warnings = [...warningsOf(configuration)];
  const failuresOf = errors.map(
    (problem): CloudFailure => ({ reason: "CloudSettingsInvalid", message: messageIn(problem) }),
  );
  if (failuresOf.length > 0)
    return { origins: [], clock: undefined, failures: failuresOf, warnings, hasMachines: false };
  const times = new ServerTimes(platform.clock);
  const cloudTransport = times.observe(platform.cloudTransport);
  const observed = { ...operator, platform: { ...platform, cloudTransport } };
  const announce = (found: Announcement): void => announced.note("cloud", found);
  const report = ({ announced: all = [] }: CloudCallReport): void => all.forEach(announce);
  const opened = cloudOf(observed, "read", settings.flags["cluster-uid"], report, announce);
  try {
    return { ...(await cloudFacts(opened, operator, times)), warnings };
  } finally {
    await closeCloud(opened, platform.clock);
  }
}

async function cloudFacts(opened: AnyCloud, operator: Operator, times: ServerTimes): Promise<CloudFacts> {
  const sources = opened.instances?.sources ?? [];
  const tried = await Promise.all(sources.map((source) => tryListing(source, operator)));
  const isPart = tried.some((result) => typeof result === "boolean");
  const notListed = tried.flatMap((result, index): readonly CloudFailure[] => {
    if (typeof result === "boolean") return [];
    const { name = "" } = sources[index] ?? {};
    const message = ofSource(result.message, name, sources);
    return [{ ...result, message, source: isPart ? name : undefined }];
  });
  // Problems that the listing revealed are not reported twice.
  const refused = notListed.length === 0 ? await tryCheck(opened, operator) : [];
  const failures = [...notListed, ...refused];
  const clocks = times.origins.flatMap((origin) => times.of(origin) ?? []);
  const worst = clocks.toSorted((a, b) => Math.abs(b.aheadMs) - Math.abs(a.aheadMs))[0];
  return { origins: times.origins, clock: worst, failures, hasMachines: tried.includes(true) };
}

/** Bun and Node.js use different codes for this. */
const refused: readonly string[] = ["ECONNREFUSED", "ConnectionRefused"];

async function portFact(
  flag: string,
  port: number,
  transport: Transport,
  clock: Clock,
  signal: AbortSignal,
): Promise<PortFact> {
  const url = `https://127.0.0.1:${port}/healthz`;
  const ask = async (stop: AbortSignal): Promise<PortFact["listener"]> => {
    const response = await transport({ method: "GET", url, tls: { skipVerification: true } }, stop);
    const body = await response.text();
    return /^ok$|^\[[+-]\]/.test(body) ? "manager" : "other";
  };
  try {
    return { flag, port, listener: await withDeadline(clock, seconds(3), "The port", signal, ask) };
  } catch (error) {
    signal.throwIfAborted();
    return { flag, port, listener: refused.includes(runtimeCodeOf(error)) ? "none" : "other" };
  }
}

async function ports({ settings: { flags }, platform, signal }: Operator): Promise<readonly PortFact[]> {
  const { transport, clock } = platform;
  const hasWebhook = (flags.webhooks ?? []).length > 0;
  const names = ["secure-port", ...(hasWebhook ? (["webhook-secure-port"] as const) : [])] as const;
  return Promise.all(
    names
      .filter((name) => flags[name] !== 0)
      .map((name) => portFact(name, flags[name], transport, clock, signal)),
  );
}

export async function gatherFacts(operator: Operator): Promise<DoctorFacts> {
  const { program, settings, platform } = operator;
  const { flags, given, controllers } = settings;
  const announced = new Deprecations(platform.clock);
  const [ofCluster, ofCloud, ofPorts] = await Promise.all([
    cluster(operator, announced),
    cloud(operator, announced),
    ports(operator),
  ]);
  const facts = { program, flags, given, controllers, announced: announced.all };
  return { ...facts, cluster: ofCluster, cloud: ofCloud, ports: ofPorts };
}
