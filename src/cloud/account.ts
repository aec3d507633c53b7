// Opens an account of a provider: a transport with its own credential, rate budget and circuit breakers. A call that
// is rejected as unauthorized is repeated once with a new credential. If the new credential is rejected too, it is
// tried at growing intervals.

import type { Announcement } from "../core/announcements.ts";
import { type Milliseconds, seconds } from "../core/brand.ts";
import { credentialTexts, Redaction } from "../core/redaction.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { OpenSocket } from "../platform/socket.ts";
import type { Transport } from "../platform/transport.ts";
import type { Call, CloudRequest, CloudTransport } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { Account, OpenAccount } from "../provider/provider.ts";
import type { BreakerState } from "../runtime/breaker.ts";
import { Budget } from "../runtime/budget.ts";
import type { WriteGate } from "../runtime/write-gate.ts";
import { RejectedCredential, RenewingCredential } from "./credential.ts";
import type { CredentialHint } from "./credential-hint.ts";
import { type CloudCallReport, GovernedTransport } from "./governed-transport.ts";
import { receiveMessages } from "./receive-messages.ts";
import { reserveByRank } from "./urgency.ts";

export interface AccountContext {
  readonly transport: Transport;
  readonly openSocket?: OpenSocket | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly mayMutate: WriteGate;
  readonly report: (call: CloudCallReport) => void;
  /** Receives the announcements that a provider finds. */
  readonly announce?: (found: Announcement) => void;
  readonly signal: AbortSignal;
  readonly deadline?: Milliseconds;
  /** The maximum number of concurrent requests of the account. */
  readonly maxInFlight?: number;
  /** The budgets by account. They outlive a connection, so that limits which the cloud reported stay valid. */
  readonly budgets?: Map<string, Budget>;
  /** Learns fetched credentials, and removes all known secrets from errors. */
  readonly redaction?: Redaction | undefined;
  /** What to check when the cloud rejects the credentials or denies an operation. */
  readonly credentialHint?: CredentialHint | undefined;
}

export interface GovernedAccount<T> extends OpenAccount<T> {
  readonly name: string;
  readonly budget: Budget;
  /** The circuit breaker of each endpoint. */
  readonly breakers: () => readonly { readonly endpoint: string; readonly state: BreakerState }[];
}

export function openAccount<T>(account: Account<T>, context: AccountContext): GovernedAccount<T> {
  const { transport, clock, random, mayMutate, report, signal, credentialHint } = context;
  const { redaction = new Redaction() } = context;
  const budget =
    context.budgets?.get(account.name) ??
    new Budget({
      clock,
      maxInFlight: context.maxInFlight ?? 32,
      reserve: reserveByRank,
      requestsPerMinute: account.requestsPerMinute,
    });
  context.budgets?.set(account.name, budget);
  const common = {
    account: account.name,
    transport,
    clock,
    random,
    report,
    deadline: context.deadline ?? seconds(30),
    credentialHint,
    redaction,
  };
  // A separate budget, because fetching a credential must not queue behind the calls that wait for the credential.
  const unsigned = new GovernedTransport({
    ...common,
    budget: new Budget({ clock, maxInFlight: 2, reserve: [] }),
    mayMutate: () => true,
    isCredentialFetch: true,
    sign: async (request) => request,
  });
  const fetchCall: Call = { signal, urgency: "user-change" };
  const credential = new RenewingCredential(clock, random, async () => {
    const fetched = await account.fetch(unsigned.send, fetchCall).catch((error: unknown) => {
      throw redaction.clean(error);
    });
    for (const text of credentialTexts(fetched.value)) redaction.add(text);
    return fetched;
  });
  const signedWith = new WeakMap<CloudRequest, T>();
  const governed = new GovernedTransport({
    ...common,
    budget,
    mayMutate,
    rateLimit: account.rateLimit?.bind(account),
    sign: async (request) => {
      const value = await credential.current();
      signedWith.set(request, value);
      return account.sign(request, value, clock.now());
    },
  });

  // Tracked separately, because a credential may be valid for reads only.
  const rejectedReads = new RejectedCredential<T>(clock);
  const rejectedChanges = new RejectedCredential<T>(clock);
  const attempt: CloudTransport = async (request, call, read) => {
    const rejected = request.mutates ? rejectedChanges : rejectedReads;
    if (rejected.value !== undefined) {
      // The credential is fetched for each request, so that a new credential is used immediately.
      credential.discard(rejected.value);
      const error = rejected.errorOf(await credential.current(), call.urgency);
      if (error !== undefined) throw error;
      return governed.send(request, call, read);
    }
    try {
      return await governed.sendFirst(request, call, read);
    } catch (error) {
      if (!CloudError.is(error) || error.kind !== "unauthorized") throw error;
      // The request was not signed, so the credential fetch itself was rejected. Its backoff determines the next attempt.
      if (!signedWith.has(request)) throw error;
      credential.discard(signedWith.get(request));
      return governed.send(request, call, read);
    }
  };
  const send: CloudTransport = async (request, call, read) => {
    const rejected = request.mutates ? rejectedChanges : rejectedReads;
    try {
      const result = await attempt(request, call, read);
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
