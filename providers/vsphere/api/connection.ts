// The connection to a vCenter: one session at a time, which the first request begins, and another one after vCenter has ended it.

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
import { Session } from "./session.ts";
import { openTagSession, restPath } from "./tags-api.ts";
import type { Endpoint } from "./vim.ts";

/** How to reach a vCenter. */
export interface VCenterAccess {
  readonly name: string;
  readonly base: string;
  readonly tls: TlsMaterial | undefined;
  /** Calls `logIn` with the credentials, which may change while the process runs. */
  logIn<T>(call: Call, logIn: (login: Login) => Promise<T>): Promise<T>;
}

const endedEarly = (name: string): CloudError =>
  new CloudError(
    "unauthorized",
    `vCenter ${name} ends each session before it has answered, so Fairlead logs in ever less often. Check whether a proxy distributes requests to several servers or removes cookies, and how many sessions the user has.`,
    { operation: "Login" },
  );

export class Connection {
  /** Its requests have a session. */
  readonly endpoint: Endpoint;
  /** Whether the REST API accepts sessions of the SOAP API. */
  sharesSessions = false;
  readonly #access: VCenterAccess;
  readonly #logins = new Attempts();
  #session: Session | undefined;

  constructor(access: VCenterAccess, account: Context["account"]) {
    const { name, base } = access;
    this.#access = access;
    const { transport } = account<Session>({
      name,
      fetch: async (unsigned, call) => ({ value: await this.#begin(unsigned, call) }),
      sign: (request, session) => this.#sign(request, session),
    });
    this.endpoint = { base, transport };
  }

  /** A listing or a lookup is complete, so the session is of use. */
  confirm(): void {
    this.#logins.succeed();
    if (this.#session !== undefined) this.#session.hasServed = true;
  }

  /** Ends the session. */
  async close(call: Call): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.close(call);
  }

  async #begin(unsigned: CloudTransport, call: Call): Promise<Session> {
    const { name, base, tls, logIn } = this.#access;
    const former = this.#session;
    this.#session = undefined;
    // It may be alive, and would count for half an hour.
    former?.close(call).catch(() => undefined);
    if (former?.hasServed === false) this.#logins.fail(endedEarly(name));
    this.#logins.begin();
    const transport: CloudTransport = (request, each, read) => unsigned({ ...request, tls }, each, read);
    this.#session = await logIn(call, async (login) =>
      Session.open({ base, transport }, await loginMethodOf(login, unsigned, call), call),
    );
    return this.#session;
  }

  #sign(request: CloudRequest, session: Session): CloudRequest | Promise<CloudRequest> {
    const { tls, logIn } = this.#access;
    const own = { ...request, tls };
    if (!new URL(request.url).pathname.startsWith(restPath)) return session.sign(own);
    return session.signTags(own, async () =>
      this.sharesSessions
        ? undefined
        : logIn(session.call, async (login) =>
            "url" in login ? undefined : openTagSession(session.endpoint, login, session.call),
          ),
    );
  }
}
