// Collects the parts of a support bundle. An unreadable part is listed with the reason, and the bundle is created without it.

import { buildDetails } from "../../app/build-info.ts";
import { readConfig } from "../../app/configuration/cloud-settings.ts";
import { findLeaders } from "../../app/leadership/read-leases.ts";
import { type Operator, readingApi } from "../../app/operator.ts";
import { leaseOf } from "../../app/permissions.ts";
import { messageOf } from "../../core/error-message.ts";
import { messageIn } from "../../core/problem.ts";
import { isSecretName, type Redaction } from "../../core/redaction.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import { listAll } from "../../kube/client/list-all.ts";
import type { Connection } from "../../kube/connection/connection.ts";
import { eventSourceOf } from "../../kube/objects.ts";
import { events, leases, nodes, services } from "../../kube/resources.ts";
import { connectionOf, findManager, type ManagerAddress, readPage } from "../explain/ask-manager.ts";
import { explainFrom, fromApiServer } from "../explain/explain-offline.ts";
import { addAnnotatedSecrets, addConfiguredSecrets } from "./bundle-redaction.ts";

/** The pages of the secure port, by file name. */
const pages = {
  "manager/state.json": "/debug/state",
  "manager/explain.json": "/debug/explain",
  "manager/metrics.txt": "/metrics",
  "manager/configz.json": "/configz",
  "manager/flagz.txt": "/flagz",
  "manager/version.json": "/version",
  "manager/statusz.txt": "/statusz",
  "manager/healthz.txt": "/healthz?verbose",
  "manager/readyz.txt": "/readyz?verbose",
} as const;

export interface BundleEntry {
  readonly name: string;
  readonly content: string;
}

class Collection {
  readonly entries: BundleEntry[] = [];
  /** The parts that are missing in the bundle, with the reason. */
  readonly missing: string[] = [];

  add(name: string, content: string): void {
    this.entries.push({ name, content });
  }

  async try(name: string, read: () => Promise<string>): Promise<void> {
    try {
      this.add(name, await read());
    } catch (error) {
      this.missing.push(`${name}: ${messageOf(error)}`);
    }
  }
}

async function collectManager(
  collection: Collection,
  address: ManagerAddress,
  operator: Operator,
  connection: Connection,
): Promise<void> {
  for (const [name, page] of Object.entries(pages)) {
    await collection.try(name, async () => {
      const { status, body } = await readPage(address, page, operator, connection);
      // A failing health check returns 500 with the reasons.
      if (status === 401 || status === 403 || status === 404)
        throw new Error(
          `the manager at ${address.url} answered ${status}; you need the verb get on ${page.split("?")[0]}`,
        );
      return body;
    });
  }
}

const shown = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
const maxEvents = 500;

/** Descriptions of Nodes and Services, their events, and the Lease. The bundle contains no complete object. */
async function collectCluster(
  collection: Collection,
  redaction: Redaction,
  api: KubeApi,
  operator: Operator,
): Promise<void> {
  const { signal } = operator;
  const lists = [services, nodes].map(async (resource) => {
    addAnnotatedSecrets(redaction, await listAll(api, resource as typeof services, signal));
  });
  const [failed] = (await Promise.allSettled(lists)).filter((end) => end.status === "rejected");
  if (failed !== undefined) {
    // Without the annotations, it is unknown which texts are secret.
    collection.missing.push(`cluster/: ${messageOf(failed.reason)}`);
    return;
  }
  await collection.try("cluster/objects.json", async () =>
    shown(await explainFrom(fromApiServer(api, operator, signal), undefined, api, signal)),
  );
  for (const kind of ["Node", "Service"]) {
    await collection.try(`cluster/events-of-${kind.toLowerCase()}s.json`, async () => {
      const fieldSelector = `involvedObject.kind=${kind}`;
      const { items } = await api.listPage(events, { fieldSelector, limit: maxEvents }, signal);
      return shown(
        items.map(({ type, reason, message, count, firstTimestamp, lastTimestamp, eventTime, ...event }) => ({
          type,
          reason,
          message,
          count,
          firstTimestamp,
          lastTimestamp,
          eventTime,
          object: `${event.involvedObject.namespace ?? ""}/${event.involvedObject.name}`,
          source: eventSourceOf(event),
        })),
      );
    });
  }
  await collection.try("cluster/lease.json", async () => {
    const { metadata, spec } = await api.get(leases, leaseOf(operator.settings.flags), signal);
    return shown({ name: metadata.name, namespace: metadata.namespace, spec });
  });
}

