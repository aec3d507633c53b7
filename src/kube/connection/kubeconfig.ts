// Reads the text of a kubeconfig into checked values and names every problem at once. Pure: it opens no file that the
// text refers to, and it does not decide which context is used.

import { messageOf } from "../../core/errors.ts";
import { createReader, type Fields, isFields, type Reader } from "./checked-fields.ts";

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

export type KubeconfigReading =
  | { readonly config: Kubeconfig; readonly problems: readonly [] }
  | { readonly config?: undefined; readonly problems: readonly string[] };

const execVersions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

function readCluster(read: Reader, problems: string[]) {
  return (fields: Fields, path: string): KubeconfigCluster | undefined => {
    const server = read.text(fields, "server", path);
    if (server === undefined || !/^https?:$/.test(URL.parse(server)?.protocol ?? "")) {
      problems.push(
        `${path}.server must be an address like https://host:6443, got ${JSON.stringify(server ?? "")}.`,
      );
      return undefined;
    }
    const proxy = read.text(fields, "proxy-url", path);
    if (proxy !== undefined && !/^https?:$/.test(URL.parse(proxy)?.protocol ?? "")) {
      problems.push(`${path}.proxy-url must be an http:// or https:// address (SOCKS is not supported).`);
    }
    const caFile = read.text(fields, "certificate-authority", path);
    const caData = read.decoded(fields, "certificate-authority-data", path);
    const serverName = read.text(fields, "tls-server-name", path);
    return {
      server,
      skipVerification: read.flag(fields, "insecure-skip-tls-verify", path),
      ...(caFile !== undefined && { caFile }),
      ...(caData !== undefined && { caData }),
      ...(serverName !== undefined && { serverName }),
      ...(proxy !== undefined && { proxy }),
    };
  };
}

function readExec(read: Reader, problems: string[], fields: unknown, path: string): ExecPlugin | undefined {
  if (fields === undefined || fields === null) return undefined;
  if (!isFields(fields)) {
    problems.push(`${path} must have a command and an apiVersion.`);
    return undefined;
  }
  const command = read.text(fields, "command", path);
  const apiVersion = read.text(fields, "apiVersion", path) ?? "";
  if (command === undefined) problems.push(`${path}.command is missing.`);
  if (!execVersions.includes(apiVersion)) {
    problems.push(
      `${path}.apiVersion must be ${execVersions.join(" or ")}, got ${JSON.stringify(apiVersion)}.`,
    );
  }
  if (fields["interactiveMode"] === "Always") {
    problems.push(
      `${path}.interactiveMode is Always, but nobody is here to answer; use Never or IfAvailable.`,
    );
  }
  const env: Record<string, string> = {};
  const list = fields["env"];
  for (const entry of Array.isArray(list) ? list : []) {
    const name = isFields(entry) ? read.text(entry, "name", `${path}.env`) : undefined;
    if (name === undefined || !isFields(entry))
      problems.push(`${path}.env must be a list of name and value.`);
    else env[name] = read.text(entry, "value", `${path}.env`) ?? "";
  }
  const installHint = read.text(fields, "installHint", path);
  return {
    apiVersion,
    command: command ?? "",
    args: read.texts(fields, "args", path),
    env,
    provideClusterInfo: read.flag(fields, "provideClusterInfo", path),
    ...(installHint !== undefined && { installHint }),
  };
}

function readUser(read: Reader, problems: string[]) {
  return (fields: Fields, path: string): KubeconfigUser => {
    if (fields["username"] || fields["password"]) {
      problems.push(
        `${path} uses username and password, which Kubernetes removed in 1.19; use a token, a certificate or exec.`,
      );
    }
    if (isFields(fields["auth-provider"])) {
      problems.push(`${path}.auth-provider was removed in Kubernetes 1.26; use exec.`);
    }
    const names = {
      token: read.text(fields, "token", path),
      tokenFile: read.text(fields, "tokenFile", path),
      certFile: read.text(fields, "client-certificate", path),
      certData: read.decoded(fields, "client-certificate-data", path),
      keyFile: read.text(fields, "client-key", path),
      keyData: read.decoded(fields, "client-key-data", path),
      exec: readExec(read, problems, fields["exec"], `${path}.exec`),
    };
    if ((names.certFile ?? names.certData) !== undefined && (names.keyFile ?? names.keyData) === undefined) {
      problems.push(`${path} has a client certificate but no client-key or client-key-data.`);
    }
    for (const key of ["as-groups", "as-user-extra"]) {
      if (fields[key] != null) problems.push(`${path}.${key} is not supported; impersonate with "as" alone.`);
    }
    const user = read.text(fields, "as", path);
    const uid = read.text(fields, "as-uid", path);
    const present = Object.fromEntries(Object.entries(names).filter(([, value]) => value !== undefined));
    return {
      ...(present as KubeconfigUser),
      ...(user !== undefined && {
        impersonate: { user, ...(uid !== undefined && { uid }) },
      }),
    };
  };
}

export function readKubeconfig(source: string): KubeconfigReading {
  let parsed: unknown;
  try {
    parsed = Bun.YAML.parse(source);
  } catch (error) {
    return { problems: [`It is not YAML: ${messageOf(error)}.`] };
  }
  if (!isFields(parsed))
    return {
      problems: ["It is empty or not a mapping; expected kind: Config with clusters, users and contexts."],
    };
  const problems: string[] = [];
  if (parsed["kind"] !== undefined && parsed["kind"] !== "Config") {
    problems.push(`kind must be Config, got ${JSON.stringify(parsed["kind"])}.`);
  }
  const read = createReader(problems);
  const currentContext = read.text(parsed, "current-context", "kubeconfig");
  const clusters = read.named(parsed, "clusters", "cluster", readCluster(read, problems));
  const users = read.named(parsed, "users", "user", readUser(read, problems));
  const contexts = read.named(
    parsed,
    "contexts",
    "context",
    (fields, path): KubeconfigContext | undefined => {
      const cluster = read.text(fields, "cluster", path);
      if (cluster === undefined) {
        problems.push(`${path}.cluster is missing.`);
        return undefined;
      }
      const user = read.text(fields, "user", path);
      const namespace = read.text(fields, "namespace", path);
      return { cluster, ...(user !== undefined && { user }), ...(namespace !== undefined && { namespace }) };
    },
  );
  if (problems.length > 0) return { problems };
  return {
    config: { ...(currentContext !== undefined && { currentContext }), clusters, users, contexts },
    problems: [],
  };
}
