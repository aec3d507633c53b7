// The simulated cloud: Keystone, Nova, Neutron, Octavia and Cinder of one project, under one address.

import { type Milliseconds, milliseconds, minutes, seconds } from "#ccm";
import {
  type Answer,
  type Clock,
  type Operations,
  Refused,
  type RequestLimit,
  RestApi,
  type SimulatedRequest,
} from "#ccm/testing";
import { OctaviaApi } from "./api/balancing.ts";
import { computeOperations } from "./api/compute.ts";
import { Keystone } from "./api/keystone.ts";
import { networkOperations } from "./api/network.ts";
import { volumeOperations } from "./api/volumes.ts";
import { Balancing } from "./state/balancing.ts";
import { Project, type ProjectTimes } from "./state/project.ts";

export interface OpenStackOptions {
  readonly clock: Clock;
  readonly latency?: Milliseconds | undefined;
  /** By default, a load balancer is PENDING for 3 s. */
  readonly times?: Partial<ProjectTimes>;
  /** The largest page of all services; default 1,000. */
  readonly pageSize?: number;
  /** The lifetime of a token; default one hour. */
  readonly tokenLife?: Milliseconds;
  /** The Keystone of another simulated cloud: this cloud is the last of its `others`. */
  readonly keystone?: Keystone;
  /** Neutron changes single routes of a router; default true. */
  readonly hasAtomicRoutes?: boolean;
}

const tokens = "POST /identity/v3/auth/tokens";
const roots = new Set(["GET /load-balancer/", "GET /network/", "GET /volume/v3/"]);
const faultNames: Readonly<Record<number, string>> = {
  400: "badRequest",
  404: "itemNotFound",
  403: "forbidden",
  409: "conflictingRequest",
  413: "overLimit",
};

export class OpenStackCloud extends RestApi {
  readonly keystone: Keystone;
  readonly project: Project;
  readonly balancing: Balancing;
  protected readonly limits: readonly RequestLimit[] = [];
  protected readonly operations: Operations;
  /** The path of the request that is served. */
  #path = "";

  constructor({
    times,
    pageSize = 1000,
    tokenLife = minutes(60),
    hasAtomicRoutes = true,
    keystone,
    ...options
  }: OpenStackOptions) {
    super(options);
    this.keystone = keystone ?? new Keystone(options.clock);
    const all = { balancer: seconds(3), volume: seconds(2), ...times };
    // Ids are unique across all places.
    this.project = new Project(options.clock, this.later, all, this.keystone.others.length * 1_000_000);
    this.balancing = new Balancing(options.clock, this.project);
    const size = { pageSize };
    this.operations = {
      [tokens]: (request) => this.keystone.issue(request, this.project.id, tokenLife),
      ...computeOperations(this.project, size),
      ...networkOperations(this.project, size, hasAtomicRoutes),
      ...new OctaviaApi(this.balancing, size).operations,
      ...volumeOperations(this.project, size),
    };
  }

  override receive(request: SimulatedRequest) {
    this.#path = request.url.pathname;
    return super.receive(request);
  }

  protected override authenticate({ header }: SimulatedRequest, operation: string): void {
    if (operation === tokens || roots.has(operation)) return;
    if (!this.keystone.accepts(header?.("x-auth-token")))
      throw new Refused(401, "The request you have made requires authentication.");
  }

  /** Each service has its own form. */
  protected refusal({ status, message, code }: Refused): Answer {
    if (status === 401 || this.#path.startsWith("/identity"))
      return { status, body: { error: { code: status, message } } };
    if (this.#path.startsWith("/network"))
      return { status, body: { NeutronError: { type: code ?? "HTTPError", message, detail: "" } } };
    if (status === 404 && this.#path.endsWith("/members"))
      return { status, body: { code: status, title: "Bad Request", description: message } };
    if (this.#path.startsWith("/load-balancer"))
      return {
        status,
        body: { faultcode: status < 500 ? "Client" : "Server", faultstring: message, debuginfo: null },
      };
    return { status, body: { [faultNames[status] ?? "computeFault"]: { code: status, message } } };
  }
}

export const quick = { balancer: milliseconds(500), volume: milliseconds(200) };
