// The JSON of OTLP, the protocol of OpenTelemetry, for a batch of spans. Pure.

import type { Span, SpanAttributes } from "./tracer.ts";

const kinds = { internal: 1, client: 3 } as const;
const statusError = 2;

function attributesOf(attributes: SpanAttributes): readonly object[] {
  return Object.entries(attributes).flatMap(([key, value]): readonly object[] => {
    if (value === undefined) return [];
    if (typeof value === "string") return [{ key, value: { stringValue: value } }];
    if (typeof value === "boolean") return [{ key, value: { boolValue: value } }];
    // 64-bit integers are strings in protobuf's JSON.
    return [{ key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } }];
  });
}

/** Wall time in milliseconds as nanoseconds, which do not fit into a number. */
function nanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((milliseconds - whole) * 1_000_000)));
}

function spanOf({ trace, id, parent, name, kind, startedAt, durationMs, attributes, error }: Span): object {
  return {
    traceId: trace,
    spanId: id,
    ...(parent !== undefined && { parentSpanId: parent }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(startedAt + durationMs),
    attributes: attributesOf(attributes),
    ...(error !== undefined && { status: { code: statusError, message: error } }),
  };
}

/** The body of `POST /v1/traces`. `resource` describes the process. */
export function tracesJson(resource: SpanAttributes, spans: readonly Span[]): string {
  const scopeSpans = [{ scope: { name: "fairlead" }, spans: spans.map(spanOf) }];
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans }],
  });
}
