// The pages of the secure port, by path. They show the running manager, and are generated on each request.

import { seconds } from "../../core/brand.ts";
import { goDuration } from "../../core/duration.ts";
import { Secret } from "../../core/secret.ts";
import type { Field } from "../../core/settings.ts";
import { statusPage } from "../../inspect/status/status-page.ts";
import { sleep } from "../../platform/clock.ts";
import { CachedValue, jsonAnswer, refusal, textAnswer } from "../../server/answers.ts";
import { type Health, healthPages } from "../../server/health.ts";
import { readOnly, type ServedPage } from "../../server/secure-port.ts";
import { commit, version } from "../build-info.ts";
import { commandFlagNames, type FlagName, type Flags, flagFields } from "../flags/flag-table.ts";
import type { HealthMetrics } from "../metrics/process-metrics.ts";
import { configz } from "./configz.ts";
import { debugState, explainPage } from "./debug-pages.ts";
import type { PortContext } from "./port-context.ts";

const exposition = "text/plain; version=0.0.4; charset=utf-8";

/** The same data as /version of Kubernetes components, with Fairlead's version. */
function versionInfo() {
  const [, major = "0", minor = "0"] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return {
    major,
    minor,
    gitVersion: version.startsWith("v") || version === "dev" ? version : `v${version}`,
    gitCommit: commit.replace(/\.dirty$/, ""),
    gitTreeState: commit === "" ? "" : commit.endsWith(".dirty") ? "dirty" : "clean",
    // buildDate is omitted, so that builds of one commit are reproducible.
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

function profilingPages(context: PortContext): Record<string, ServedPage> {
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

/** DELETE resets the metrics, as in upstream. */
function healthMetricsPage(metrics: HealthMetrics): ServedPage {
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
): Readonly<Record<string, ServedPage>> {
  const { program, provider, flags, manager } = context;
  const { clock } = context.platform;
  const metrics = new CachedValue(() => manager.metrics.text() + context.metrics.text(), clock);
  const pages: Record<string, ServedPage> = {
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
