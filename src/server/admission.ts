// The admission webhook as a page: an AdmissionReview in, one out with the same uid. It judges nothing itself; who hands it
// a judge decides what is refused. It never stands in the way of a delete, or of what it does not understand.

import type { ServedHandler, ServedRequest, ServedResponse } from "../platform/listener.ts";
import { jsonAnswer, refusal } from "./answers.ts";
import { readTarget } from "./secure-port.ts";

export interface AdmissionInput {
  readonly operation: string;
  /** As they came; undefined where there is none. */
  readonly object: unknown;
  readonly oldObject: unknown;
}

export interface Judgement {
  /** Why it is refused; undefined lets it through. */
  readonly refusal?: string;
  /** Shown by kubectl. */
  readonly warnings?: readonly string[];
}

export interface Webhook {
  readonly name: string;
  readonly path: string;
  readonly judge: (question: AdmissionInput) => Judgement;
}

export interface AdmissionOptions {
  readonly webhooks: readonly Webhook[];
  readonly monotonic: () => number;
  readonly onAnswer: (webhook: string, code: number, durationMs: number, isRefusal: boolean) => void;
  readonly onAccident: (webhook: string, error: unknown) => void;
}

/** An object has 1.5 MiB at the most in etcd, and there are two of them. */
const longestBody = 4 * 1024 * 1024;
const reviewVersion = "admission.k8s.io/v1";
/** What the API server cuts off is of no use, and neither is a page of it. */
const longestText = 1000;
function cut(text: string): string {
  return text.length > longestText ? `${text.slice(0, longestText - 1)}…` : text;
}

interface Review {
  readonly uid: string;
  readonly question: AdmissionInput;
}

type Fields = Readonly<Record<string, unknown>>;
function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** What is wrong with it, as text, where it is no review. */
function readReview(text: string): Review | string {
  let review: Fields | undefined;
  try {
    review = fieldsOf(JSON.parse(text));
  } catch {
    return "the body is not JSON";
  }
  if (review?.["kind"] !== "AdmissionReview" || review["apiVersion"] !== reviewVersion) {
    return `expected an AdmissionReview of ${reviewVersion}, got ${cut(String(review?.["kind"]))} of ${cut(String(review?.["apiVersion"]))}`;
  }
  const request = fieldsOf(review["request"]);
  const { uid, operation, object, oldObject } = request ?? {};
  if (typeof uid !== "string" || uid === "") return "the review has no request with a uid";
  return { uid, question: { operation: String(operation), object, oldObject } };
}

function answerOf(uid: string, { refusal: why, warnings = [] }: Judgement) {
  return {
    apiVersion: reviewVersion,
    kind: "AdmissionReview",
    response: {
      uid,
      allowed: why === undefined,
      ...(why !== undefined && { status: { message: cut(why), reason: "Invalid", code: 422 } }),
      ...(warnings.length > 0 && { warnings: warnings.slice(0, 10).map(cut) }),
    },
  };
}

function isJSON({ headers }: ServedRequest): boolean {
  return headers.find(([name]) => name === "content-type")?.[1] === "application/json";
}

export function createAdmission(options: AdmissionOptions): ServedHandler {
  const { webhooks, monotonic, onAnswer, onAccident } = options;

  const judged = async (webhook: Webhook, request: ServedRequest): Promise<[ServedResponse, boolean]> => {
    if (request.method !== "POST") return [refusal(405, "A review is sent by POST."), false];
    // Exactly this, as upstream: a charset behind it is not understood.
    if (!isJSON(request)) return [refusal(400, "Expected the content type application/json."), false];
    const body = await request.body(longestBody);
    if (body === undefined) return [refusal(413, `Expected at most ${longestBody} bytes.`), false];
    const review = readReview(body);
    if (typeof review === "string") return [refusal(400, `This is no review: ${review}.`), false];
    try {
      const judgement = webhook.judge(review.question);
      return [jsonAnswer(answerOf(review.uid, judgement)), judgement.refusal !== undefined];
    } catch (error) {
      onAccident(webhook.name, error);
      return [refusal(500, "Internal error: the review could not be made; the log says why."), false];
    }
  };

  return async (request) => {
    const began = monotonic();
    const path = readTarget(request.target)?.path;
    const webhook = webhooks.find((each) => each.path === path);
    if (webhook === undefined) {
      onAnswer("none", 404, monotonic() - began, false);
      return refusal(
        404,
        `There is no webhook here; there are ${webhooks.map((each) => each.path).join(", ")}.`,
      );
    }
    const [response, isRefusal] = await judged(webhook, request);
    onAnswer(webhook.name, response.status, monotonic() - began, isRefusal);
    return response;
  };
}
