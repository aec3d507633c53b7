// The simulated cloud: one account in one region, with the instance metadata service of one machine.

import { type Milliseconds, milliseconds, Secret, seconds } from "#ccm";
import {
  type Answer,
  type Clock,
  type CloudFault,
  type Delivery,
  DueWork,
  Refused,
  SimulatedApi,
  type SimulatedRequest,
} from "#ccm/testing";
import { signed } from "../api/signature.ts";
import { balancerOperations } from "./api/balancers.ts";
import { groupOperations } from "./api/groups.ts";
import { instanceOperations } from "./api/instances.ts";
import { containerAnswer, containerPath, metadataAnswer } from "./api/metadata.ts";
import { networkOperations } from "./api/networks.ts";
import type { QueryOperations } from "./api/operations.ts";
import { stsOperations } from "./api/sts.ts";
import { tagOperations } from "./api/tags.ts";
import { volumeOperations } from "./api/volumes.ts";
import { readForm, type SentParameters, textIn, writeXml } from "./query.ts";
import { Account, type AccountTimes } from "./state/account.ts";

export interface AwsOptions {
  readonly clock: Clock;
  /** By default, an instance starts and stops immediately. */
  readonly times?: Partial<AccountTimes>;
  readonly latency?: Milliseconds | undefined;
}

/** The services by the version of their API. */
const services: Readonly<Record<string, string>> = {
  "2016-11-15": "ec2",
  "2012-06-01": "elb",
  "2015-12-01": "elbv2",
  "2011-06-15": "sts",
};

/** The time before and after its date for which a signature is valid. */
const validity = 300_000;

