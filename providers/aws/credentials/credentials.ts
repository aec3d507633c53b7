// AWS credentials by the standard chain (profile of the settings, access key, web identity,
// default profile, container, instance metadata), and the roles that are assumed with them.

import {
  type Call,
  CloudError,
  type CloudRequest,
  type CloudTransport,
  type Context,
  type Fetched,
  type InputDeclaration,
  resolveOnce,
  Secret,
} from "#ccm";
import { type Access, callUnsigned, QueryApi, type Service } from "../api/query-api.ts";
import type { AccessKey } from "../api/signature.ts";
import type { Settings } from "../settings.ts";
import { endpointOf } from "./endpoints.ts";
import { type InstanceMetadata, parsed } from "./metadata.ts";
import { type Profile, readProfiles } from "./shared-files.ts";

type KeySource = (plain: CloudTransport, call: Call) => Promise<Fetched<AccessKey>>;

const sts: Service<"AssumeRole" | "AssumeRoleWithWebIdentity"> = {
  name: "STS",
  account: "sts",
  id: "sts",
  version: "2011-06-15",
  entry: "member",
  actions: { AssumeRole: [], AssumeRoleWithWebIdentity: [] },
};

function sharedFiles(settings: Settings): { readonly credentials?: string; readonly config?: string } {
  const { home, "shared-credentials-file": credentials, "shared-config-file": config } = settings;
  const inHome = (name: string) => (home === undefined ? {} : { [name]: `${home}/.aws/${name}` });
  return {
    ...inHome("credentials"),
    ...inHome("config"),
    ...(credentials !== undefined && { credentials }),
    ...(config !== undefined && { config }),
  };
}

/** The files that the chain reads. Shared files need not exist. */
export function credentialFiles(settings: Settings): readonly InputDeclaration[] {
  const needed = [settings["web-identity-token-file"], settings["container-token-file"]];
  return [
    ...needed.flatMap((path) => (path === undefined ? [] : [{ kind: "File", path } as const])),
    ...Object.values(sharedFiles(settings)).map((path) => ({ kind: "File", path, optional: true }) as const),
  ];
}

function unusable(text: string): CloudError {
  return new CloudError("unauthorized", text, { operation: "AssumeRole" });
}

function staticKey(id: string, secret: Secret, token?: Secret): KeySource {
  return async () => ({ value: { id, secret, sessionToken: token } });
}

interface TemporaryKey {
  readonly AccessKeyId: string;
  readonly SecretAccessKey: string;
  /** The name that STS gives the token. */
  readonly SessionToken: string;
  /** The name that containers and machines give the token. */
  readonly Token: string;
  readonly Expiration: string;
}

function temporaryKey(key: Partial<TemporaryKey>, operation: string): Fetched<AccessKey> {
  const { AccessKeyId: id, SecretAccessKey: secret, SessionToken, Token, Expiration } = key;
  const token = SessionToken ?? Token;
  if (!id || !secret || !token)
    throw new CloudError("unavailable", `${operation} returned no access key; check for a proxy.`, {
      operation,
    });
  const end = Date.parse(Expiration ?? "");
  return {
    value: { id, secret: new Secret(secret), sessionToken: new Secret(token) },
    ...(!Number.isNaN(end) && { goodUntil: { at: end } }),
  };
}

/** The credentials of a container: ECS names a path, EKS a URL with a token in a file. */
function fromContainer(settings: Settings, inputs: Context["inputs"]): KeySource | undefined {
  const { "container-credentials-path": path, "container-credentials-url": full } = settings;
  const url = path === undefined ? full : `http://169.254.170.2${path}`;
  if (url === undefined) return undefined;
  const operation = `GET ${new URL(url).pathname}`;
  return async (plain, call) => {
    const file = settings["container-token-file"];
    const token =
      file === undefined ? settings["container-token"]?.reveal() : inputs.file(file)?.reveal().trim();
    const headers = token === undefined ? undefined : { authorization: token };
    const request: CloudRequest = {
      operation,
      mutates: false,
      method: "GET",
      url,
      ...(headers && { headers }),
    };
    const text = await plain(request, call, async (response) => {
      if (response.ok) return response.text();
      const { status } = response;
      const answered = `${operation}: the container's credentials answered ${status}.`;
      throw new CloudError("unavailable", answered, { operation, status });
    });
    return temporaryKey(parsed<TemporaryKey>(text), operation);
  };
}

/** A role to assume. `name` is the account name. */
interface Assumption {
  readonly role: string;
  readonly name: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly id?: string | undefined;
}

/** The parts of the chain that need the settings, the files and the network. */
class Chain {
  readonly #settings: Settings;
  readonly #context: Pick<Context, "account" | "inputs">;
  readonly #metadata: InstanceMetadata;
  readonly #profiles: ReadonlyMap<string, Profile>;
  readonly region: (call: Call) => Promise<string>;

  constructor(settings: Settings, context: Pick<Context, "account" | "inputs">, metadata: InstanceMetadata) {
    this.#settings = settings;
    this.#context = context;
    this.#metadata = metadata;
    const { credentials = "", config = "" } = sharedFiles(settings);
    const content = (path: string) => context.inputs.file(path)?.reveal() ?? "";
    this.#profiles = readProfiles(content(credentials), content(config));
    const known =
      settings.region ??
      /^([a-z]+-)+\d+/.exec(settings.zone ?? "")?.[0] ??
      this.#profiles.get(settings.profile ?? "default")?.["region"];
    this.region = resolveOnce(async (call) => known ?? (await metadata.ownInstance(call)).region);
  }

