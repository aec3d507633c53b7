// A Kubernetes control plane of our own on loopback: etcd and kube-apiserver from $KUBEBUILDER_ASSETS, keys and certificates
// from src/pki. It can be stopped, killed and started again on the same data and port.

import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Milliseconds } from "../../../src/core/brand.ts";
import { createAuthority, type KeyAndCertificate } from "../../../src/pki/authority.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { writeKubeconfig } from "../../../src/testing/apiserver/serving/kubeconfig.ts";
import { freePort } from "./free-port.ts";
import { type KeptProcess, keepFolder, startProcess } from "./kept-process.ts";
import { until } from "./until.ts";

export interface ControlPlaneOptions {
  /** The folder of the executables; $KUBEBUILDER_ASSETS unless told. */
  readonly assets?: string;
  /** Added to our own; the last one of a name counts. */
  readonly apiServerFlags?: readonly string[];
}

export interface ControlPlane {
  readonly server: string;
  /** PEM of the authority that signed the server's certificate. */
  readonly ca: string;
  /** Holds everything that belongs to it; removed at the end. */
  readonly folder: string;
  /** Of an administrator. */
  readonly kubeconfig: string;
  /** For another client: with a certificate of that name, those groups and that lifetime. */
  issue(commonName: string, groups: readonly string[], lifetime?: Milliseconds): KeyAndCertificate;
  /** Writes a file into the folder and gives its path. */
  file(name: string, content: string): string;
  killServer(): Promise<void>;
  /** Again, on the same port and data; waits until it serves. */
  startServer(): Promise<void>;
  stop(): Promise<void>;
}

const names = ["127.0.0.1", "10.0.0.1", "localhost", "kubernetes", "kubernetes.default.svc"];

export const startControlPlane = async (options: ControlPlaneOptions = {}): Promise<ControlPlane> => {
  const assets = options.assets ?? process.env["KUBEBUILDER_ASSETS"] ?? "";
  if (assets === "")
    throw new Error("Expected KUBEBUILDER_ASSETS to name the folder of etcd and kube-apiserver.");
  const folder = mkdtempSync(join(tmpdir(), "fairlead-control-plane-"));
  keepFolder(folder);
  const file = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };

  const authority = createAuthority("fairlead-test-ca", systemClock, systemRandom);
  const serving = authority.issueServer("kube-apiserver", names);
  const admin = authority.issueClient({ commonName: "admin", organizations: ["system:masters"] });
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const accounts = file("sa.key", privateKey.export({ type: "pkcs8", format: "pem" }).toString());
  const ca = file("ca.crt", authority.cert);
  const cert = file("apiserver.crt", serving.cert);
  const key = file("apiserver.key", serving.key);

  const port = freePort();
  const server = `https://127.0.0.1:${port}`;
  const etcdURL = `http://127.0.0.1:${freePort()}`;
  const etcd = startProcess([
    join(assets, "etcd"),
    `--data-dir=${join(folder, "etcd")}`,
    "--unsafe-no-fsync",
    "--log-level=warn",
    `--listen-client-urls=${etcdURL}`,
    `--advertise-client-urls=${etcdURL}`,
    "--listen-peer-urls=http://127.0.0.1:0",
  ]);

  const ask = async (url: string): Promise<boolean> => {
    const tls = { ca: authority.cert, cert: admin.cert, key: admin.key };
    const signal = AbortSignal.timeout(5000);
    return (await fetch(url, { signal, ...(url.startsWith("https") && { tls }) })).ok;
  };
  const awaitUp = (name: string, child: KeptProcess, urls: readonly string[]): Promise<true> =>
    until(
      `${name} to serve`,
      async () => {
        if (child.exitCode() !== null) return true;
        for (const url of urls) if (!(await ask(url))) return false;
        return true;
      },
      { seconds: 90, everyMs: 50, explain: () => child.output().slice(-4000) },
    ).then((up) => {
      if (child.exitCode() === null) return up;
      throw new Error(`${name} ended with ${child.exitCode()}:\n${child.output().slice(-4000)}`);
    });

  const launchServer = (): KeptProcess =>
    startProcess([
      join(assets, "kube-apiserver"),
      `--etcd-servers=${etcdURL}`,
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      `--secure-port=${port}`,
      `--tls-cert-file=${cert}`,
      `--tls-private-key-file=${key}`,
      `--client-ca-file=${ca}`,
      "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
      `--service-account-key-file=${accounts}`,
      `--service-account-signing-key-file=${accounts}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      // Both families, so that a Service may ask for either.
      "--service-cluster-ip-range=10.0.0.0/16,fd00:10::/112",
      "--allow-privileged=true",
      // A loopback address may not be among the endpoints of the Service "kubernetes".
      "--endpoint-reconciler-type=none",
      ...(options.apiServerFlags ?? []),
    ]);
  // Namespaces are made by controllers inside the API server, after it says that it is ready.
  const ready = ["/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"].map(
    (path) => `${server}${path}`,
  );

  let apiServer: KeptProcess | undefined;
  const startServer = async (): Promise<void> => {
    apiServer = launchServer();
    await awaitUp("kube-apiserver", apiServer, ready);
  };
  const stop = async (): Promise<void> => {
    // An API server without etcd does not end when it is told to.
    await apiServer?.stop();
    await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await awaitUp("etcd", etcd, [`${etcdURL}/readyz`]);
    await startServer();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    server,
    ca: authority.cert,
    folder,
    kubeconfig: file("kubeconfig", writeKubeconfig(authority.cert, [{ name: "admin", server, ...admin }])),
    issue: (commonName, organizations, lifetime) =>
      authority.issueClient({ commonName, organizations }, lifetime),
    file,
    killServer: async () => {
      apiServer?.signal("SIGKILL");
      await apiServer?.exited;
    },
    startServer,
    stop,
  };
};
