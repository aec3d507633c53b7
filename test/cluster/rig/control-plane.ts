// A Kubernetes control plane on loopback: etcd and kube-apiserver from $KUBEBUILDER_ASSETS, with certificates from src/pki. The
// API server can be killed and started again on the same data and port.

import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Milliseconds } from "../../../src/core/brand.ts";
import { createAuthority, type KeyAndCertificate } from "../../../src/pki/authority.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { writeKubeconfig } from "../../../src/testing/apiserver/serving/https-server.ts";
import { freePort } from "./free-port.ts";
import { type KeptProcess, keepFolder, startProcess } from "./kept-process.ts";
import { until } from "./until.ts";

export interface ControlPlaneOptions {
  /** The folder of the executables; $KUBEBUILDER_ASSETS by default. */
  readonly assets?: string;
  /** Additional flags, which override the defaults. */
  readonly apiServerFlags?: readonly string[];
  /** Logs the verb, object and status of every request; with "leases", also all requests for the managers' Leases and their responses. */
  readonly audit?: boolean | "leases";
}

export interface ControlPlane {
  readonly server: string;
  /** PEM of the authority that signed the server's certificate. */
  readonly ca: string;
  /** Temporary folder with its data; removed by `stop`. */
  readonly folder: string;
  /** Path of the audit log; it exists with `audit`. */
  readonly auditLog: string;
  /** The path of an administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** The process ids of the API server and etcd. */
  pids(): readonly number[];
  /** Issues a client certificate. */
  issue(commonName: string, groups: readonly string[], lifetime?: Milliseconds): KeyAndCertificate;
  /** Writes a file into the folder and returns its path. */
  file(name: string, content: string): string;
  /** Starts kube-controller-manager with only these controllers, and the authority as signer. */
  startControllerManager(controllers: readonly string[]): KeptProcess;
  killServer(): Promise<void>;
  /**
   * Restarts the API server on the same port and data, and waits until it is ready. These flags override those of the options.
   */
  startServer(flags?: readonly string[]): Promise<void>;
  /** Kills etcd and starts it again on the same port and data. */
  restartEtcd(): Promise<void>;
  stop(): Promise<void>;
}

const names = ["127.0.0.1", "10.0.0.1", "localhost", "kubernetes", "kubernetes.default.svc"];

/** A rule of the audit policy. */
const wholeLeases = {
  level: "RequestResponse",
  namespaces: ["kube-system"],
  verbs: ["get", "create", "update", "patch", "delete"],
  resources: [{ group: "coordination.k8s.io", resources: ["leases"] }],
};

export const startControlPlane = async (options: ControlPlaneOptions = {}): Promise<ControlPlane> => {
  const assets = options.assets ?? process.env["KUBEBUILDER_ASSETS"] ?? "";
  if (assets === "")
    throw new Error("KUBEBUILDER_ASSETS is not set. Set it to a folder with etcd and kube-apiserver.");
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
  const etcdFolder = join(folder, "etcd");
  const launchEtcd = (): KeptProcess =>
    startProcess([
      join(assets, "etcd"),
      `--data-dir=${etcdFolder}`,
      "--unsafe-no-fsync",
      "--log-level=warn",
      `--listen-client-urls=${etcdURL}`,
      `--advertise-client-urls=${etcdURL}`,
      "--listen-peer-urls=http://127.0.0.1:0",
    ]);
  let etcd = launchEtcd();

  const auditLog = join(folder, "audit.log");
  const policy = {
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["ResponseStarted"],
    rules: [
      ...(options.audit === "leases" ? [wholeLeases] : []),
      { level: "Metadata", omitStages: ["RequestReceived"] },
    ],
  };
  const audit =
    options.audit !== undefined && options.audit !== false
      ? [
          `--audit-policy-file=${file("audit-policy.json", JSON.stringify(policy))}`,
          `--audit-log-path=${auditLog}`,
        ]
      : [];

  const isUp = async (url: string): Promise<boolean> => {
    const tls = { ca: authority.cert, cert: admin.cert, key: admin.key };
    const signal = AbortSignal.timeout(5000);
    return (await fetch(url, { signal, ...(url.startsWith("https") && { tls }) })).ok;
  };
  const untilUp = (name: string, child: KeptProcess, urls: readonly string[]): Promise<true> =>
    until(
      `${name} to become ready`,
      async () => {
        if (child.exitCode() !== null) return true;
        for (const url of urls) if (!(await isUp(url))) return false;
        return true;
      },
      { everyMs: 50, explain: () => child.output().slice(-4000) },
    ).then((up) => {
      if (child.exitCode() === null) return up;
      throw new Error(`${name} exited with ${child.exitCode()}:\n${child.output().slice(-4000)}`);
    });

  const launchServer = (flags: readonly string[]): KeptProcess =>
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
      // Both IP families, for dual-stack Services.
      "--service-cluster-ip-range=10.0.0.0/16,fd00:10::/112",
      "--allow-privileged=true",
      // A loopback address is not allowed as an endpoint of the Service "kubernetes".
      "--endpoint-reconciler-type=none",
      ...audit,
      ...(process.env["FAIRLEAD_API_SERVER_FLAGS"] ?? "").split(" ").filter((flag) => flag !== ""),
      ...(options.apiServerFlags ?? []),
      ...flags,
    ]);
  // The API server creates the namespaces after it reports that it is ready.
  const ready = ["/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"].map(
    (path) => `${server}${path}`,
  );

  let apiServer: KeptProcess | undefined;
  const startServer = async (flags: readonly string[] = []): Promise<void> => {
    apiServer = launchServer(flags);
    await untilUp("kube-apiserver", apiServer, ready);
  };
  const stop = async (): Promise<void> => {
    // Without etcd, the API server does not stop on SIGTERM.
    await apiServer?.stop();
    await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilUp("etcd", etcd, [`${etcdURL}/readyz`]);
    await startServer();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    server,
    ca: authority.cert,
    folder,
    auditLog,
    pids: () => [etcd.pid, ...(apiServer === undefined ? [] : [apiServer.pid])],
    kubeconfig: file("kubeconfig", writeKubeconfig(authority.cert, [{ name: "admin", server, ...admin }])),
    issue: (commonName, organizations, lifetime) =>
      authority.issueClient({ commonName, organizations }, lifetime),
    file,
    startControllerManager: (controllers) =>
      startProcess([
        join(assets, "kube-controller-manager"),
        `--kubeconfig=${join(folder, "kubeconfig")}`,
        `--controllers=${controllers.join(",")}`,
        `--cluster-signing-cert-file=${ca}`,
        `--cluster-signing-key-file=${file("ca.key", authority.key())}`,
        "--leader-elect=false",
        "--secure-port=0",
      ]),
    killServer: async () => {
      apiServer?.signal("SIGKILL");
      await apiServer?.exited;
    },
    startServer,
    restartEtcd: async () => {
      etcd.signal("SIGKILL");
      await etcd.exited;
      etcd = launchEtcd();
      await untilUp("etcd", etcd, [`${etcdURL}/readyz`]);
    },
    stop,
  };
};
