// Lists and watches on a real API server, its rejections, and rotated credentials.

import { expect, test } from "bun:test";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { seconds } from "../../../src/core/brand.ts";
import { chooseContext } from "../../../src/kube/connection/choose-context.ts";
import { openConnection } from "../../../src/kube/connection/connection.ts";
import type { KubeconfigCluster } from "../../../src/kube/connection/kubeconfig.ts";
import { KubeError } from "../../../src/kube/errors/kube-error.ts";
import { configMaps } from "../../../src/kube/resources.ts";
import { watch } from "../../../src/kube/watch/watch.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemFiles } from "../../../src/platform/files.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { systemTransport, type Transport } from "../../../src/platform/transport.ts";
import { keepFolder } from "../../cluster/rig/kept-process.ts";
import { connect, never } from "./connect.ts";

const refuseStreaming: Transport = (request, signal) =>
  request.url.includes("sendInitialEvents")
    ? Promise.resolve(new Response("{}", { status: 422 }))
    : systemTransport(request, signal);

/** A server that ignores the parameter: objects arrive, but no bookmark ends the list. */
const ignoreStreaming: Transport = (request, signal) =>
  systemTransport(
    {
      ...request,
      url: request.url
        .replace("allowWatchBookmarks=true", "allowWatchBookmarks=false")
        .replace(/&(sendInitialEvents|resourceVersionMatch)=\w+/g, ""),
    },
    signal,
  );

const clusterOf = async (path: string): Promise<KubeconfigCluster> => {
  const { context, problem } = chooseContext([{ path, text: await systemFiles.read(path) }]);
  if (context === undefined) throw new Error(problem);
  return context.cluster;
};

export const cases = (kubeconfigPath: string): void => {
  const follow = async (transport: Transport): Promise<void> => {
    const api = await connect(kubeconfigPath, { transport });
    const name = `watched-${crypto.randomUUID()}`;
    const metadata = { name, namespace: "default" };
    await api.create(configMaps, { metadata, data: { text: "one" } }, never);
    const stop = new AbortController();
    const seen: string[] = [];
    const options = {
      api,
      resource: configMaps,
      clock: systemClock,
      random: systemRandom,
      namespace: "default",
    };
    for await (const step of watch(options, stop.signal)) {
      if (step.type === "failed") throw step.error;
      const isOurs =
        (step.type === "object" || step.type === "deleted") && step.object.metadata.name === name;
      if (isOurs)
        seen.push(
          step.type === "object"
            ? `${step.initial ? "initial" : "changed"} ${step.object.data?.["text"]}`
            : "deleted",
        );
      if (step.type === "begin" || step.type === "complete") seen.push(step.type);
      if (step.type === "complete") {
        const patch = {
          contentType: "application/merge-patch+json",
          body: { data: { text: "two" } },
        } as const;
        await api.patch(configMaps, metadata, patch, never);
        await api.delete(configMaps, metadata, {}, never);
      }
      if (step.type === "deleted" && isOurs) stop.abort();
    }
    expect(seen.slice(-5)).toEqual(["begin", "initial one", "complete", "changed two", "deleted"]);
  };

  test("a watch receives changes after a streaming list", () => follow(systemTransport));
  test("a watch uses paged lists when streaming lists are rejected", () => follow(refuseStreaming));
  test("a watch uses paged lists when streaming lists are ignored", () => follow(ignoreStreaming), 30_000);

  test("a connection reads a changed token file, and immediately after a 401", async () => {
    const cluster = await clusterOf(kubeconfigPath);
    const admin = await connect(kubeconfigPath);
    const account = { metadata: { name: `rotated-${Date.now().toString(36)}`, namespace: "default" } };
    const { serviceAccounts } = await import("../../../src/kube/resources.ts");
    await admin.create(serviceAccounts, account, never);
    const issued = (await admin.request(
      {
        verb: "create",
        resource: "serviceaccounts/token",
        path: `/api/v1/namespaces/default/serviceaccounts/${account.metadata.name}/token`,
        body: {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec: { expirationSeconds: 600 },
        },
      },
      never,
    )) as { readonly status: { readonly token: string } };
    const folder = await mkdtemp(join(tmpdir(), "fairlead-token-"));
    keepFolder(folder);
    await writeFile(join(folder, "ca.crt"), `${cluster.caData}\n${cluster.caData}`);
    await writeFile(join(folder, "token"), "not.a.token\n");
    const kubeconfig = join(folder, "kubeconfig");
    await writeFile(
      kubeconfig,
      JSON.stringify({
        clusters: [{ name: "c", cluster: { server: cluster.server, "certificate-authority": "ca.crt" } }],
        users: [{ name: "u", user: { tokenFile: "token" } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
    const codes: string[] = [];
    const api = await connect(kubeconfig, { onRequest: ({ code }) => codes.push(code) });
    const ask = () =>
      api
        .request({ verb: "get", resource: "version", path: "/api/v1/namespaces/default/configmaps" }, never)
        .then(
          () => "done",
          (error: unknown) => (error instanceof KubeError ? error.kind : String(error)),
        );
    expect(await ask()).toBe("unauthorized");
    await writeFile(join(folder, "token"), issued.status.token);
    // The token is valid now, but its account has no permission.
    expect(await ask()).toBe("forbidden");
    expect(codes).toEqual(["401", "401", "401", "403"]);
  });

  test("a connection to an untrusted server fails as tls, and to a missing server as unreachable", async () => {
    const { server } = await clusterOf(kubeconfigPath);
    const platform = { files: systemFiles, clock: systemClock };
    const kindAt = async (master: string): Promise<unknown> => {
      const connection = await openConnection({ master }, platform, never);
      const api = await connect(kubeconfigPath, { connection, deadline: seconds(5) });
      return api
        .get(configMaps, { name: "x", namespace: "default" }, never)
        .catch((error: unknown) => (error instanceof KubeError ? error.kind : error));
    };
    expect(await kindAt(server)).toBe("tls");
    expect(await kindAt("https://127.0.0.1:9")).toBe("unreachable");
  });
};
