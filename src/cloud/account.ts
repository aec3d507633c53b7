// Opens an account of a provider: a transport with its own credential, rate budget and circuit breakers. A call that is
// rejected as unauthorized is repeated once with a new credential; one that stays rejected is tried with growing intervals.

import { type Milliseconds, minutes, seconds } from "../core/brand.ts";
import { messageOf } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { type OpenSocket, SocketError } from "../platform/socket.ts";
import type { Transport } from "../platform/transport.ts";
import type { Call, CloudRequest, CloudTransport } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { Account, OpenAccount } from "../provider/provider.ts";
import type { BreakerState } from "../runtime/breaker.ts";
import { Budget } from "../runtime/budget.ts";
import type { WriteGate } from "../runtime/write-gate.ts";
import { type CredentialHint, RejectedCredential, RenewingCredential } from "./credential.ts";
import { type CloudCallReport, GovernedTransport } from "./governed-transport.ts";
import { reserveByRank, urgencyRanks } from "./urgency.ts";

export interface AccountContext {
  readonly transport: Transport;
  readonly openSocket?: OpenSocket | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly mayMutate: WriteGate;
  readonly report: (call: CloudCallReport) => void;
  readonly signal: AbortSignal;
  readonly deadline?: Milliseconds;
  /** Concurrent requests of one account. */
  readonly maxInFlight?: number;
  /** The budgets by account, which outlive a connection: what the cloud has said about its limits stays valid. */
  readonly budgets?: Map<string, Budget>;
  /** What to check when the cloud rejects the credentials or refuses an operation. */
  readonly credentialHint?: CredentialHint | undefined;
}

export interface GovernedAccount<T> extends OpenAccount<T> {
  readonly name: string;
  readonly budget: Budget;
  /** The circuit breaker of each endpoint. */
  readonly breakers: () => readonly { readonly endpoint: string; readonly state: BreakerState }[];
}

function authorizationOf({ headers = {} }: CloudRequest): string | undefined {
  const name = Object.keys(headers).find((each) => each.toLowerCase() === "authorization");
  return name === undefined ? undefined : headers[name];
}

export function openAccount<T>(account: Account<T>, context: AccountContext): GovernedAccount<T> {
  const { transport, clock, random, mayMutate, report, signal, credentialHint } = context;
  const budget =
    context.budgets?.get(account.name) ??
    new Budget({ clock, maxInFlight: context.maxInFlight ?? 16, reserve: reserveByRank });
  context.budgets?.set(account.name, budget);
  const common = {
    account: account.name,
    transport,
    clock,
    random,
    report,
    deadline: context.deadline ?? seconds(30),
    credentialHint,
  };
  // A separate budget: fetching a credential must not queue behind the calls that wait for it.
  const unsigned = new GovernedTransport({
    ...common,
    budget: new Budget({ clock, maxInFlight: 2, reserve: [] }),
    mayMutate: () => true,
    isCredentialFetch: true,
    sign: async (request) => request,
  });
  const fetchCall: Call = { signal, urgency: "user-change" };
  const credential = new RenewingCredential(clock, random, () => account.fetch(unsigned.send, fetchCall));
  const signedWith = new WeakMap<CloudRequest, T>();
  const authorizations = new WeakMap<CloudRequest, string | undefined>();
  const governed = new GovernedTransport({
    ...common,
    budget,
    mayMutate,
    rateLimit: account.rateLimit?.bind(account),
    costOf: account.costOf?.bind(account),
    sign: async (request) => {
      const value = await credential.current();
      signedWith.set(request, value);
      const signed = await account.sign(request, value, clock.now());
      authorizations.set(request, authorizationOf(signed));
      return signed;
    },
  });

  // Separate, because a credential may be valid for reads only.
  const rejectedReads = new RejectedCredential<T>(clock);
  const rejectedChanges = new RejectedCredential<T>(clock);
  const attempt: CloudTransport = async (request, call, read) => {
    const rejected = request.mutates ? rejectedChanges : rejectedReads;
    if (rejected.value !== undefined) {
      // Fetched for each request, so that a new one is used immediately.
      credential.discard(rejected.value);
      const error = rejected.errorOf(await credential.current(), call.urgency);
      if (error !== undefined) throw error;
      return governed.send(request, call, read);
    }
    try {
      return await governed.sendFirst(request, call, read);
    } catch (error) {
      if (!CloudError.is(error) || error.kind !== "unauthorized") throw error;
      // The request has no credential, so the fetch itself was rejected. Its backoff decides when to try again.
      if (!signedWith.has(request)) throw error;
      credential.discard(signedWith.get(request));
      return governed.send(request, call, read);
    }
  };
  const send: CloudTransport = async (request, call, read) => {
    const rejected = request.mutates ? rejectedChanges : rejectedReads;
    try {
      const result = await attempt(request, call, (response) =>
        readWithoutSecrets(read, response, [signedWith.get(request), authorizations.get(request)]),
      );
      rejected.accept();
      return result;
    } catch (error) {
      const value = signedWith.get(request);
      if (value !== undefined && CloudError.is(error) && error.kind === "unauthorized")
        rejected.reject(value, error);
      throw error;
    }
  };
  return {
    name: account.name,
    budget,
    breakers: () => governed.breakers,
    transport: send,
    messages: (request, call) =>
      receiveMessages(
        { account, open: context.openSocket, credential, rejected: rejectedReads, budget, clock, report },
        request,
        call,
      ),
    credential: () => credential.current(),
  };
}

