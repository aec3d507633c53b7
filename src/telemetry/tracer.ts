// OpenTelemetry spans: reconciles, and the requests that they send. A request belongs to the span that is open where it was
// sent; a request for a shared listing has no parent.

import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Span {
  /** 32 hexadecimal digits. */
  readonly trace: string;
  /** 16 hexadecimal digits. */
  readonly id: string;
  readonly parent: string | undefined;
  readonly name: string;
  /** A client span sends a request. */
  readonly kind: "internal" | "client";
  /** Wall-clock time in milliseconds. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly attributes: SpanAttributes;
  /** Absent on success. */
  readonly error: string | undefined;
}

/** A completed request. */
export interface TracedRequest {
  /** The header with which the request was sent. */
  readonly traceparent?: string | undefined;
  readonly name: string;
  readonly durationMs: number;
  readonly attributes: SpanAttributes;
  readonly error?: string | undefined;
}

/** How a piece of work is described once it has ended. */
export interface TracedWork {
  readonly name: string;
  readonly attributes: SpanAttributes;
}

interface OpenSpan {
  readonly trace: string;
  readonly id: string;
  readonly isSampled: boolean;
  hasEnded: boolean;
}

export interface TracerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The share of traces that are recorded, from 0 to 1. */
  readonly ratio: number;
  readonly onEnd: (span: Span) => void;
}

export class Tracer {
  readonly #options: TracerOptions;
  readonly #open = new AsyncLocalStorage<OpenSpan>();

  constructor(options: TracerOptions) {
    this.#options = options;
  }

  /** Runs the work in a span of a new trace. Requests that it sends belong to that trace. */
  async run<T>({ name, attributes }: TracedWork, work: () => Promise<T>): Promise<T> {
    const { clock, onEnd } = this.#options;
    const open = { ...this.#ids(), isSampled: this.#isSampled(), hasEnded: false };
    const startedAt = clock.now();
    const began = clock.monotonic();
    let error: string | undefined;
    try {
      return await this.#open.run(open, work);
    } catch (thrown) {
      error = thrown instanceof Error ? thrown.message : String(thrown);
      throw thrown;
    } finally {
      open.hasEnded = true;
      const { trace, id } = open;
      const durationMs = clock.monotonic() - began;
      const common = { parent: undefined, kind: "internal" } as const;
      if (open.isSampled) onEnd({ trace, id, name, startedAt, durationMs, attributes, error, ...common });
    }
  }

  /**
   * The header that makes a server's spans part of this trace, for a request that is about to be sent. Undefined outside a recorded trace.
   */
  traceparent(): string | undefined {
    const open = this.#open.getStore();
    return open?.hasEnded === false && open.isSampled ? `00-${open.trace}-${this.#ids().id}-01` : undefined;
  }

  /** Records a request that ends now. */
  request({ name, durationMs, attributes, error, traceparent }: TracedRequest): void {
    const open = this.#open.getStore();
    // Work that a reconcile has started may send requests after the reconcile ends.
    const parent = traceparent !== undefined || open?.hasEnded === false ? open : undefined;
    if (!(parent?.isSampled ?? this.#isSampled())) return;
    const own = this.#ids();
    const id = traceparent?.split("-")[2] ?? own.id;
    const startedAt = this.#options.clock.now() - durationMs;
    const ids = { trace: parent?.trace ?? own.trace, id, parent: parent?.id };
    this.#options.onEnd({ ...ids, name, kind: "client", startedAt, durationMs, attributes, error });
  }

  #ids(): { readonly trace: string; readonly id: string } {
    const digits = () => this.#options.random.uuid().replaceAll("-", "");
    return { trace: digits(), id: digits().slice(0, 16) };
  }

  #isSampled(): boolean {
    const { ratio, random } = this.#options;
    return ratio >= 1 || random.fraction() < ratio;
  }
}

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

/** Wall-clock time in milliseconds as nanoseconds, which do not fit into a number. */
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

/** The body of `POST /v1/traces` of OTLP, the protocol of OpenTelemetry. `resource` describes the process. */
export function tracesJson(resource: SpanAttributes, spans: readonly Span[]): string {
  const scopeSpans = [{ scope: { name: "fairlead" }, spans: spans.map(spanOf) }];
  return JSON.stringify({
    resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans }],
  });
}
