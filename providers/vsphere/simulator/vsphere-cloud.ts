// The simulated vCenter: its SOAP API at /sdk, and the REST API of its tags.

import { type Milliseconds, Xml, xml } from "#ccm";
import {
  type Answer,
  type Clock,
  type CloudFault,
  type CommonFault,
  commonFaults,
  type Delivery,
  Refused,
  SimulatedApi,
  type SimulatedRequest,
} from "#ccm/testing";
import { Pages, searchMethods } from "./api/property-methods.ts";
import { type Context, type Method, type Returned, readRequest } from "./api/request.ts";
import { sessionMethods } from "./api/session-methods.ts";
import { answerRest, restOperation } from "./api/tag-operations.ts";
import { Fault, notAuthenticated } from "./fault.ts";
import { Inventory } from "./state/inventory.ts";
import { Sessions } from "./state/sessions.ts";
import { TagStore } from "./state/tags.ts";

export interface VSphereOptions {
  readonly clock: Clock;
  readonly latency?: Milliseconds | undefined;
  /** Machines of vCenters with other names have other UUIDs. */
  readonly name?: string;
}

/** `short-page`: a page lacks a machine that its view has. */
export type VSphereFault = CommonFault | "short-page";

const open: ReadonlySet<string> = new Set(["RetrieveServiceContent", "Login", "CloneSession"]);
const xmlHeaders = { "content-type": "text/xml; charset=utf-8" };

function envelope(content: Xml): string {
  return xml`<?xml version="1.0" encoding="UTF-8"?>
<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>${content}</soapenv:Body></soapenv:Envelope>`
    .text;
}

const refusal = ({ status, message }: Refused): Answer => ({
  status,
  body: { type: "com.vmware.vapi.std.errors.error", value: { messages: [{ default_message: message }] } },
});

export class VSphereCloud extends SimulatedApi<VSphereFault> {
  readonly inventory: Inventory;
  readonly tags = new TagStore();
  readonly sessions: Sessions;
  /** Sessions of the REST API. */
  readonly restSessions: Sessions;
  /**
   * Clients with this token get tickets for the user's sessions at `/shared-session`, the URL of a session manager in front of
   * vCenter.
   */
  shared: { readonly user: string; readonly token: string } | undefined;
  /** Since 8.0.3, the REST API accepts sessions of the SOAP API. */
  apiVersion = "8.0.3.0";
  readonly #methods: Readonly<Record<string, Method>>;
  #isSoap = true;

  constructor(options: VSphereOptions) {
    super(options, [...commonFaults, "short-page"]);
    const { clock, name = "vcenter" } = options;
    this.inventory = new Inventory(name);
    this.sessions = new Sessions(clock);
    this.restSessions = new Sessions(clock);
    const pages = new Pages();
    this.#methods = {
      ...sessionMethods,
      ...searchMethods,
      RetrievePropertiesEx: pages.retrieve,
      ContinueRetrievePropertiesEx: pages.next,
    };
  }

  /** Adds a user of both APIs. */
  addUser(user: string, password: string): void {
    this.sessions.users.set(user, password);
    this.restSessions.users.set(user, password);
  }

  /** Ends all sessions, as a restart of vCenter does. */
  restart(): void {
    this.sessions.endAll();
    this.restSessions.endAll();
  }

  receive(request: SimulatedRequest): Delivery {
    const { url, text = "", body } = request;
    this.#isSoap = url.pathname === "/sdk";
    if (!this.#isSoap) {
      const operation = restOperation(request);
      const fault = this.faults.next(operation);
      const serve = (): Answer => {
        try {
          if (url.pathname === "/shared-session") return this.#ticketFor(request);
          const { tags, sessions, restSessions } = this;
          const soapSessions = this.apiVersion >= "8.0.3" ? sessions : undefined;
          return answerRest(request, { tags, sessions: restSessions, soapSessions });
        } catch (error) {
          if (error instanceof Refused) return refusal(error);
          throw error;
        }
      };
      return this.respond({ method: "GET", body }, { operation, path: url.pathname, fault, serve });
    }
    const { method, sent } = readRequest(text);
    const fault = this.faults.next(method);
    const serve = (): Answer => {
      try {
        return this.#answer(method, this.#call(method, sent, request, fault));
      } catch (error) {
        if (error instanceof Fault) return this.#faultAnswer(error);
        throw error;
      }
    };
    // No method changes the inventory.
    return this.respond(
      { method: "GET", body: sent },
      { operation: method, path: url.pathname, fault, serve },
    );
  }

  #ticketFor({ authorization }: SimulatedRequest): Answer {
    const { shared } = this;
    if (shared === undefined || authorization !== `Bearer ${shared.token}`)
      throw new Refused(401, "Authentication required.");
    return { status: 200, body: { token: this.sessions.ticket(shared.user) } };
  }

  protected injected({ status = 500, code = "RuntimeFault" }: CloudFault<VSphereFault>): Answer {
    if (!this.#isSoap) return refusal(new Refused(status, "injected fault", code));
    return { ...this.#faultAnswer(new Fault(code, "injected fault")), status };
  }

  #call(
    name: string,
    sent: Parameters<Method>[0],
    { header }: SimulatedRequest,
    fault: CloudFault<VSphereFault> | undefined,
  ): Returned {
    const method = this.#methods[name];
    if (method === undefined) throw new Fault("InvalidRequest", `Unable to resolve WSDL method name ${name}`);
    const key = /vmware_soap_session="?([^";]+)/.exec(header?.("cookie") ?? "")?.[1];
    const session = key !== undefined && this.sessions.use(key) !== undefined ? key : undefined;
    if (session === undefined && !open.has(name)) throw notAuthenticated();
    const context: Context = {
      inventory: this.inventory,
      sessions: this.sessions,
      apiVersion: this.apiVersion,
      session,
      isHidden: (machine, kind) => this.faults.isHidden(machine, kind),
      takeShortPage: () => fault?.kind === "short-page",
    };
    return method(sent, context);
  }

  #answer(method: string, { content, cookie }: Returned): Answer {
    const tag = new Xml(`${method}Response`);
    const body = envelope(xml`<${tag} xmlns="urn:vim25">${content}</${tag}>`);
    const set =
      cookie === undefined ? {} : { "set-cookie": `vmware_soap_session="${cookie}"; Path=/; HttpOnly` };
    return { status: 200, body, headers: { ...xmlHeaders, ...set } };
  }

  #faultAnswer({ type, message, content }: Fault): Answer {
    const detail = new Xml(`${type}Fault`);
    const body = envelope(
      xml`<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>${message}</faultstring><detail><${detail} xmlns="urn:vim25" xsi:type="${type}">${content}</${detail}></detail></soapenv:Fault>`,
    );
    return { status: 500, body, headers: xmlHeaders };
  }
}
