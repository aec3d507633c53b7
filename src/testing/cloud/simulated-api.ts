// The basis of every simulated cloud: a request becomes a response synchronously, in the time of a clock, with injected faults,
// and all requests are counted. `reach-cloud.ts` delivers the responses.

import { type Milliseconds, milliseconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import { type CloudFault, CloudFaults, type CommonFault } from "./faults.ts";

/** A request as a simulated cloud receives it. */
export interface SimulatedRequest {
  readonly method: string;
  readonly url: URL;
  /** Undefined without a body. */
  readonly body: unknown;
  /** True if there is a body that is not JSON. */
  readonly isMalformed: boolean;
  /** The body as sent, for a cloud with other formats. */
  readonly text?: string;
  readonly authorization: string | undefined;
  /** The value of a header, in any spelling. If unset, there are no further headers. */
  readonly header?: (name: string) => string | undefined;
}

/** A response. A string body is sent unchanged, any other body as JSON. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response, and how it is delivered. */
export interface Delivery {
  readonly answer: Answer;
  readonly delay: Milliseconds;
  readonly fate: "whole" | "cut" | "reset" | "refused" | "never";
}

/** A request that was processed. */
export interface Seen {
  /** The operation, such as `GET /servers/{id}`. */
  readonly operation: string;
  /** The path with ids and query. */
  readonly path: string;
  readonly mutates: boolean;
  readonly status: number;
  readonly body: unknown;
}

/** An error response that a cloud throws. */
export abstract class RequestRefusal extends Error {
  abstract toAnswer(): Answer;
}

/** How a cloud serves one request. */
export interface Serving<K extends string> {
  readonly operation: string;
  readonly path: string;
  readonly fault: CloudFault<K> | undefined;
  /** Throws a RequestRefusal for an invalid request. */
  serve(): Answer;
}

const fates: Partial<Record<string, Delivery["fate"]>> = {
  hang: "never",
  reset: "reset",
  "lost-answer": "reset",
  refused: "refused",
  cut: "cut",
};
const withoutEffect: ReadonlySet<string> = new Set(["reset", "refused", "hang"]);

/** `K` contains the cloud's own kinds of faults, which the cloud itself applies. */
export abstract class SimulatedApi<K extends string = CommonFault> {
  readonly clock: Clock;
  readonly faults: CloudFaults<K>;
  /** All requests since the last `forget`, in order. */
  seen: Seen[] = [];
  latency: Milliseconds;
  /** Headers of each response, such as `deprecation`, `sunset` and `warning`, with which a cloud announces changes. */
  announced: Readonly<Record<string, string>> = {};

  /** `faultKinds`: the cloud's own kinds, for developers who plan faults over HTTP. */
  constructor(
    { clock, latency }: { readonly clock: Clock; readonly latency?: Milliseconds | undefined },
    faultKinds?: readonly K[],
  ) {
    this.clock = clock;
    this.latency = latency ?? milliseconds(0);
    this.faults = new CloudFaults(clock, faultKinds);
  }

  abstract receive(request: SimulatedRequest): Delivery;

  /** The error response of an injected fault. */
  protected abstract injected(fault: CloudFault<K>): Answer;

  /** The number of requests since the last `forget`, by operation. */
  counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { operation } of this.seen) counts[operation] = (counts[operation] ?? 0) + 1;
    return counts;
  }

  /** The number of requests that are not GET. */
  get mutations(): number {
    return this.seen.filter(({ mutates }) => mutates).length;
  }

  /** Forgets the requests that were seen. */
  forget(): void {
    this.seen = [];
  }

  /** Serves a request unless a fault prevents it, and records it. `headers` are added to each response after it was served. */
  protected respond(
    { method, body }: Pick<SimulatedRequest, "method" | "body">,
    serving: Serving<K>,
    headers: () => Readonly<Record<string, string>> = () => ({}),
  ): Delivery {
    const { operation, path, fault } = serving;
    const answer = this.#answer(serving);
    this.seen.push({ operation, path, mutates: method !== "GET", status: answer.status, body });
    const extra = fault?.kind === "slow" ? (fault.milliseconds ?? 0) : 0;
    return {
      answer: { ...answer, headers: { ...this.announced, ...headers(), ...answer.headers } },
      delay: milliseconds(this.latency + extra),
      fate: fates[fault?.kind ?? ""] ?? "whole",
    };
  }

  #answer({ fault, serve }: Serving<K>): Answer {
    const kind: string | undefined = fault?.kind;
    if (withoutEffect.has(kind ?? "")) return { status: 599 };
    if (fault !== undefined && kind === "status") return this.injected(fault);
    if (kind === "page") {
      const headers = { "content-type": "text/html" };
      return { status: fault?.status ?? 502, body: "<html>proxy</html>", headers };
    }
    try {
      const answer = serve();
      return fault !== undefined && kind === "false-error" ? this.injected(fault) : answer;
    } catch (error) {
      if (error instanceof RequestRefusal) return error.toAnswer();
      throw error;
    }
  }
}