// Receives the messages of a WebSocket with the credential of an account. Opening it counts as a request for the rate limit.

export interface MessagesOptions<T> {
  readonly account: Account<T>;
  readonly open: OpenSocket | undefined;
  readonly credential: RenewingCredential<T>;
  /** Of requests that read. */
  readonly rejected: Pick<RejectedCredential<T>, "errorOf">;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly report: (call: CloudCallReport) => void;
}

export async function* receiveMessages<T>(
  { account, open, credential, rejected, budget, clock, report }: MessagesOptions<T>,
  request: CloudRequest,
  { urgency, signal }: Call,
): AsyncIterable<string> {
  const { operation } = request;
  const failed = (why: string, cause?: unknown): CloudError =>
    new CloudError("unavailable", `${operation} failed: ${why}`, { operation, cause });
  if (open === undefined) throw failed("this process has no WebSockets.");
  const began = clock.monotonic();
  const rank = urgencyRanks[urgency];
  budget.leave(await budget.enter({ rank, operation, cost: 1, maxWait: minutes(2) }, signal));
  const value = await credential.current();
  const rejection = rejected.errorOf(value, urgency);
  if (rejection !== undefined) throw rejection;
  const signed = await account.sign(request, value, clock.now());
  let isOpen = false;
  try {
    for await (const message of open(signed, signal)) {
      const durationMs = clock.monotonic() - began;
      // A failure says nothing about other requests, so only the stream reports it.
      if (!isOpen) report({ account: account.name, operation, mutates: false, status: 101, durationMs });
      isOpen = true;
      yield message;
    }
  } catch (error) {
    if (error instanceof SocketError && error.status === 401) credential.discard(value);
    throw signal.aborted ? error : failed(messageOf(error), error);
  }
}

// Removes the credential from errors. Some servers and proxies repeat a rejected credential in the body of the error, and
// providers quote that body in messages.

/** Shorter texts could be part of any message. */
const shortest = 6;
const deepest = 4;

/** The texts in a credential, or in a signed request: themselves, and the part after a scheme such as Bearer. */
function textsIn(value: unknown, depth = 0): readonly string[] {
  if (value instanceof Secret) return textsIn(value.reveal(), depth);
  if (typeof value === "string") return [value, value.slice(value.indexOf(" ") + 1)];
  if (depth === deepest || typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((each) => textsIn(each, depth + 1));
}

function redact(error: unknown, secrets: readonly string[]): void {
  if (!(error instanceof Error)) return;
  const without = (text: string): string =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
  const { stack } = error;
  error.message = without(error.message);
  if (stack !== undefined) error.stack = without(stack);
  redact(error.cause, secrets);
}

/** Reads a response; no error of `read` contains what is in `values`. */
export async function readWithoutSecrets<T>(
  read: (response: Response) => Promise<T>,
  response: Response,
  values: readonly unknown[],
): Promise<T> {
  try {
    return await read(response);
  } catch (error) {
    const texts = values.flatMap((value) => textsIn(value)).filter((text) => text.length >= shortest);
    // The longest first: one may contain another.
    redact(
      error,
      [...new Set(texts)].toSorted((a, b) => b.length - a.length),
    );
    throw error;
  }
}
