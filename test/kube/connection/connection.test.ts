import { beforeAll, describe, expect, test } from "bun:test";
import { minutes, seconds } from "../../../src/core/brand.ts";
import { openConnection } from "../../../src/kube/connection/connection.ts";
import { KubeError } from "../../../src/kube/errors/kube-error.ts";
import type { Files, ProgramResult } from "../../../src/platform/files.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { failure } from "../support/scripted.ts";

const never = new AbortController().signal;

/** In-memory files, and an exec plugin whose output the test provides. */
const disk = (
  files: Record<string, string>,
  program: () => ProgramResult | Error = () => new Error("none"),
) => {
  const runs: Readonly<Record<string, string>>[] = [];
  const versions: Record<string, number> = {};
  const platform: Files = {
    read: async (path) => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error("no"), { code: "ENOENT" });
      return text;
    },
    version: async (path) => (files[path] === undefined ? undefined : String(versions[path] ?? 0)),
    write: async (path, content) => {
      if (typeof content !== "string") throw new Error("Expected text.");
      files[path] = content;
      versions[path] = (versions[path] ?? 0) + 1;
    },
    run: async (_, env) => {
      runs.push(env);
      const result = program();
      if (result instanceof Error) throw result;
      return result;
    },
  };
  return { platform, runs };
};

const kubeconfig = (user: object, cluster: object = {}): string =>
  JSON.stringify({
    "current-context": "x",
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://10.0.0.1:6443", ...cluster } }],
    users: [{ name: "u", user }],
  });

describe("openConnection fails without a retry and explains the remedy for", () => {
  test.each<[string, Record<string, string>, object, string]>([
    [
      "a kubeconfig that does not exist",
      {},
      { kubeconfigs: ["/k"] },
      "Cannot read the kubeconfig /k (ENOENT). Check that the file exists",
    ],
    [
      "a file that is not a kubeconfig",
      { "/k": "kind: Pod" },
      { kubeconfigs: ["/k"] },
      'kind must be Config, got "Pod"',
    ],
    [
      "an unknown context",
      { "/k": kubeconfig({}) },
      { kubeconfigs: ["/k"], context: "y" },
      'has no context "y". The contexts are: x.',
    ],
    [
      "neither kubeconfig nor master nor pod credentials",
      {},
      {},
      "No API server is configured: --kubeconfig and --master are empty",
    ],
    ["a master that is not an HTTPS address", {}, { master: "ftp://x" }, "must look like https://host:6443"],
    [
      "a token file that does not exist",
      { "/k": kubeconfig({ tokenFile: "t" }) },
      { kubeconfigs: ["/k"] },
      "Cannot read the token file /t (ENOENT)",
    ],
    [
      "a CA file without PEM certificate",
      { "/k": kubeconfig({}, { "certificate-authority": "ca" }), "/ca": "junk" },
      { kubeconfigs: ["/k"] },
      "contains no PEM certificate",
    ],
    [
      "a client certificate that is not PEM",
      { "/k": kubeconfig({ "client-certificate": "c", "client-key": "k2" }), "/c": "junk", "/k2": "junk" },
      { kubeconfigs: ["/k"] },
      "The client certificate is not a PEM certificate",
    ],
    [
      "a token with several lines",
      { "/k": kubeconfig({ tokenFile: "t" }), "/t": "a\nb" },
      { kubeconfigs: ["/k"] },
      "The token has several lines",
    ],
    [
      "a pod without service account files",
      {},
      { inCluster: { host: "10.0.0.1" } },
      "Cannot read the certificate authority /var/run/secrets/kubernetes.io/serviceaccount/ca.crt (ENOENT)",
    ],
  ])("%s", async (_, files, source, words) => {
    const error = await failure(
      openConnection(source, { files: disk(files).platform, clock: new VirtualClock() }, never),
    );
    expect(error).toBeInstanceOf(KubeError);
    expect(error).toMatchObject({ kind: "configuration", fatal: true });
    expect(String(error)).toContain(words);
  });
});

test("a connection reads a rotated token within a second, and immediately after a rejection", async () => {
  const clock = new VirtualClock();
  const { platform } = disk({ "/k": kubeconfig({ tokenFile: "t" }), "/t": "one\n" });
  const connection = await openConnection({ kubeconfigs: ["/k"] }, { files: platform, clock }, never);
  const token = async () => (await connection.access(never)).headers["authorization"];
  await platform.write("/t", "two", 0o600);
  expect(await token()).toBe("Bearer one");
  await clock.advance(seconds(1));
  expect(await token()).toBe("Bearer two");
  await platform.write("/t", "", 0o600);
  connection.refresh();
  expect(await token()).toBe("Bearer two");
  await platform.write("/t", "three", 0o600);
  connection.refresh();
  expect(await token()).toBe("Bearer three");
});

