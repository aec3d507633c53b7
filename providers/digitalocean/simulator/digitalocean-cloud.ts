// The simulated cloud: one account, its rate limits, and its error responses.

import { type Milliseconds, milliseconds, seconds } from "#ccm";
import { type Answer, type Clock, type Operations, type Refused, RequestLimit, RestApi } from "#ccm/testing";
import { balancerOperations } from "./api/balancers.ts";
import { certificateOperations } from "./api/certificates.ts";
import { dropletOperations } from "./api/droplets.ts";
import { firewallOperations } from "./api/firewalls.ts";
import { networkOperations } from "./api/networks.ts";
import { tagOperations } from "./api/tags.ts";
import { volumeOperations } from "./api/volumes.ts";
import { Account, type AccountTimes } from "./state/account.ts";

export interface DigitalOceanOptions {
  readonly clock: Clock;
  /** By default, a load balancer is `new` for a minute and rejects changes for 2 s after a change, and a droplet starts immediately. */
  readonly times?: Partial<AccountTimes>;
  readonly latency?: Milliseconds | undefined;
  /** Default 5,000, as in the real cloud. */
  readonly requestsPerHour?: number;
  /** Default 250, as in the real cloud. */
  readonly requestsPerMinute?: number;
}

/** The id of an error, by status. */
const errorIds: Readonly<Record<number, string>> = {
  400: "bad_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  422: "unprocessable_entity",
  429: "too_many_requests",
  503: "service_unavailable",
};

/** The API has one message for each of these statuses. */
const messages: Readonly<Record<number, string>> = {
  401: "Unable to authenticate you",
  404: "The resource you were accessing could not be found.",
  429: "API rate limit exceeded.",
};

const minute = 60_000;

export class DigitalOceanCloud extends RestApi {
  readonly account: Account;
  readonly hourly: RequestLimit;
  protected readonly limits: readonly RequestLimit[];
  protected readonly operations: Operations;

  constructor(options: DigitalOceanOptions) {
    super(options);
    const { clock, times, requestsPerHour = 5000, requestsPerMinute = 250 } = options;
    const defaults = { activation: seconds(60), change: seconds(2), boot: milliseconds(0) };
    this.account = new Account(this.later, clock, { ...defaults, ...times });
    this.hourly = new RequestLimit(clock, requestsPerHour);
    this.limits = [this.hourly, new RequestLimit(clock, requestsPerMinute, minute)];
    const kinds = [dropletOperations, balancerOperations, certificateOperations, firewallOperations];
    const all = [...kinds, tagOperations, networkOperations, volumeOperations].map((operations) =>
      operations(this.account),
    );
    this.operations = Object.assign({}, ...all);
  }

  protected refusal({ status, message, code }: Refused): Answer {
    const id = code ?? errorIds[status] ?? "server_error";
    const isLimited = status === 429 && this.hourly.remaining > 0;
    return {
      status,
      body: { id, message: messages[status] ?? message, request_id: `request-${this.seen.length}` },
      ...(isLimited && { headers: { "retry-after": "1" } }),
    };
  }

  protected override headers(): Readonly<Record<string, string>> {
    return { "x-request-id": `request-${this.seen.length}`, ...super.headers() };
  }
}
