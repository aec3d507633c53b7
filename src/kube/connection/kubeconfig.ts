// Reads a cluster and a user of a kubeconfig as validated values, and reports every problem in
// them. Opens none of the files to which they refer. Pure.

import { defined } from "../../core/defined.ts";
import { impersonationHeaders } from "./impersonation.ts";
import { type Entry, type FieldReader, isFields } from "./kubeconfig-fields.ts";

export interface KubeconfigCluster {
  readonly server: string;
  readonly caFile?: string;
  readonly caData?: string;
  readonly serverName?: string;
  readonly skipVerification: boolean;
  readonly proxy?: string;
}

export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint?: string;
  readonly provideClusterInfo: boolean;
}

export interface KubeconfigUser {
  readonly token?: string;
  readonly tokenFile?: string;
  readonly certFile?: string;
  readonly certData?: string;
  readonly keyFile?: string;
  readonly keyData?: string;
  readonly exec?: ExecPlugin;
  /** Headers that make the API server act as another user. */
  readonly impersonation?: Readonly<Record<string, string>>;
}

const execVersions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

function isWebAddress(address: string): boolean {
  return /^https?:$/.test(URL.parse(address)?.protocol ?? "");
}

export function readCluster({ read, fields, at: path }: Entry): KubeconfigCluster | undefined {
  const server = read.text(fields, "server", path);
  if (server === undefined || !isWebAddress(server)) {
    read.problems.push(
      `${path}.server must be an address like https://host:6443, got ${JSON.stringify(server ?? "")}.`,
    );
    return undefined;
  }
  const proxy = read.text(fields, "proxy-url", path);
  if (proxy !== undefined && !isWebAddress(proxy)) {
    read.problems.push(
      `${path}.proxy-url must be an http:// or https:// address. Fairlead supports no SOCKS proxy, unlike kubectl. Set an HTTP proxy, or forward a local port to the API server and set it as server.`,
    );
  }
  return {
    server,
    skipVerification: read.flag(fields, "insecure-skip-tls-verify", path),
    ...defined({
      caFile: read.resolve(read.text(fields, "certificate-authority", path)),
      caData: read.decoded(fields, "certificate-authority-data", path),
      serverName: read.text(fields, "tls-server-name", path),
      proxy,
    }),
  };
}

function readEnvironment(read: FieldReader, list: unknown, path: string): Readonly<Record<string, string>> {
  const env: Record<string, string> = {};
  for (const entry of Array.isArray(list) ? list : []) {
    const name = isFields(entry) ? read.text(entry, "name", path) : undefined;
    if (name === undefined || !isFields(entry)) {
      read.problems.push(`${path} must be a list of entries with a name and a value.`);
    } else env[name] = read.text(entry, "value", path) ?? "";
  }
  return env;
}

function readExec(read: FieldReader, fields: unknown, path: string): ExecPlugin | undefined {
  if (fields === undefined || fields === null) return undefined;
  if (!isFields(fields)) {
    read.problems.push(`${path} must have a command and an apiVersion.`);
    return undefined;
  }
  const command = read.text(fields, "command", path);
  const isPath = command?.includes("/") === true;
  const apiVersion = read.text(fields, "apiVersion", path) ?? "";
  if (command === undefined) read.problems.push(`${path}.command is missing.`);
  if (!execVersions.includes(apiVersion)) {
    read.problems.push(
      `${path}.apiVersion must be ${execVersions.join(" or ")}, got ${JSON.stringify(apiVersion)}.`,
    );
  }
  if (fields["interactiveMode"] === "Always") {
    read.problems.push(
      `${path}.interactiveMode is Always, but Fairlead cannot run plugins interactively. Set Never or IfAvailable.`,
    );
  }
  return {
    apiVersion,
    command: (isPath ? read.resolve(command) : command) ?? "",
    args: read.texts(fields, "args", path),
    env: readEnvironment(read, fields["env"], `${path}.env`),
    provideClusterInfo: read.flag(fields, "provideClusterInfo", path),
    ...defined({ installHint: read.text(fields, "installHint", path) }),
  };
}

/** Kubernetes removed `azure` and `gcp` in 1.26; `oidc` is the only provider in kubectl. */
function authProviderProblem(fields: unknown, path: string): string | undefined {
  if (!isFields(fields)) return undefined;
  const name = typeof fields["name"] === "string" ? fields["name"] : "set";
  return name === "oidc"
    ? `${path} is oidc, which kubectl supports and Fairlead does not. Use exec with a plugin for OpenID Connect, such as kubelogin.`
    : `${path} is ${name}, which Kubernetes 1.26 removed. Use exec with the plugin of the cloud.`;
}

export function readUser({ read, fields, at: path }: Entry): KubeconfigUser {
  if (fields["username"] || fields["password"]) {
    read.problems.push(
      `${path} has a username and password, which Kubernetes removed in 1.19. Use a token, a certificate or exec.`,
    );
  }
  const problem = authProviderProblem(fields["auth-provider"], `${path}.auth-provider`);
  if (problem !== undefined) read.problems.push(problem);
  const user = defined({
    token: read.text(fields, "token", path),
    tokenFile: read.resolve(read.text(fields, "tokenFile", path)),
    certFile: read.resolve(read.text(fields, "client-certificate", path)),
    certData: read.decoded(fields, "client-certificate-data", path),
    keyFile: read.resolve(read.text(fields, "client-key", path)),
    keyData: read.decoded(fields, "client-key-data", path),
    exec: readExec(read, fields["exec"], `${path}.exec`),
    impersonation: impersonationHeaders(read, fields, path),
  });
  if ((user.certFile ?? user.certData) !== undefined && (user.keyFile ?? user.keyData) === undefined) {
    read.problems.push(`${path} has a client certificate but no client-key or client-key-data.`);
  }
  return user;
}