function timeOf(written: string): number {
  return Date.parse(written.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}

export class AwsCloud extends SimulatedApi {
  readonly account: Account;
  /** The secrets of access keys by id. Without any, every signature is valid. */
  readonly keys = new Map<string, { readonly secret: string; readonly endsAt?: number }>();
  readonly later: DueWork;
  /** The permissions of all keys, such as `ec2:DescribeInstances`. Undefined: everything. */
  allowed: ReadonlySet<string> | undefined;
  /** How far AWS's clock is ahead of the manager's clock. */
  skew: Milliseconds = milliseconds(0);
  readonly #operations: QueryOperations;

  constructor(options: AwsOptions) {
    super(options);
    this.later = new DueWork(options.clock);
    this.account = new Account(options.clock, this.later, {
      boot: milliseconds(0),
      change: seconds(2),
      ...options.times,
    });
    const kinds = [
      ...[instanceOperations, networkOperations, groupOperations, tagOperations, balancerOperations],
      volumeOperations,
    ];
    const all = kinds.map((operations) => operations(this.account));
    this.#operations = Object.assign({}, ...all, stsOperations(this.account, this.keys));
  }

  /** Instances that requests for tags do not find, as is usual shortly after their start. */
  get untaggable(): Set<string> {
    return this.account.untaggable;
  }

  /** Completes due work, as the next request would. */
  settle(): void {
    this.later.settle();
  }

  receive(request: SimulatedRequest): Delivery {
    this.settle();
    const { method, url, text = "" } = request;
    const isContainer = url.pathname === containerPath;
    if (isContainer || url.pathname.startsWith("/latest/")) {
      const operation = `${method} ${url.pathname}`;
      const fault = this.faults.next(operation);
      const answer = isContainer ? containerAnswer : metadataAnswer;
      const serve = () => answer(this.account, this.keys, request);
      return this.respond(
        { method: "GET", body: undefined },
        { operation, path: url.pathname, fault, serve },
      );
    }
    const parameters = readForm(text);
    const [action, version] = [textIn(parameters["Action"]) ?? "", textIn(parameters["Version"]) ?? ""];
    const service = services[version] ?? "ec2";
    const operation = `${service}:${action}`;
    const fault = this.faults.next(operation);
    const serve = (): Answer => {
      try {
        return this.#serve(request, { service, action, operation }, parameters);
      } catch (error) {
        if (error instanceof Refused) return this.#refusal(service, error);
        throw error;
      }
    };
    // `respond` treats a GET request as one that changes nothing.
    const changes = !/^(Describe|AssumeRole)/.test(action);
    return this.respond(
      { method: changes ? "POST" : "GET", body: parameters },
      { operation, path: `/?Action=${action}`, fault, serve },
      () => ({ date: new Date(this.clock.now() + this.skew).toUTCString() }),
    );
  }

  protected injected({ status = 503, code = "InternalError" }: CloudFault): Answer {
    return this.#refusal("ec2", new Refused(status, "injected fault", code));
  }

  #refusal(service: string, { status, message, code = "InvalidParameterValue" }: Refused): Answer {
    const error = writeXml({ Code: code, Message: message }, "");
    const id = `request-${this.seen.length}`;
    const body =
      service === "ec2"
        ? `<Response><Errors><Error>${error}</Error></Errors><RequestID>${id}</RequestID></Response>`
        : `<ErrorResponse><Error><Type>Sender</Type>${error}</Error><RequestId>${id}</RequestId></ErrorResponse>`;
    return { status, body: `<?xml version="1.0" encoding="UTF-8"?>\n${body}`, headers: this.#headers(id) };
  }

  #headers(id: string): Readonly<Record<string, string>> {
    return { "content-type": "text/xml;charset=UTF-8", "x-amzn-requestid": id };
  }

  #serve(
    request: SimulatedRequest,
    {
      service,
      action,
      operation,
    }: { readonly service: string; readonly action: string; readonly operation: string },
    parameters: SentParameters,
  ): Answer {
    if (action !== "AssumeRoleWithWebIdentity") this.#authenticate(request);
    const permission = operation.replace(/^elb(v2)?:/, "elasticloadbalancing:");
    if (service !== "sts" && this.allowed?.has(permission) === false)
      throw new Refused(403, `You are not authorized to perform: ${permission}`, "UnauthorizedOperation");
    const serve = this.#operations[operation];
    if (serve === undefined)
      throw new Refused(400, `The action ${action} is not valid for this web service.`, "InvalidAction");
    const isHidden = (
      resource: { readonly id: number | string; readonly name: string },
      kind: "listings" | "lookups",
    ) => this.faults.isHidden(resource, kind);
    const result = serve(parameters, isHidden);
    const id = `request-${this.seen.length}`;
    const content =
      service === "ec2"
        ? `<requestId>${id}</requestId>${writeXml(result ?? { return: true }, "item")}`
        : `<${action}Result>${writeXml(result ?? {}, "member")}</${action}Result><ResponseMetadata><RequestId>${id}</RequestId></ResponseMetadata>`;
    const root = `${action}Response`;
    const body = `<?xml version="1.0" encoding="UTF-8"?>\n<${root}>${content}</${root}>`;
    return { status: 200, body, headers: this.#headers(id) };
  }

  /** Rejects a request that is not signed with a known key or has an invalid timestamp. */
  #authenticate({
    method,
    url,
    text = "",
    authorization = "",
    header = () => undefined,
  }: SimulatedRequest): void {
    if (this.keys.size === 0) return;
    const [, id = "", region = "", service = "", names = ""] =
      /Credential=([^/]+)\/\d+\/([^/]+)\/([^/]+)\/aws4_request,\s*SignedHeaders=([^,]+),/.exec(
        authorization,
      ) ?? [];
    const key = this.keys.get(id);
    const time = header("x-amz-date") ?? "";
    if (key === undefined)
      throw new Refused(401, "AWS was not able to validate the provided access credentials", "AuthFailure");
    if (Math.abs(timeOf(time) - this.clock.now() - this.skew) > validity)
      throw new Refused(400, `Request has expired. Timestamp date is ${time}.`, "RequestExpired");
    if (key.endsAt !== undefined && this.clock.now() >= key.endsAt)
      throw new Refused(400, "The security token included in the request is expired", "ExpiredToken");
    const own = names
      .split(";")
      .filter((name) => name !== "host" && name !== "x-amz-date" && name !== "x-amz-security-token");
    const headers = Object.fromEntries(own.map((name) => [name, header(name) ?? ""]));
    const token = header("x-amz-security-token");
    const sent = { operation: "", mutates: false, method, url: url.href, headers, body: text };
    const expected = signed(
      sent,
      { id, secret: new Secret(key.secret), ...(token !== undefined && { sessionToken: new Secret(token) }) },
      { region, service },
      timeOf(time),
    ).headers?.["authorization"];
    const signatureIn = (value: string | undefined) => /Signature=(\w+)/.exec(value ?? "")?.[1];
    if (signatureIn(expected) !== signatureIn(authorization))
      throw new Refused(
        403,
        "The request signature we calculated does not match the signature you provided.",
        "SignatureDoesNotMatch",
      );
  }
}
