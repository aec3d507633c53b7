// Receives WebSocket messages with the credential of an account. Opening the socket counts as a request for the rate limit.

import { minutes } from "../core/brand.ts";
import { messageOf } from "../core/error-message.ts";
import type { Clock } from "../platform/clock.ts";
import { type OpenSocket, SocketError } from "../platform/socket.ts";
import type { Call, CloudRequest } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { Account } from "../provider/provider.ts";
import type { Budget } from "../runtime/budget.ts";
import type { RejectedCredential, RenewingCredential } from "./credential.ts";
import type { CloudCallReport } from "./governed-transport.ts";
import { urgencyRanks } from "./urgency.ts";

export interface MessagesOptions<T> {
  readonly account: Account<T>;
  readonly open: OpenSocket | undefined;
  readonly credential: RenewingCredential<T>;
  /** The credential rejections of read requests. */
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
  await budget.enter({ rank, operation, maxWait: minutes(2) }, signal);
  budget.leave();
  const value = await credential.current();
  const rejection = rejected.errorOf(value, urgency);
  if (rejection !== undefined) throw rejection;
  const signed = await account.sign(request, value, clock.now());
  let isOpen = false;
  try {
    for await (const message of open(signed, signal)) {
      const durationMs = clock.monotonic() - began;
      // The failure does not affect other requests, so only the stream reports it.
      if (!isOpen) report({ account: account.name, operation, mutates: false, status: 101, durationMs });
      isOpen = true;
      yield message;
    }
  } catch (error) {
    if (error instanceof SocketError && error.status === 401) credential.discard(value);
    throw signal.aborted ? error : failed(messageOf(error), error);
  }
}
