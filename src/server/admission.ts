// The admission webhook endpoint: takes an AdmissionReview and returns the webhook's decision with the same uid. Invalid reviews
// get an error status, which `failurePolicy: Ignore` admits. Clients are not authenticated, so their number, their rate and the
// size of reviews are limited, and reviews are processed sequentially.

import { milliseconds, seconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import { formatDuration } from "../core/duration.ts";
import type { Clock } from "../platform/clock.ts";
import type { ServedRequest, ServedResponse } from "../platform/listener.ts";
import { jsonAnswer, refusal } from "./answers.ts";
import { ClientLimits } from "./client-limits.ts";
import { readTarget } from "./secure-port.ts";

export interface AdmissionInput {
  readonly operation: string;
  /** The object as sent; undefined if the review has none. */
  readonly object: unknown;
  readonly oldObject: unknown;
}

export interface AdmissionDecision {
  /** Why the request is denied; undefined admits it. */
  readonly refusal?: string;
  /** Warnings that kubectl shows. */
  readonly warnings?: readonly string[];
}

export interface Webhook {
  readonly name: string;
  readonly path: string;
  readonly judge: (input: AdmissionInput) => AdmissionDecision;
}

export interface AdmissionOptions {
  readonly webhooks: readonly Webhook[];
  readonly clock: Pick<Clock, "monotonic" | "after">;
  readonly onAnswer: (webhook: string, code: number, durationMs: number, isRefusal: boolean) => void;
  /** Called when a webhook throws. */
  readonly onInternalError: (webhook: string, error: unknown) => void;
}

/**
 * A review contains two Services, each with at most 256 KiB of annotations. It is parsed without a pause, and twice the size
 * could delay a renewal of the Lease by 100 ms.
 */
const maxBody = 1024 * 1024;
/** A Service has a few hundred members, and each annotation adds one. 20,000 members take about 20 ms, 100,000 about 100 ms. */
const maxStructure = { depth: 64, members: 20_000 } as const;
/** An API server sends a review for each write of a Service. */
const limits = { inFlight: 16, inFlightOfClient: 8, perSecond: 200 } as const;
/** An API server sends a review immediately, and waits at most 30 s for the answer. */
const bodyWithin = seconds(2);
const reviewVersion = "admission.k8s.io/v1";
const late = Symbol("late");
/** The API server truncates longer messages. */
const maxText = 1000;

function truncate(text: string): string {
  return text.length > maxText ? `${text.slice(0, maxText - 1)}…` : text;
}

interface Review {
  readonly uid: string;
  readonly input: AdmissionInput;
}

type Fields = Readonly<Record<string, unknown>>;
function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** A value for messages. `String` throws for an object whose `toString` is not a function. */
const shown = (value: unknown): string =>
  truncate(typeof value === "string" ? value : `${JSON.stringify(value)}`);

/** The review, or why the text is invalid. */
function readReview(text: string): Review | string {
  const exceeded = exceededLimit(text, maxStructure);
  if (exceeded !== undefined)
    return `it has a ${exceeded === "depth" ? "depth" : "number of members"} above ${maxStructure[exceeded]}`;
  let review: Fields | undefined;
  try {
    review = fieldsOf(JSON.parse(text));
  } catch {
    return "the body is not JSON";
  }
  if (review?.["kind"] !== "AdmissionReview" || review["apiVersion"] !== reviewVersion) {
    return `expected kind AdmissionReview of ${reviewVersion}, got ${shown(review?.["kind"])} of ${shown(review?.["apiVersion"])}`;
  }
  const { uid, operation, object, oldObject } = fieldsOf(review["request"]) ?? {};
  if (typeof uid !== "string" || uid === "") return "request.uid is missing";
  return { uid, input: { operation: shown(operation), object, oldObject } };
}

function toReview(uid: string, { refusal: reason, warnings = [] }: AdmissionDecision) {
  return {
    apiVersion: reviewVersion,
    kind: "AdmissionReview",
    response: {
      uid,
      allowed: reason === undefined,
      ...defined({
        status:
          reason === undefined ? undefined : { message: truncate(reason), reason: "Invalid", code: 422 },
        warnings: warnings.length === 0 ? undefined : warnings.slice(0, 10).map(truncate),
      }),
    },
  };
}

function isJSON({ headers }: ServedRequest): boolean {
  // As in upstream, a charset parameter is not accepted.
  return headers.find(([name]) => name === "content-type")?.[1] === "application/json";
}

interface Outcome {
  readonly response: ServedResponse;
  readonly isRefusal: boolean;
}

const failed = (status: number, message: string): Outcome => ({
  response: refusal(status, message),
  isRefusal: false,
});

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #limits: ClientLimits;
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#limits = new ClientLimits(limits, options.clock);
  }

  async serve(request: ServedRequest): Promise<ServedResponse> {
    const { webhooks, clock, onAnswer } = this.#options;
    const started = clock.monotonic();
    const path = readTarget(request.target)?.path;
    const webhook = webhooks.find((candidate) => candidate.path === path);
    if (webhook === undefined) {
      onAnswer("none", 404, clock.monotonic() - started, false);
      const paths = webhooks.map((candidate) => candidate.path).join(", ");
      return refusal(404, `No webhook at this path. Webhooks: ${paths}.`);
    }
    const { response, isRefusal } = await this.#limited(webhook, request);
    onAnswer(webhook.name, response.status, clock.monotonic() - started, isRefusal);
    return response;
  }

  async #limited(webhook: Webhook, request: ServedRequest): Promise<Outcome> {
    const leave = this.#limits.enter(request.client);
    if (leave === undefined) return failed(429, "Too many reviews. Retry in a second.");
    try {
      return await this.#judge(webhook, request);
    } finally {
      leave();
    }
  }

  async #judge(webhook: Webhook, request: ServedRequest): Promise<Outcome> {
    if (request.method !== "POST") return failed(405, "Send the AdmissionReview by POST.");
    if (!isJSON(request)) return failed(400, "The content type must be application/json.");
    const body = await this.#read(request);
    if (body === late) return failed(408, `The body must arrive within ${formatDuration(bodyWithin)}.`);
    if (body === undefined) return failed(413, `The body must not exceed ${maxBody} bytes.`);
    await this.#nextTurn();
    const review = readReview(body);
    if (typeof review === "string") return failed(400, `Invalid AdmissionReview: ${review}.`);
    try {
      const judgement = webhook.judge(review.input);
      const response = jsonAnswer(toReview(review.uid, judgement));
      return { response, isRefusal: judgement.refusal !== undefined };
    } catch (error) {
      this.#options.onInternalError(webhook.name, error);
      return failed(500, "Internal error; see the log of the controller manager.");
    }
  }

  /** A client that sends slowly must not hold a place. */
  #read(request: ServedRequest): Promise<string | typeof late | undefined> {
    const { clock } = this.#options;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(bodyWithin, () => resolve(late));
      request.body(maxBody).finally(cancel).then(resolve, reject);
    });
  }

  /** Processes one review per turn of the event loop, so that timers and sockets never wait longer. */
  #nextTurn(): Promise<void> {
    const { clock } = this.#options;
    this.#lastTurn = this.#lastTurn.then(
      () => new Promise((resolve) => clock.after(milliseconds(0), resolve)),
    );
    return this.#lastTurn;
  }
}

interface JsonLimits {
  readonly depth: number;
  /** The number of members in all objects together. */
  readonly members: number;
}

const [quote, backslash, colon] = [34, 92, 58];
const [openBrace, closeBrace, openBracket, closeBracket] = [123, 125, 91, 93];

/**
 * Which limit the text exceeds; undefined if none. The text need not be valid. Checked before parsing, because many members and
 * deep nesting cost far more time than their bytes suggest.
 */
function exceededLimit(text: string, limits: JsonLimits): keyof JsonLimits | undefined {
  let depth = 0;
  let members = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) index = endOfString(text, index);
    else if (code === openBrace || code === openBracket) depth += 1;
    else if (code === closeBrace || code === closeBracket) depth -= 1;
    else if (code === colon) members += 1;
    if (depth > limits.depth) return "depth";
    if (members > limits.members) return "members";
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  let end = start + 1;
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end);
    if (code === quote) break;
    if (code === backslash) end += 1;
  }
  return end;
}
