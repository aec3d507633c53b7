// The connection to a vCenter: one session at a time, which the first request begins, and another one after vCenter has
// ended it. vCenter limits the sessions of each user, and keeps a session for half an hour after its last request.

import {
  type Call,
  CloudError,
  type CloudRequest,
  type CloudTransport,
  type Context,
  type TlsMaterial,
} from "#ccm";
import { Attempts } from "./attempts.ts";
import { type Login, loginMethodOf } from "./login.ts";
import { logOut, openSession, type Session, withSession } from "./session.ts";
import { endTagSession, openTagSession, restPath, withTagSession } from "./tags-api.ts";
import type { Endpoint } from "./vim.ts";

/** How to reach a vCenter. */
export interface VCenterAccess {
  readonly name: string;
  readonly base: string;
  readonly tls: TlsMaterial | undefined;
  /** The place of the credentials if they are not in the settings. */
  readonly credentialPlace: string | undefined;
  /** Calls `logIn` with the credentials, which may change while the process runs. */
  logIn<T>(call: Call, logIn: (login: Login) => Promise<T>): Promise<T>;
}

interface Open {
  readonly session: Session;
  /** The vCenter without a session, and the call for requests about this session. */
  readonly plain: Endpoint;
  readonly call: Call;
  /** The token of a separate session of the REST API. */
  tagToken?: Promise<string | undefined> | undefined;
  /** Whether a listing or a lookup was completed with the session. */
  hasServed: boolean;
}

const endedEarly = (name: string): CloudError =>
  new CloudError(
    "unauthorized",
    `vCenter ${name} ends each session before it has answered, so Fairlead waits longer and longer before it logs in again. Check whether a proxy distributes requests to several servers or removes cookies, and how many sessions the vCenter user has.`,
    { operation: "Login" },
  );

export class Connection {
  /** The vCenter with the session in its requests. */
  readonly endpoint: Endpoint;
  /** Whether the REST API accepts sessions of the SOAP API. */
  sharesSessions = false;
  readonly #access: VCenterAccess;
  readonly #logins = new Attempts();
  #open: Open | undefined;

  constructor(access: VCenterAccess, account: Context["account"]) {
    const { name, base, credentialPlace } = access;
    this.#access = access;
    const { transport } = account<Session>({
      name,
      credentialPlace,
      fetch: async (unsigned, call) => ({ value: await this.#begin(unsigned, call) }),
      sign: (request, session) => this.#sign(request, session),
    });
    this.endpoint = { base, transport };
  }

  /** Records that a listing or a lookup is complete, so that the session is useful. */
  confirm(): void {
    this.#logins.succeed();
    if (this.#open !== undefined) this.#open.hasServed = true;
  }

  /** Ends the session. */
  async close(call: Call): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    const tagToken = await open.tagToken?.catch(() => undefined);
    await Promise.all([
      logOut(open.plain, open.session, call),
      tagToken !== undefined && endTagSession(open.plain, tagToken, call),
    ]);
  }

  async #begin(unsigned: CloudTransport, call: Call): Promise<Session> {
    const { name, base, tls, logIn } = this.#access;
    if (this.#open?.hasServed === false) this.#logins.fail(endedEarly(name));
    // The former session may still exist.
    this.close(call).catch(() => undefined);
    this.#logins.begin();
    const transport: CloudTransport = (request, each, read) => unsigned({ ...request, tls }, each, read);
    const plain = { base, transport };
    const session = await logIn(call, async (login) =>
      openSession(plain, await loginMethodOf(login, unsigned, call), call),
    );
    this.#open = { session, plain, call, hasServed: false };
    return session;
  }

  async #sign(request: CloudRequest, session: Session): Promise<CloudRequest> {
    const own = { ...request, tls: this.#access.tls };
    if (!new URL(request.url).pathname.startsWith(restPath)) return withSession(own, session);
    const token = (await this.#ownTagToken()) ?? session.sessionToken.replaceAll('"', "");
    return withTagSession(own, token);
  }

  /**
   * The token of the separate session of the REST API, which begins with the first request; undefined if that API accepts
   * the other session.
   */
  async #ownTagToken(): Promise<string | undefined> {
    const open = this.#open;
    if (this.sharesSessions || open === undefined) return undefined;
    open.tagToken ??= this.#access.logIn(open.call, async (login) =>
      "url" in login ? undefined : openTagSession(open.plain, login, open.call),
    );
    try {
      return await open.tagToken;
    } catch (error) {
      open.tagToken = undefined;
      throw error;
    }
  }
}
