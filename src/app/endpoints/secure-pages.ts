// The pages of the secure port, by path. They show the running manager, and are generated on each request.

import { seconds } from "../../core/brand.ts";
import { defined } from "../../core/defined.ts";
import { goDuration } from "../../core/duration.ts";
import { Secret } from "../../core/secret.ts";
import type { Field } from "../../core/settings.ts";
import { sleep } from "../../platform/clock.ts";
import type { ServedResponse } from "../../platform/listener.ts";
import { CachedValue, jsonAnswer, refusal, textAnswer } from "../../server/answers.ts";
import { type Health, healthPages } from "../../server/health.ts";
import { type Page, readOnly } from "../../server/secure-port.ts";
import { commit, version } from "../build-info.ts";
import { describeEverything, describeObject, isNotFound } from "../explain/describe-object.ts";
import { describedKinds } from "../explain/description.ts";
import { commandFlagNames, type FlagName, type Flags, flagFields } from "../flags/flag-table.ts";
import type { Manager } from "../manager/manager.ts";
import type { HealthMetrics } from "../metrics/process-metrics.ts";
import { leaderTexts, type ManagerReport } from "../report/manager-report.ts";
import { statusPage } from "../status/status-page.ts";
import { configz } from "./configz.ts";
import type { PortContext } from "./port-context.ts";

const exposition = "text/plain; version=0.0.4; charset=utf-8";

