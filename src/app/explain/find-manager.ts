// Finds the secure port of a running manager: as given with --server, or that of the leader.

import { messageOf } from "../../core/errors.ts";
import type { Problem } from "../../core/problem.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { Files } from "../../platform/files.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import type { Flags } from "../flags/table.ts";
import { type ManagerAddress, NoAnswer } from "./ask-manager.ts";
import { findLeader } from "./find-leader.ts";

/** Credentials are sent to it, so it must be HTTPS. */
export function serverProblems(server: string | undefined): readonly Problem[] {
  if (server === undefined || (URL.canParse(server) && new URL(server).protocol === "https:")) return [];
  const text = `must be a URL such as https://localhost:10258, got ${JSON.stringify(server)}`;
  return [invalidFlag("server", text)];
}

/** Throws NoAnswer if no manager leads, and a ConfigurationError for a CA file that cannot be read. */
export async function findManager(
  flags: Flags,
  { files }: { readonly files: Files },
  connect: () => Promise<{ readonly api: KubeApi }>,
  signal: AbortSignal,
): Promise<ManagerAddress> {
  const { server, "server-ca-file": caFile, "secure-port": port } = flags;
  const ca = caFile === undefined ? undefined : await readCA(files, caFile);
  if (server !== undefined) return { url: new URL(server).origin, ca };
  const { api } = await connect();
  const leader = await findLeader(api, flags, signal);
  if (leader?.address === undefined) {
    const who =
      leader === undefined
        ? "no replica holds the Lease, or it cannot be read"
        : `the leader ${leader.identity} has no pod or Node of that name`;
    throw new NoAnswer(`cannot find the manager: ${who}. Set --server, or use --offline`);
  }
  const host = leader.address.includes(":") ? `[${leader.address}]` : leader.address;
  // Its own certificate has no address of the machine.
  return { url: `https://${host}:${port}`, ca, serverName: "localhost" };
}

async function readCA(files: Files, path: string): Promise<string> {
  try {
    return await files.read(path);
  } catch (error) {
    throw new ConfigurationError([invalidFlag("server-ca-file", `cannot be read: ${messageOf(error)}`)]);
  }
}
