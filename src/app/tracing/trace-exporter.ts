// Sends finished spans to an OpenTelemetry collector in batches. A slow or unavailable collector only loses spans: the number
// of waiting spans is limited, and no work waits for them.

import { type Milliseconds, seconds } from "../../core/brand.ts";
import { messageOf } from "../../core/error-message.ts";
import { withoutFullStop } from "../../core/text.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import type { Transport } from "../../platform/transport.ts";
import { withDeadline } from "../../runtime/deadline.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Counter } from "../../telemetry/metrics.ts";
import { type Span, tracesJson } from "../../telemetry/tracer.ts";
import type { TraceTarget } from "./otel-variables.ts";

const interval = seconds(5);
const deadline = seconds(10);
const lastDeadline = seconds(2);
const maxWaiting = 4096;
const maxBatch = 512;

export interface TraceExporterOptions {
  readonly target: TraceTarget;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly log: Log;
  readonly redact: (text: string) => string;
  /** The number of spans by result: exported or dropped. */
  readonly spans: Counter;
}

export class TraceExporter {
  readonly #options: TraceExporterOptions;
  #waiting: Span[] = [];
  #isFailing = false;

  constructor(options: TraceExporterOptions) {
    this.#options = options;
  }

  add(span: Span): void {
    if (this.#waiting.length < maxWaiting) this.#waiting.push(span);
    else this.#options.spans.add({ result: "dropped" });
  }

  /** Sends waiting spans every few seconds, and once more when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#options.clock, interval, signal).catch(() => undefined);
      await this.#flush(signal.aborted ? lastDeadline : deadline);
    }
  }

  async #flush(limit: Milliseconds): Promise<void> {
    const spans = this.#waiting;
    this.#waiting = [];
    for (let first = 0; first < spans.length; first += maxBatch) {
      const batch = spans.slice(first, first + maxBatch);
      const problem = await this.#send(batch, limit);
      this.#options.spans.add({ result: problem === undefined ? "exported" : "dropped" }, batch.length);
      this.#report(problem);
      if (problem === undefined) continue;
      // The next batch would fail, too.
      const rest = spans.length - first - batch.length;
      if (rest > 0) this.#options.spans.add({ result: "dropped" }, rest);
      return;
    }
  }

  /** Returns the problem, or undefined. */
  async #send(batch: readonly Span[], limit: Milliseconds): Promise<string | undefined> {
    const { target, transport, clock, redact } = this.#options;
    const { url, headers, resource } = target;
    const body = redact(tracesJson(resource, batch));
    const request = {
      method: "POST",
      url,
      body,
      headers: { ...headers, "content-type": "application/json" },
    };
    try {
      // The stop signal must not cancel the last batch.
      const life = new AbortController().signal;
      return await withDeadline(clock, limit, "The collector", life, async (signal) => {
        const response = await transport(request, signal);
        await response.body?.cancel();
        return response.ok ? undefined : `status ${response.status}`;
      });
    } catch (error) {
      return messageOf(error);
    }
  }

  #report(problem: string | undefined): void {
    const { log, target } = this.#options;
    const { url, source } = target;
    if (problem !== undefined && !this.#isFailing)
      log.warn(
        `Traces cannot be sent to ${url}: ${withoutFullStop(problem)}. The spans are dropped until the collector answers; nothing else is affected. Check ${source}.`,
      );
    if (problem === undefined && this.#isFailing) log.info(`Traces are sent to ${url} again`);
    this.#isFailing = problem !== undefined;
  }
}