/** Like /version of Kubernetes components, with Fairlead's version. */
function versionInfo() {
  const [, major = "0", minor = "0"] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return {
    major,
    minor,
    gitVersion: version.startsWith("v") || version === "dev" ? version : `v${version}`,
    gitCommit: commit.replace(/\.dirty$/, ""),
    gitTreeState: commit === "" ? "" : commit.endsWith(".dirty") ? "dirty" : "clean",
    // Without buildDate, so that builds of one commit are reproducible.
    goVersion: "",
    compiler: `bun ${Bun.version}`,
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
}

/** Flags contain no secrets, except --config-set, whose values are hidden. */
function flagLines(flags: Flags): string {
  return Object.entries(flags)
    .filter(([name, value]) => value !== undefined && !(commandFlagNames as readonly string[]).includes(name))
    .map(([name, value]) => {
      if (name === "config-set" && value instanceof Map) {
        return `${name}=${[...value.keys()].map((key) => `${key}=${new Secret("")}`).join(",")}`;
      }
      if (value instanceof Map) return `${name}=${[...value].map(([key, of]) => `${key}=${of}`).join(",")}`;
      const { kind }: Field<unknown> = flagFields[name as FlagName];
      return `${name}=${kind === "duration" && typeof value === "number" ? goDuration(value) : String(value)}`;
    })
    .toSorted()
    .join("\n");
}

function profilingPages(context: PortContext): Record<string, Page> {
  const { platform, figures, log, signal, setVerbosity } = context;
  const { clock } = platform;
  return {
    "/debug/profile/heap": readOnly(() =>
      jsonAnswer({
        residentBytes: figures.residentBytes(),
        heapBytes: figures.heapBytes(),
        objects: Object.fromEntries(figures.objects()),
      }),
    ),
    "/debug/profile/heap-snapshot": readOnly(() => textAnswer(figures.snapshot(), 200, "application/json")),
    "/debug/profile/cpu": readOnly(async ({ query }) => {
      const span = seconds(Math.min(60, Math.max(1, Number(query.get("seconds") ?? 5) || 5)));
      const [before, began] = [figures.cpuSeconds(), clock.monotonic()];
      await sleep(clock, span, signal);
      const elapsed = (clock.monotonic() - began) / 1000;
      const used = figures.cpuSeconds() - before;
      return jsonAnswer({ seconds: elapsed, cpuSeconds: used, cores: used / elapsed });
    }),
    "/debug/flags/v": async ({ method, body }) => {
      if (method !== "PUT") return refusal(405, "Set the log verbosity with PUT and a number as the body.");
      const text = (await body(100))?.trim() ?? "";
      if (!/^\d{1,2}$/.test(text))
        return refusal(400, `The log verbosity must be a number such as 4, got ${text.slice(0, 20)}.`);
      setVerbosity(Number(text));
      log.info(`Log verbosity set to ${Number(text)} through /debug/flags/v`);
      return textAnswer(`successfully set logging verbosity to ${text}\n`);
    },
  };
}

/** DELETE resets the metrics, as upstream. */
function healthMetricsPage(metrics: HealthMetrics): Page {
  const show = readOnly(() => textAnswer(metrics.text(), 200, exposition));
  return (request) => {
    if (request.method !== "DELETE") return show(request);
    metrics.reset();
    return textAnswer("metrics reset\n");
  };
}

export function createPages(
  context: PortContext,
  health: Health,
  healthMetrics: HealthMetrics,
): Readonly<Record<string, Page>> {
  const { program, provider, flags, manager } = context;
  const { clock } = context.platform;
  const metrics = new CachedValue(() => manager.metrics.text() + context.metrics.text(), clock);
  const pages: Record<string, Page> = {
    ...healthPages(health),
    "/metrics": readOnly(() => textAnswer(metrics.get(), 200, exposition)),
    "/metrics/slis": healthMetricsPage(healthMetrics),
    "/configz": readOnly(() => jsonAnswer(configz(manager.flags, provider.name, manager.migration))),
    "/version": readOnly(() => jsonAnswer(versionInfo())),
    "/statusz": readOnly(() =>
      textAnswer(
        `${program} statusz\nStarted: ${new Date(clock.now() - (clock.monotonic() - manager.startedAt)).toISOString()}\nBinary version: ${version}\nLeads: ${manager.leads() ? "yes" : "no"}\n\nPaths: ${Object.keys(pages).join(" ")}\n`,
      ),
    ),
    "/flagz": readOnly(() => textAnswer(`${program} flags\n\n${flagLines(manager.flags)}\n`)),
    "/status": statusPage({ manager, program, clock }),
    "/debug/state": readOnly(() => jsonAnswer(debugState(manager.report()))),
    "/debug/explain": readOnly(explainPage(manager)),
    ...(flags.profiling && profilingPages(context)),
    "/": readOnly(() => jsonAnswer({ paths: Object.keys(pages).toSorted() })),
  };
  return pages;
}

// The pages /debug/state and /debug/explain: the report of the manager, and the state of a Node, a Service or a volume. Without a name,
// all that are not settled.

/** Longer lists are truncated; `count` has the full length. */
const maxListed = 1000;
const listed = <T>(items: readonly T[]) => ({ count: items.length, first: items.slice(0, maxListed) });

export function debugState(report: ManagerReport) {
  const [onlySync] = report.routes;
  return {
    ...report,
    queues: report.queues.map((queue) => ({ ...queue, next: listed(queue.next) })),
    findings: listed(report.findings),
    evidenceOfAbsence: listed(report.evidenceOfAbsence),
    balancers: listed(report.balancers),
    balancersOnHold: listed(report.balancersOnHold),
    massLimits: Object.fromEntries(
      report.massLimits.map(({ kind, held, ...rest }) => [kind, { ...rest, held: listed(held) }] as const),
    ),
    orphans: listed(report.orphans),
    possibleOrphans: listed(report.possibleOrphans),
    /** A cloud with one table has one result. */
    routes: onlySync?.table === undefined ? onlySync : report.routes,
    journal: listed(report.journal),
  };
}

export function explainPage(manager: Manager): Page {
  return ({ query }): ServedResponse => {
    const unlisted = Object.entries(manager.caches()).flatMap(([plural, { isSynced }]) =>
      isSynced ? [] : plural,
    );
    if (unlisted.length > 0)
      return refusal(
        503,
        `It has not completed its first list of ${unlisted.join(" and ")}, so it does not know which objects exist. Its log shows why lists fail.`,
      );
    const asked = query.get("kind");
    const name = query.get("name");
    const from = {
      identity: manager.identity,
      leads: manager.leads(),
      mode: manager.flags.mode,
      ...defined(leaderTexts(manager)),
    };
    if (asked === null && name === null) {
      const all = query.get("all") === "true";
      return jsonAnswer({ ...from, objects: describeEverything(manager, all) });
    }
    const kind = describedKinds.find((one) => one.toLowerCase() === asked?.toLowerCase());
    if (kind === undefined || name === null || name === "") {
      return refusal(
        400,
        "Expected ?kind=node&name=NAME or ?kind=service&name=NAMESPACE/NAME. Kinds: node, service, persistentvolumeclaim, persistentvolume.",
      );
    }
    const answer = describeObject(manager, kind, name);
    return jsonAnswer({
      ...from,
      objects: isNotFound(answer) ? [] : [answer],
      ...(isNotFound(answer) && { notFound: answer }),
    });
  };
}
