// A vCenter's credentials: from a Kubernetes Secret, from files named like its keys, or from the settings. They are read
// for each login, so a changed password is used immediately. Rejected credentials are retried at growing intervals, because vCenter
// locks accounts.

import { type Call, CloudError, type Context, Secret } from "#ccm";
import { Attempts } from "./api/attempts.ts";
import type { Login, SharedSession } from "./api/login.ts";
import type { VCenter } from "./vcenters.ts";

/** The value of a key in a Secret, or of a file with its name. */
type Values = (key: string) => string | undefined;

const operation = "Login";

/** Keys cannot contain the address of an IPv6 server: instead, `server_a` contains it, next to `username_a` and `password_a`. */
const suffixes = [..."0123456789abcdefghijklmnopqrstuvwxyz"];
const indexed = (suffix: string) => [`server_${suffix}`, `username_${suffix}`, `password_${suffix}`] as const;
const named = (server: string) => [`${server}.username`, `${server}.password`] as const;
const shared = (server: string) =>
  [`${server}.vc-session-manager-url`, `${server}.vc-session-manager-token`] as const;

/** A text that is equal for two logins with the same credentials. */
const identityOf = (login: Login): string =>
  JSON.stringify("url" in login ? [login.url, login.token.reveal()] : [login.user, login.password.reveal()]);

function loginIn(values: Values, server: string, suffixesInUse: readonly string[]): Login | undefined {
  const value = (key: string) => values(key)?.replace(/\n$/, "") || undefined;
  const [url, token] = shared(server).map(value);
  if (url !== undefined) return sharedIn(url, token, server);
  const index = suffixesInUse.find((suffix) => value(`server_${suffix}`) === server);
  const [, userKey, passwordKey] = index === undefined ? ["", ...named(server)] : indexed(index);
  const [user, password] = [value(userKey), value(passwordKey)];
  return user === undefined || password === undefined ? undefined : { user, password: new Secret(password) };
}

const refused = (text: string) => new CloudError("unauthorized", text, { operation });

/** The Go manager would send the token of its service account, which has all its permissions in the cluster. */
function sharedIn(url: string, token: string | undefined, server: string): SharedSession {
  const [urlKey, tokenKey] = shared(server);
  if (!URL.canParse(url)) throw refused(`${urlKey} is no URL, so no shared session is used. Correct it.`);
  if (token === undefined)
    throw refused(
      `${urlKey} is set, and ${tokenKey} is not, so no shared session is used. Add a token that the URL accepts.`,
    );
  return { url, token: new Secret(token) };
}

/** The Go manager treats a certificate and its key as user and password. */
function withoutCertificate(login: Login, name: string): Login {
  if ("url" in login || !login.user.includes("-----BEGIN ")) return login;
  throw refused(
    `The user of vCenter ${name} is a certificate, and a login with certificates is not supported. Set a user name and its password.`,
  );
}

/** The files that may contain a vCenter's credentials. */
export function credentialFiles({ server, secret }: VCenter, directory: string): readonly string[] {
  if (secret !== undefined) return [];
  const keys = [
    ...named(server),
    ...shared(server),
    ...(server.includes(":") ? suffixes.flatMap(indexed) : []),
  ];
  return keys.map((key) => `${directory}/${key}`);
}

export class Credentials {
  readonly #vcenter: VCenter;
  readonly #context: Pick<Context, "inputs" | "readSecret">;
  readonly #directory: string;
  readonly #attempts = new Attempts();
  #last: Login | undefined;

  constructor(vcenter: VCenter, context: Pick<Context, "inputs" | "readSecret">, directory: string) {
    this.#vcenter = vcenter;
    this.#context = context;
    this.#directory = directory;
  }

  /** The place of the credentials if they are not in the settings. */
  get place(): string | undefined {
    const { secret, user, password } = this.#vcenter;
    if (secret !== undefined) return `Secret ${secret.namespace}/${secret.name}`;
    return user !== undefined && password !== undefined ? undefined : this.#directory;
  }

  /** Logs in with the current credentials. vCenter locks an account after five rejected passwords in three minutes. */
  async use<T>(call: Call, logIn: (login: Login) => Promise<T>): Promise<T> {
    const login = await this.#read(call);
    if (this.#last !== undefined && identityOf(this.#last) !== identityOf(login)) this.#attempts.succeed();
    this.#last = login;
    this.#attempts.begin();
    try {
      const result = await logIn(login);
      this.#attempts.succeed();
      return result;
    } catch (error) {
      if (CloudError.is(error) && error.kind === "unauthorized") this.#attempts.fail(error);
      throw error;
    }
  }

  async #read(call: Call): Promise<Login> {
    const { name, server, secret, user, password } = this.#vcenter;
    const inSecret = secret && (await this.#context.readSecret(secret, call));
    const valueIn: Values =
      secret === undefined
        ? (key) => this.#context.inputs.file(`${this.#directory}/${key}`)?.reveal()
        : (key) => inSecret?.get(key)?.reveal();
    const found = loginIn(valueIn, server, suffixes);
    if (found !== undefined) return withoutCertificate(found, name);
    if (user !== undefined && password !== undefined) return withoutCertificate({ user, password }, name);
    const wanted = named(server).join(" and ");
    const known = inSecret && ` Its keys are ${[...inSecret.keys()].join(", ") || "none"}.`;
    const problem =
      secret !== undefined && inSecret === undefined
        ? `${this.place} does not exist. Create it with ${wanted}`
        : `${this.place} has no ${wanted} for vCenter ${name}.${known ?? ""} Add them`;
    const [one, other] = user === undefined ? ["user", "password"] : ["password", "user"];
    const isHalf = user !== undefined || password !== undefined;
    throw refused(
      `${problem}, or set ${isHalf ? `${one}, because only ${other} is set` : "user and password"}.`,
    );
  }
}