  readonly endpointOf: Access["endpointOf"] = (service, region) => {
    const { endpoint, "sts-endpoint": sts, "service-overrides": overrides } = this.#settings;
    return endpointOf(service, region, {
      overrides,
      url: service.name === "STS" ? (sts ?? endpoint) : endpoint,
    });
  };

  key(): KeySource {
    const settings = this.#settings;
    const { "access-key-id": id, "secret-access-key": secret, "role-arn": role } = settings;
    const base =
      settings.profile !== undefined
        ? this.#fromProfile(settings.profile)
        : id !== undefined && secret !== undefined
          ? staticKey(id.reveal(), secret, settings["session-token"])
          : (this.#fromWebIdentity() ?? this.#fromProfile("default"));
    if (role === undefined) return base;
    const source = settings["source-arn"];
    const account = role.split(":")[4] ?? "";
    const headers = {
      "x-amz-source-account": account,
      ...(source !== undefined && { "x-amz-source-arn": source }),
    };
    return this.#assumed(base, { role, name: "sts", headers });
  }

  #fromMachine(): KeySource {
    const metadata: KeySource = async (_, call) =>
      temporaryKey(
        parsed<TemporaryKey>(await this.#metadata.credentials(call)),
        "GET /latest/meta-data/iam/security-credentials/",
      );
    return fromContainer(this.#settings, this.#context.inputs) ?? metadata;
  }

  /** Uses the keys in the profile; without keys, the credentials of the machine. */
  #fromProfile(name: string, users: readonly string[] = []): KeySource {
    const profile = this.#profiles.get(name);
    if (profile === undefined && name !== "default")
      return async () => {
        const known = [...this.#profiles.keys()].join(", ") || "none";
        throw unusable(
          `The profile ${JSON.stringify(name)} is not in the shared files, which have ${known}. Set AWS_PROFILE to one of them, or add it.`,
        );
      };
    const { role_arn: role, source_profile: source, aws_session_token: token } = profile ?? {};
    const { aws_access_key_id: id, aws_secret_access_key: secret } = profile ?? {};
    const other = Object.keys(profile ?? {}).find((key) =>
      /^(sso_|credential_process|web_identity_token_file)/.test(key),
    );
    const hasKey = id !== undefined && secret !== undefined;
    const own = hasKey
      ? staticKey(id, new Secret(secret), token === undefined ? undefined : new Secret(token))
      : undefined;
    if (role === undefined || users.includes(name)) {
      if (own !== undefined || other === undefined) return own ?? this.#fromMachine();
    } else if (source !== undefined || other === undefined) {
      const base = source === undefined ? this.#fromMachine() : this.#fromProfile(source, [...users, name]);
      return this.#assumed(base, { role, name: `sts-${name}`, id: profile?.["external_id"] });
    }
    return async () => {
      throw unusable(
        `The profile ${JSON.stringify(name)} has ${other}, which Fairlead does not use. Set an access key, AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN, or run Fairlead on a machine with a role.`,
      );
    };
  }

  #fromWebIdentity(): KeySource | undefined {
    const { "web-identity-token-file": file, "web-identity-role-arn": role } = this.#settings;
    if (file === undefined || role === undefined) return undefined;
    return async (plain, call) => {
      const parameters = {
        RoleArn: role,
        RoleSessionName: this.#settings["role-session-name"],
        WebIdentityToken: this.#context.inputs.file(file)?.reveal().trim(),
      };
      const { url } = this.endpointOf(sts, await this.region(call));
      const action = "AssumeRoleWithWebIdentity";
      const { Credentials } = await callUnsigned<{ readonly Credentials?: TemporaryKey }, typeof action>(
        sts,
        url,
        { action, parameters },
        plain,
        call,
      );
      return temporaryKey(Credentials ?? {}, action);
    };
  }

  /** The key of a role that is assumed with another key. */
  #assumed(base: KeySource, { role, name, headers, id }: Assumption): KeySource {
    const api = new QueryApi(
      { ...sts, account: name },
      { session: this.#sessionOf(base), endpointOf: this.endpointOf },
      this.#context.account,
    );
    const parameters = {
      RoleArn: role,
      RoleSessionName: this.#settings["role-session-name"],
      ExternalId: id,
    };
    return async (_, call) => {
      const { Credentials } = await api.call<{ readonly Credentials?: TemporaryKey }>(
        "AssumeRole",
        parameters,
        call,
        headers,
      );
      return temporaryKey(Credentials ?? {}, "AssumeRole");
    };
  }

  #sessionOf(source: KeySource): Access["session"] {
    return async (plain, call) => {
      const { value: key, goodUntil } = await source(plain, call);
      return { value: { key, region: await this.region(call) }, goodUntil };
    };
  }

  access(): Access {
    return { session: this.#sessionOf(this.key()), endpointOf: this.endpointOf };
  }
}

/** The access to AWS that the settings describe, and its region. */
export function accessOf(
  settings: Settings,
  context: Pick<Context, "account" | "inputs">,
  metadata: InstanceMetadata,
): Access & { readonly region: (call: Call) => Promise<string> } {
  const chain = new Chain(settings, context, metadata);
  return { ...chain.access(), region: chain.region };
}
