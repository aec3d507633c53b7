// Requests to the services as a person or a test sends them: with the password of a user, and without the provider.

import { type ports, urlOf } from "./configuration.ts";

export type Json = Readonly<Record<string, unknown>>;
type Service = keyof typeof ports;

const bases: Readonly<Partial<Record<Service, string>>> = {
  keystone: `${urlOf("keystone")}/v3`,
  nova: `${urlOf("nova")}/v2.1`,
  neutron: `${urlOf("neutron")}/v2.0`,
  octavia: `${urlOf("octavia")}/v2.0/lbaas`,
  glance: `${urlOf("glance")}/v2`,
  // Omits the project id, which is optional.
  cinder: `${urlOf("cinder")}/v3`,
};

const domain = { id: "default" };

export class ApiClient {
  readonly #token: string;
  readonly userID: string;

  private constructor(token: string, userID: string) {
    this.#token = token;
    this.userID = userID;
  }

  /** Logs in; the user has a project with the same name. */
  static async logIn(name: string, password: string): Promise<ApiClient> {
    const user = { name, domain, password };
    const auth = {
      identity: { methods: ["password"], password: { user } },
      scope: { project: { name, domain } },
    };
    const response = await fetch(`${bases.keystone}/auth/tokens`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ auth }),
    });
    const body = (await response.json()) as { readonly token?: { readonly user: { readonly id: string } } };
    const token = response.headers.get("x-subject-token");
    if (body.token === undefined || token === null) throw new Error(`No token: ${JSON.stringify(body)}`);
    return new ApiClient(token, body.token.user.id);
  }

  async send<T = Json>(
    service: Service,
    method: string,
    path: string,
    body?: object | Uint8Array<ArrayBuffer>,
  ): Promise<T> {
    const isBinary = body instanceof Uint8Array;
    const response = await fetch(`${bases[service]}${path}`, {
      method,
      headers: {
        "x-auth-token": this.#token,
        "content-type": isBinary ? "application/octet-stream" : "application/json",
      },
      ...(body && { body: isBinary ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} of ${service} returned ${response.status}: ${text}`);
    return (text === "" ? {} : JSON.parse(text)) as T;
  }

  /** Creates an object with the kind in the body, and returns it. */
  async create(service: Service, path: string, kind: string, object: object): Promise<Json & { id: string }> {
    const body = await this.send<Readonly<Record<string, Json & { id: string }>>>(service, "POST", path, {
      [kind]: object,
    });
    const created = body[kind];
    if (created === undefined) throw new Error(`POST ${path} returned no ${kind}.`);
    return created;
  }

  /** Revokes a token of any user. */
  async revoke(token: string): Promise<void> {
    const headers = { "x-auth-token": this.#token, "x-subject-token": token };
    const { status } = await fetch(`${bases.keystone}/auth/tokens`, { method: "DELETE", headers });
    if (status !== 204) throw new Error(`The revocation returned ${status}.`);
  }

  /** The objects of a collection, whose name is the last part of the path. */
  async list<T = Json & { id: string }>(service: Service, path: string): Promise<readonly T[]> {
    const kind = /([\w-]+?)(\/detail)?(\?.*)?$/.exec(path)?.[1]?.replaceAll("-", "_") ?? "";
    return (await this.send<Readonly<Record<string, readonly T[]>>>(service, "GET", path))[kind] ?? [];
  }
}
