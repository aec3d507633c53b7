// Parses the text of a kubeconfig into validated values, or reports every problem in it. It opens no file that the text
// refers to, and does not choose a context. Pure.

import { defined } from "../../core/defined.ts";
import { messageOf } from "../../core/error-message.ts";
import { FieldReader, type Fields, isFields } from "./kubeconfig-fields.ts";

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
  readonly impersonate?: { readonly user: string; readonly uid?: string };
}

export interface KubeconfigContext {
  readonly cluster: string;
  readonly user?: string;
  readonly namespace?: string;
}

export interface Kubeconfig {
  readonly currentContext?: string;
  readonly clusters: ReadonlyMap<string, KubeconfigCluster>;
  readonly users: ReadonlyMap<string, KubeconfigUser>;
  readonly contexts: ReadonlyMap<string, KubeconfigContext>;
}

export type KubeconfigResult =
  | { readonly config: Kubeconfig; readonly problems: readonly [] }
  | { readonly config?: undefined; readonly problems: readonly string[] };

const execVersions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

function isWebAddress(address: string): boolean {
  return /^https?:$/.test(URL.parse(address)?.protocol ?? "");
}

function readCluster(read: FieldReader, fields: Fields, path: string): KubeconfigCluster | undefined {
  const server = read.text(fields, "server", path);
  if (server === undefined || !isWebAddress(server)) {
    read.problems.push(
      `${path}.server must be an address like https://host:6443, got ${JSON.stringify(server ?? "")}.`,
    );
    return undefined;
  }
  const proxy = read.text(fields, "proxy-url", path);
  if (proxy !== undefined && !isWebAddress(proxy)) {
    read.problems.push(`${path}.proxy-url must be an http:// or https:// address (SOCKS is not supported).`);
  }
  return {
    server,
    skipVerification: read.flag(fields, "insecure-skip-tls-verify", path),
    ...defined({
      caFile: read.text(fields, "certificate-authority", path),
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
    command: command ?? "",
    args: read.texts(fields, "args", path),
    env: readEnvironment(read, fields["env"], `${path}.env`),
    provideClusterInfo: read.flag(fields, "provideClusterInfo", path),
    ...defined({ installHint: read.text(fields, "installHint", path) }),
  };
}

function readImpersonation(read: FieldReader, fields: Fields, path: string): KubeconfigUser["impersonate"] {
  const user = read.text(fields, "as", path);
  const uid = read.text(fields, "as-uid", path);
  return user === undefined ? undefined : { user, ...defined({ uid }) };
}

function readUser(read: FieldReader, fields: Fields, path: string): KubeconfigUser {
  if (fields["username"] || fields["password"]) {
    read.problems.push(
      `${path} has a username and password, which Kubernetes removed in 1.19. Use a token, a certificate or exec.`,
    );
  }
  if (isFields(fields["auth-provider"])) {
    read.problems.push(`${path}.auth-provider was removed in Kubernetes 1.26. Use exec.`);
  }
  for (const key of ["as-groups", "as-user-extra"]) {
    if (fields[key] != null) {
      read.problems.push(`${path}.${key} is not supported. Impersonate with "as" alone.`);
    }
  }
  const user = defined({
    token: read.text(fields, "token", path),
    tokenFile: read.text(fields, "tokenFile", path),
    certFile: read.text(fields, "client-certificate", path),
    certData: read.decoded(fields, "client-certificate-data", path),
    keyFile: read.text(fields, "client-key", path),
    keyData: read.decoded(fields, "client-key-data", path),
    exec: readExec(read, fields["exec"], `${path}.exec`),
    impersonate: readImpersonation(read, fields, path),
  });
  if ((user.certFile ?? user.certData) !== undefined && (user.keyFile ?? user.keyData) === undefined) {
    read.problems.push(`${path} has a client certificate but no client-key or client-key-data.`);
  }
  return user;
}

function readContext(read: FieldReader, fields: Fields, path: string): KubeconfigContext | undefined {
  const cluster = read.text(fields, "cluster", path);
  if (cluster === undefined) {
    read.problems.push(`${path}.cluster is missing.`);
    return undefined;
  }
  const user = read.text(fields, "user", path);
  const namespace = read.text(fields, "namespace", path);
  return { cluster, ...defined({ user, namespace }) };
}

export function readKubeconfig(source: string): KubeconfigResult {
  let parsed: unknown;
  try {
    parsed = Bun.YAML.parse(source);
  } catch (error) {
    return { problems: [`It is not valid YAML: ${messageOf(error)}.`] };
  }
  if (!isFields(parsed)) {
    return {
      problems: ["It is empty or not a mapping. Expected kind: Config with clusters, users and contexts."],
    };
  }
  const read = new FieldReader();
  if (parsed["kind"] !== undefined && parsed["kind"] !== "Config") {
    read.problems.push(`kind must be Config, got ${JSON.stringify(parsed["kind"])}.`);
  }
  const currentContext = read.text(parsed, "current-context", "kubeconfig");
  const config: Kubeconfig = {
    clusters: read.named(parsed, "clusters", "cluster", (fields, path) => readCluster(read, fields, path)),
    users: read.named(parsed, "users", "user", (fields, path) => readUser(read, fields, path)),
    contexts: read.named(parsed, "contexts", "context", (fields, path) => readContext(read, fields, path)),
    ...defined({ currentContext }),
  };
  return read.problems.length > 0 ? { problems: read.problems } : { config, problems: [] };
}
