import { expect, test } from "bun:test";
import { readKubeconfig } from "../../../src/kube/connection/kubeconfig.ts";
import { chooseProxy } from "../../../src/kube/connection/proxy.ts";

const good = `
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: c, user: u, namespace: n}}]
clusters: [{name: c, cluster: {server: "https://host:6443", certificate-authority-data: Q0E=, tls-server-name: other}}]
users: [{name: u, user: {client-certificate-data: QQ==, client-key: k.pem}}]
`;

test("readKubeconfig reads clusters, users and contexts", () => {
  const { config } = readKubeconfig(good);
  expect(config?.clusters.get("c")).toEqual({
    server: "https://host:6443",
    skipVerification: false,
    caData: "CA",
    serverName: "other",
  });
  expect(config?.users.get("u")).toEqual({ certData: "A", keyFile: "k.pem" });
  expect(config?.contexts.get("here")).toEqual({ cluster: "c", user: "u", namespace: "n" });
});

test("readKubeconfig reports every problem of a file together", () => {
  const { problems } = readKubeconfig(`
clusters: [{name: c, cluster: {server: "host", certificate-authority-data: "%%%"}}]
users:
- {name: basic, user: {username: a, password: b}}
- {name: half, user: {client-certificate: c.pem}}
- {name: ask, user: {exec: {command: x, apiVersion: v9, interactiveMode: Always}}}
contexts: [{name: x, context: {}}]
`);
  expect(problems.join("\n")).toContain(
    "clusters[c].cluster.server must be an address like https://host:6443",
  );
  expect(problems.join("\n")).toContain("username and password, which Kubernetes removed in 1.19");
  expect(problems.join("\n")).toContain("has a client certificate but no client-key");
  expect(problems.join("\n")).toContain("exec.apiVersion must be client.authentication.k8s.io/v1 or");
  expect(problems.join("\n")).toContain("interactiveMode is Always");
  expect(problems.join("\n")).toContain("contexts[x].context.cluster is missing");
});

test.each([
  ["", "empty"],
  ["a: [", "not valid YAML"],
  ["[]", "not a mapping"],
  ["kind: Pod", "kind must be Config"],
])("readKubeconfig describes the mistake in %j", (text, words) => {
  expect(readKubeconfig(text).problems.join(" ")).toContain(words);
});

test.each([
  ["https://api.example.com", undefined, { https: "http://p:1" }, "http://p:1"],
  ["https://api.example.com", "http://own:2", { https: "http://p:1", no: "*" }, "http://own:2"],
  ["https://127.0.0.1:6443", "http://own:2", { https: "http://p:1" }, undefined],
  ["https://[::1]:6443", undefined, { https: "http://p:1" }, undefined],
  ["https://localhost:6443", undefined, { https: "http://p:1" }, undefined],
  ["https://api.example.com", undefined, { https: "p:1", no: "other.com" }, "http://p:1"],
  ["https://api.example.com", undefined, { https: "http://p:1", no: ".example.com" }, undefined],
  ["https://api.example.com", undefined, { https: "http://p:1", no: "example.com" }, undefined],
  [
    "https://api.example.com:6443",
    undefined,
    { https: "http://p:1", no: "api.example.com:443" },
    "http://p:1",
  ],
  ["https://10.1.2.3", undefined, { https: "http://p:1", no: "10.0.0.0/8" }, undefined],
  ["https://11.1.2.3", undefined, { https: "http://p:1", no: "10.0.0.0/8, fd00::/8" }, "http://p:1"],
  ["https://[fd00::1]", undefined, { https: "http://p:1", no: "fd00::/8" }, undefined],
  ["http://api.example.com", undefined, { https: "http://p:1" }, undefined],
])(
  "chooseProxy for %s with own proxy %s and environment %j returns %s",
  (server, own, settings, expected) => {
    expect(chooseProxy(server, own, settings)).toBe(expected);
  },
);