/** The journal of the unit that the packages install, or of a unit with the program's name, if this machine runs it. */
async function collectLog(
  collection: Collection,
  { program, platform: { files }, signal }: Operator,
): Promise<void> {
  await collection.try("log.txt", async () => {
    const units = ["fairlead@*", `${program}*`];
    const command = [
      "journalctl",
      ...units.map((unit) => `--unit=${unit}`),
      "--lines=5000",
      "--no-pager",
      "--output=short-iso",
    ];
    const { exitCode, stdout, stderr } = await files.run(command, {}, signal);
    if (exitCode !== 0)
      throw new Error(`journalctl ended with exit code ${exitCode}: ${stderr.split("\n")[0] ?? ""}`);
    if (stdout.trim() === "" || stdout.includes("-- No entries --"))
      throw new Error(
        `the journal of this machine has no lines of the units ${units.join(" and ")}. In a cluster, add the output of kubectl logs after reading it`,
      );
    return stdout;
  });
}

/** The data that the bundle reads from a pod. */
interface Pod {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly containers: readonly { readonly name: string; readonly image?: string }[] };
}

const logLines = 5000;
const logBytes = 4_000_000;

/**
 * The log of each replica that runs as a pod in the Lease's namespace, from the container whose image or name matches the
 * program.
 */
async function collectPodLogs(
  collection: Collection,
  api: KubeApi,
  operator: Operator,
  connection: Connection,
): Promise<void> {
  const { program, settings, signal } = operator;
  const { namespace } = leaseOf(settings.flags);
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
  await collection.try("pods/list.json", async () => {
    const { items } = (await api.request({ verb: "list", resource: "pods", path }, signal)) as {
      readonly items: readonly Pod[];
    };
    const found = items.flatMap(({ metadata, spec: { containers } }) =>
      containers.flatMap(({ name, image = "" }) =>
        name === program || image.includes(program) ? [{ pod: metadata.name, container: name }] : [],
      ),
    );
    for (const { pod, container } of found) {
      await collection.try(`pods/${pod}.log`, async () => {
        const query = `container=${encodeURIComponent(container)}&tailLines=${logLines}&limitBytes=${logBytes}`;
        const { tls } = await connection.access(signal);
        const address = { url: api.origin, ca: tls?.ca };
        const page = `${path}/${encodeURIComponent(pod)}/log?${query}`;
        const { status, body } = await readPage(address, page, operator, connection);
        if (status !== 200)
          throw new Error(`the API server answered ${status}; you need the verb get on pods/log`);
        return body;
      });
    }
    return shown(found);
  });
}

/** Maps, sets and secrets as JSON. */
function plain(name: string, value: unknown): unknown {
  if (value instanceof Map)
    return name === "config-set" ? [...value.keys()] : Object.fromEntries(value as Map<string, unknown>);
  return value instanceof Set ? [...value] : value;
}

function describeConfiguration({
  provider,
  configuration: { settings, problems },
  platform: { environment },
}: Operator): string {
  const { values } = readConfig(provider, { ...settings.cloud, environment });
  const given = Object.keys(settings.given);
  const flags = Object.entries(settings.flags).filter(([name]) => given.includes(name));
  const description = {
    provider: provider.name,
    flags: Object.fromEntries(flags.map(([name, value]) => [name, plain(name, value)])),
    controllers: [...settings.controllers],
    // A value with a credential-like name is hidden even if the provider does not declare it as secret.
    cloud: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        isSecretName(name) ? "[secret]" : plain(name, value),
      ]),
    ),
    // Only names, because any variable may contain a credential.
    variables: Object.keys(environment).toSorted(),
    inputFiles: [...(settings.cloud.inputFiles ?? new Map()).keys()],
    problems: problems.map((problem) => ({
      severity: problem.severity,
      reason: problem.reason,
      text: messageIn(problem),
    })),
  };
  return `${JSON.stringify(description, undefined, 2)}\n`;
}

export async function collectBundle(operator: Operator, redaction: Redaction): Promise<Collection> {
  const { program, signal, settings } = operator;
  const { flags } = settings;
  const collection = new Collection();
  addConfiguredSecrets(redaction, operator);
  collection.add("version.json", buildDetails(program));
  collection.add("configuration.json", describeConfiguration(operator));
  try {
    const connection = await connectionOf(operator);
    const { headers } = await connection.access(signal);
    for (const value of Object.values(headers)) redaction.add(value.replace(/^(Bearer|Basic) /, ""));
    const api = await readingApi(operator);
    await collectCluster(collection, redaction, api, operator);
    await collectPodLogs(collection, api, operator, connection);
    if (flags.server === undefined && flags["server-ca-file"] === undefined) {
      collection.missing.push("manager/: no manager was asked; set --server or --server-ca-file");
    } else {
      const address = await findManager(operator, { api, ...(await findLeaders(api, operator)) });
      await collectManager(collection, address, operator, connection);
    }
  } catch (error) {
    signal.throwIfAborted();
    collection.missing.push(`manager/ and cluster/: ${messageOf(error)}`);
  }
  await collectLog(collection, operator);
  return collection;
}
