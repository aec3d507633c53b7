// Runs `support-bundle`: collects the parts, removes secrets from all of them, writes the file and lists what it contains.

import { gzipSync } from "node:zlib";
import { minutes } from "../../core/brand.ts";
import { messageOf } from "../../core/errors.ts";
import { openConnection } from "../../kube/connection/connection.ts";
import { readingClient } from "../explain/explain-offline.ts";
import { findManager, serverProblems } from "../explain/find-manager.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import { connectionSource } from "../kube-client.ts";
import { Collection, collectCluster, collectLog, collectManager } from "../support/collect.ts";
import { addConfiguredSecrets } from "../support/known-secrets.ts";
import { describeConfiguration } from "../support/own-configuration.ts";
import { Redaction } from "../support/redaction.ts";
import { tar } from "../support/tar.ts";
import { withUserKubeconfig } from "../user-kubeconfig.ts";
import { buildDetails, version } from "../version.ts";
import type { Invocation } from "./invocation.ts";

export async function runSupportBundle(invocation: Invocation, words: readonly string[]): Promise<void> {
  const { configuration, platform, console } = invocation;
  const { clock, files } = platform;
  const { flags } = configuration.settings;
  // An invalid configuration may be what the report is about, so only words and the flags of this command are refused.
  const unusable = [...invocation.unexpectedWords("support-bundle", words), ...serverProblems(flags.server)];
  if (invocation.refuse(unusable)) return;
  const now = clock.now();
  const time = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "");
  const path = flags.file ?? `fairlead-support-${time}.tar.gz`;
  if ((await files.version(path)) !== undefined) {
    invocation.refuse([invalidFlag("file", `${path} exists already; name another file, or delete it`)]);
    return;
  }
  try {
    const redaction = new Redaction();
    const collection = await collect(invocation, redaction);
    const { missing, entries } = collection;
    if (missing.length > 0) collection.add("missing.txt", `${missing.join("\n")}\n`);
    const clean = entries.map(({ name, content }) => ({ name, content: redaction.apply(content) }));
    await files.write(path, gzipSync(tar(clean, now)), 0o600);
    const size = ({ content }: { readonly content: string }): string => `${content.length}`.padStart(9);
    await console.out(
      [
        `Wrote ${path}, readable only for you:`,
        "",
        ...clean.map((entry) => `${size(entry)}  ${entry.name}`),
        ...(missing.length === 0 ? [] : ["", "Missing:", ""]),
        ...missing.map((text) => `  ${redaction.apply(text)}`),
        "",
        "Secrets were replaced. Names and addresses of your cluster are in it: read it before you publish it.",
        "",
      ].join("\n"),
    );
    invocation.exitCode = missing.length === 0 ? 0 : 3;
  } catch (error) {
    invocation.failWith(error);
  }
}

async function collect(invocation: Invocation, redaction: Redaction): Promise<Collection> {
  const { configuration, platform, provider, program, signal } = invocation;
  const collection = new Collection();
  addConfiguredSecrets(redaction, provider, configuration, platform.environment);
  collection.add("version.json", buildDetails(program));
  collection.add("configuration.json", describeConfiguration(provider, configuration, platform.environment));
  const flags = await withUserKubeconfig(configuration.settings.flags, platform);
  const connect = () => readingClient(flags, platform, `${program}/${version} support-bundle`, signal);
  try {
    const connection = await openConnection(connectionSource(flags, platform.environment), platform, signal);
    const { headers } = await connection.access(signal);
    for (const value of Object.values(headers)) redaction.add(value.replace(/^(Bearer|Basic) /, ""));
    const { api } = await connect();
    await collectCluster(collection, redaction, api, flags, signal);
    if (flags.server === undefined && flags["server-ca-file"] === undefined) {
      collection.missing.push("manager/: no manager was asked; set --server or --server-ca-file");
    } else {
      const address = await findManager(flags, platform, connect, signal);
      const deps = { ...platform, connection, timeout: flags.timeout ?? minutes(1) };
      await collectManager(collection, address, deps, signal);
    }
  } catch (error) {
    signal.throwIfAborted();
    collection.missing.push(`manager/ and cluster/: ${messageOf(error)}`);
  }
  await collectLog(collection, program, platform, signal);
  return collection;
}
