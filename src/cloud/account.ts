// An account of a provider, opened: its credential renews itself, its budget and breaker are its own, and a call that is
// refused for its credential is made once more with a new one.

import { type Milliseconds, seconds } from "../core/brand.ts";
import type { Clock } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import type { Transport } from "../platform/transport.ts";
import type { Call, CloudRequest, CloudTransport } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { Account, OpenAccount } from "../provider/provider.ts";
import type { Breaker, BreakerState } from "../runtime/breaker.ts";
import { Budget } from "../runtime/budget.ts";
import { type CloudCallReport, governedTransport, type MutationGate } from "./governed-transport.ts";
import { renewingCredential } from "./renewing-credential.ts";
import { reserveByRank } from "./urgency.ts";

export interface AccountContext {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly mayMutate: MutationGate;
  readonly report: (call: CloudCallReport) => void;
  readonly signal: AbortSignal;
  readonly deadline?: Milliseconds;
  /** Requests of one account at the same time. */
  readonly maxInFlight?: number;
}

export interface GovernedAccount<T> extends OpenAccount<T> {
  readonly name: string;
  readonly budget: Budget;
  /** Whether each endpoint is asked at all now. */
  readonly breakers: () => readonly { readonly endpoint: string; readonly state: BreakerState }[];
}

export function openAccount<T>(account: Account<T>, context: AccountContext): GovernedAccount<T> {
  const { transport, clock, random, mayMutate, report, signal } = context;
  const budget = new Budget({ clock, maxInFlight: context.maxInFlight ?? 16, reserve: reserveByRank });
  const common = {
    account: account.name,
    transport,
    clock,
    random,
    report,
    deadline: context.deadline ?? seconds(30),
  };
  // Fetching a credential has places of its own: it must not wait behind the calls that wait for it.
  const plain = governedTransport({
    ...common,
    budget: new Budget({ clock, maxInFlight: 2, reserve: [] }),
    mayMutate: () => ({ may: true }),
    sign: async (request) => request,
  });
  const fetchCall: Call = { signal, urgency: "user-change" };
  const credential = renewingCredential(clock, () => account.fetch(plain, fetchCall));
  const signedWith = new WeakMap<CloudRequest, T>();
  const breakers = new Map<string, Breaker>();
  const governed = governedTransport({
    ...common,
    breakers,
    budget,
    mayMutate,
    sign: async (request) => {
      const value = await credential.current();
      signedWith.set(request, value);
      return account.sign(request, value, clock.now());
    },
  });

  const send: CloudTransport = async (request, call, read) => {
    try {
      return await governed(request, call, read);
    } catch (error) {
      if (!CloudError.is(error) || error.kind !== "unauthorized") throw error;
      // Refused before there was a credential: the fetch of one was, and making it again is for later.
      if (!signedWith.has(request)) throw error;
      credential.forget(signedWith.get(request));
      return governed(request, call, read);
    }
  };
  return {
    name: account.name,
    budget,
    breakers: () => [...breakers].map(([endpoint, { state }]) => ({ endpoint, state })),
    transport: send,
    credential: () => credential.current(),
  };
}