test("a connection to --master overrides the kubeconfig's server and keeps its credentials", async () => {
  const clock = new VirtualClock();
  const { platform } = disk({ "/k": kubeconfig({ token: "t" }) });
  const connection = await openConnection(
    { kubeconfigs: ["/k"], master: "https://other:1/" },
    { files: platform, clock },
    never,
  );
  expect([connection.server, (await connection.access(never)).headers["authorization"]]).toEqual([
    "https://other:1",
    "Bearer t",
  ]);
});

describe("exec plugin", () => {
  const user = {
    exec: {
      command: "./login",
      apiVersion: "client.authentication.k8s.io/v1",
      env: [{ name: "A", value: "b" }],
      provideClusterInfo: true,
    },
  };
  const answer = (token: string, expirationTimestamp?: string): ProgramResult => ({
    exitCode: 0,
    stderr: "",
    stdout: JSON.stringify({
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { token, expirationTimestamp },
    }),
  });

  test("an exec plugin runs once until its credential expires or is rejected", async () => {
    const clock = new VirtualClock();
    let n = 0;
    const { platform, runs } = disk({ "/d/k": kubeconfig(user) }, () =>
      answer(`t${++n}`, new Date(clock.now() + 600_000).toISOString()),
    );
    const connection = await openConnection({ kubeconfigs: ["/d/k"] }, { files: platform, clock }, never);
    const token = async () => (await connection.access(never)).headers["authorization"];
    expect([await token(), await token()]).toEqual(["Bearer t1", "Bearer t1"]);
    expect(runs[0]?.["A"]).toBe("b");
    expect(JSON.parse(runs[0]?.["KUBERNETES_EXEC_INFO"] ?? "")).toMatchObject({
      spec: { interactive: false, cluster: { server: "https://10.0.0.1:6443" } },
    });
    await clock.advance(minutes(11));
    expect(await token()).toBe("Bearer t2");
    connection.refresh();
    expect(await token()).toBe("Bearer t3");
  });

  test.each<[string, ProgramResult | Error, boolean, string]>([
    [
      "that is not installed",
      Object.assign(new Error("x"), { code: "ENOENT" }),
      true,
      "cannot be started (ENOENT)",
    ],
    ["that exits with an error", { exitCode: 1, stdout: "", stderr: "secret" }, false, "exited with code 1"],
    [
      "that does not print JSON",
      { exitCode: 0, stdout: "token: secret", stderr: "" },
      false,
      "did not print JSON",
    ],
  ])("an exec plugin %s is reported without its output", async (_, result, fatal, words) => {
    const clock = new VirtualClock();
    const { platform } = disk({ "/k": kubeconfig(user) }, () => result);
    const open = openConnection({ kubeconfigs: ["/k"] }, { files: platform, clock }, never);
    // Temporary failures do not prevent the start; the first request reports them.
    const error = await failure(open.then((connection) => connection.access(never)));
    expect(error).toMatchObject({ fatal });
    expect(String(error)).toContain(words);
    expect(String(error)).not.toContain("secret");
  });
});

describe("client certificate", () => {
  let pair: { readonly cert: string; readonly key: string };
  let other: { readonly cert: string; readonly key: string };
  beforeAll(async () => {
    const { certificates } = await import("../support/certificates.ts");
    [pair, other] = certificates;
  });

  test("keeps the old client certificate while a rotation is incomplete, and reports its expiry", async () => {
    const clock = new VirtualClock(Date.UTC(2100, 0, 1));
    const user = { "client-certificate": "c", "client-key": "key" };
    const { platform } = disk({ "/k": kubeconfig(user), "/c": pair.cert, "/key": pair.key });
    const connection = await openConnection({ kubeconfigs: ["/k"] }, { files: platform, clock }, never);
    await platform.write("/c", other.cert, 0o600);
    await clock.advance(seconds(2));
    expect((await connection.access(never)).tls?.cert).toBe(pair.cert);
    await platform.write("/key", other.key, 0o600);
    await clock.advance(seconds(2));
    expect((await connection.access(never)).tls).toMatchObject(other);
    expect(connection.explainRefusal()).toMatch(/^The client certificate in \/c expired on/);
  });

  test.each([
    ["/etc/manager.conf", "Fairlead reloads it when the file changes"],
    // The file is a copy that never changes.
    ["/run/credentials/fairlead@prod.service/kubeconfig", "restart the unit"],
  ])(
    "reports a client certificate that expired inside %s with the file, and how to apply a new certificate",
    async (path, then) => {
      const clock = new VirtualClock(Date.UTC(2100, 0, 1));
      const inline = (text: string) => Buffer.from(text).toString("base64");
      const user = { "client-certificate-data": inline(pair.cert), "client-key-data": inline(pair.key) };
      const { platform } = disk({ [path]: kubeconfig(user) });
      const connection = await openConnection({ kubeconfigs: [path] }, { files: platform, clock }, never);
      await connection.access(never);
      expect(connection.explainRefusal()).toStartWith(`The client certificate in ${path} expired on`);
      expect(connection.explainRefusal()).toContain(then);
    },
  );
});
