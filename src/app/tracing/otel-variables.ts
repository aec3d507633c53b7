// Determines where to send traces and how they describe this process, from --tracing-endpoint and the OpenTelemetry
// variables. Pure.

import type { Environment } from "../../platform/environment.ts";
import type { SpanAttributes } from "../../telemetry/tracer.ts";
import { endpointProblem } from "../flags/flag-problems.ts";

export interface TraceTarget {
  /** The URL, including the path. */
  readonly url: string;
  /** The flag or variable that set the endpoint. */
  readonly source: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: SpanAttributes;
}

type Pairs = Readonly<Record<string, string>>;

const base = "OTEL_EXPORTER_OTLP_ENDPOINT";
const ofTraces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const withPath = (endpoint: string): string => `${endpoint.replace(/\/+$/, "")}/v1/traces`;

/** `name=value,name=value`, percent-encoded; undefined if an entry is malformed. */
function pairsOf(text = ""): Pairs | undefined {
  const pairs = text.split(",").flatMap((pair) => (pair.trim() === "" ? [] : [pair.split("=")]));
  if (pairs.some(([name = "", ...value]) => name.trim() === "" || value.length === 0)) return undefined;
  try {
    return Object.fromEntries(
      pairs.map(([name = "", ...value]) =>
        [name, value.join("=")].map((part) => decodeURIComponent(part.trim())),
      ),
    );
  } catch {
    return undefined;
  }
}

/** Undefined without an endpoint. As OpenTelemetry requires, an invalid variable has no effect and produces a warning. */
export function traceTarget(
  flag: string | undefined,
  environment: Environment,
  defaults: SpanAttributes,
): { readonly target: TraceTarget | undefined; readonly warnings: readonly string[] } {
  const isOff = environment["OTEL_SDK_DISABLED"] === "true" || environment["OTEL_TRACES_EXPORTER"] === "none";
  if (isOff && flag === undefined) return { target: undefined, warnings: [] };
  const sources = [
    ["--tracing-endpoint", flag && withPath(flag), flag],
    [ofTraces, environment[ofTraces], environment[ofTraces]],
    [base, environment[base] && withPath(environment[base]), environment[base]],
  ] as const;
  const given = sources.find(([, url]) => url);
  if (given === undefined) return { target: undefined, warnings: [] };
  const [source, url = "", written = ""] = given;
  const protocols = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
  const protocol = protocols.find((name) => environment[name] !== undefined);
  if (flag === undefined && protocol !== undefined && environment[protocol] === "grpc")
    return {
      target: undefined,
      warnings: [
        `${protocol} is grpc, but Fairlead sends traces with http/json only. No traces are sent; set --tracing-endpoint to the collector's HTTP endpoint, usually port 4318, and restart`,
      ],
    };
  const problem = endpointProblem(written);
  if (problem !== undefined)
    return {
      target: undefined,
      warnings: [`${source} ${problem}. No traces are sent; correct or remove the variable, and restart`],
    };
  const warnings: string[] = [];
  const pairsIn = (variable: string): Pairs => {
    const pairs = pairsOf(environment[variable]);
    if (pairs === undefined)
      warnings.push(
        `${variable} must be percent-encoded pairs such as name=value,name=value. It has no effect; correct the variable, and restart`,
      );
    return pairs ?? {};
  };
  const headers = Object.fromEntries(
    Object.entries(pairsIn("OTEL_EXPORTER_OTLP_HEADERS")).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const attributes = pairsIn("OTEL_RESOURCE_ATTRIBUTES");
  const name = environment["OTEL_SERVICE_NAME"];
  const resource = { ...defaults, ...attributes, ...(name && { "service.name": name }) };
  return { target: { url, source, headers, resource }, warnings };
}
