import { expect, test } from "bun:test";
import { chooseContext } from "../../../src/kube/connection/choose-context.ts";
import { chooseProxy } from "../../../src/kube/connection/proxy.ts";

const fileOf = (text: string) => ({ path: "/home/ada/.kube/config", text });
const read = (text: string, name?: string) => chooseContext([fileOf(text)], name);

/** A kubeconfig in which everything has the same name, with these fields of its user. */
const withUser = (user: object, cluster: object = {}): string =>
  JSON.stringify({
    "current-context": "x",
    contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
    clusters: [{ name: "x", cluster: { server: "https://host:6443", ...cluster } }],
    users: [{ name: "x", user }],
  });

const good = `
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: c, user: u, namespace: n}}]
clusters: [{name: c, cluster: {server: "https://host:6443", certificate-authority-data: Q0E=, tls-server-name: other}}]
users: [{name: u, user: {client-certificate-data: QQ==, client-key: k.pem}}]
`;

test("chooseContext reads the cluster, the user and the namespace of the current context", () => {
  expect(read(good).context).toEqual({
    cluster: {
      server: "https://host:6443",
      skipVerification: false,
      caData: "CA",
      serverName: "other",
    },
    user: { certData: "A", keyFile: "/home/ada/.kube/k.pem" },
    namespace: "n",
    path: "/home/ada/.kube/config",
  });
});

test("chooseContext reports all problems of the chosen context together, and no problem of other contexts", () => {
  const text = `
clusters:
- {name: c, cluster: {server: "host", certificate-authority-data: "%%%", proxy-url: "socks5://proxy:1080"}}
- {name: good, cluster: {server: "https://host"}}
users:
- {name: basic, user: {username: a, password: b, client-certificate: c.pem, exec: {command: x, apiVersion: v9, interactiveMode: Always}}}
- {name: good, user: {token: t}}
contexts:
- {name: x, context: {cluster: c, user: basic}}
- {name: y, context: {}}
- {name: good, context: {cluster: good, user: good}}
`;
  const problem = read(text, "x").problem ?? "";
  expect(problem).toStartWith("The kubeconfig /home/ada/.kube/config is invalid: clusters[c].cluster.");
  expect(problem).toContain("server must be an address like https://host:6443");
  expect(problem).toContain("username and password, which Kubernetes removed in 1.19");
  expect(problem).toContain("has a client certificate but no client-key");
  expect(problem).toContain("exec.apiVersion must be client.authentication.k8s.io/v1 or");
  expect(problem).toContain("interactiveMode is Always");
  expect(read(text, "y").problem).toContain("contexts[y].context.cluster is missing");
  expect(read(text, "good").context?.user).toEqual({ token: "t" });
});

test.each([
  ["", "empty"],
  ["a: [", "not valid YAML"],
  ["[]", "not a mapping"],
  ["kind: Pod", "kind must be Config"],
  ["users: {}", "users must be a list"],
  [
    withUser({ "auth-provider": { name: "oidc" } }),
    "users[x].user.auth-provider is oidc, which kubectl supports and Fairlead does not. Use exec with a plugin for OpenID Connect, such as kubelogin.",
  ],
  [
    withUser({ "auth-provider": { name: "gcp" } }),
    "users[x].user.auth-provider is gcp, which Kubernetes 1.26 removed. Use exec with the plugin of the cloud.",
  ],
  [
    withUser({}, { "proxy-url": "socks5://proxy:1080" }),
    "clusters[x].cluster.proxy-url must be an http:// or https:// address. Fairlead supports no SOCKS proxy, unlike kubectl.",
  ],
  [
    withUser({ as: "ada", "as-groups": ["a", "b"] }),
    "users[x].user.as-groups has 2 values, and Fairlead can send one.",
  ],
  [withUser({ "as-groups": ["a"] }), 'without a user. Set "as".'],
])("chooseContext describes the mistake in %j", (text, words) => {
  expect(read(text).problem).toContain(words);
});

test("chooseContext merges files: the first definition of a name and the first current-context win", () => {
  const [one, two] = [
    `
clusters: [{name: c, cluster: {server: "https://one", certificate-authority: ca.crt}}]
contexts: [{name: one, context: {cluster: c, user: u}}]
`,
    `
current-context: one
clusters: [{name: c, cluster: {server: "https://two"}}, {name: d, cluster: {server: "https://three"}}]
contexts: [{name: two, context: {cluster: d, user: u}}]
users: [{name: u, user: {tokenFile: token, exec: {command: ./login, apiVersion: client.authentication.k8s.io/v1}}}]
`,
  ];
  const files = [
    { path: "/one/config", text: one },
    { path: "/two/config", text: two },
    { path: "/three/config", text: "current-context: two" },
  ];
  expect(chooseContext(files).context).toMatchObject({
    cluster: { server: "https://one", caFile: "/one/ca.crt" },
    user: { tokenFile: "/two/token", exec: { command: "/two/login" } },
    path: "/two/config",
  });
  expect(chooseContext(files, "two").context?.cluster.server).toBe("https://three");
  expect(chooseContext(files, "three").problem).toBe(
    'The kubeconfigs /one/config, /two/config, /three/config have no context "three". The contexts are: one, two.',
  );
  expect(chooseContext([fileOf("a: ["), fileOf(one)]).problem).toContain("is not valid YAML");
});

test.each([
  [{ exec: { args: [{ toString: 1 }] } }, "users[x].user.exec.args must be a list of strings."],
  [
    { "auth-provider": { name: { toString: 1 } } },
    "users[x].user.auth-provider is set, which Kubernetes 1.26 removed.",
  ],
  [{ "as-user-extra": { a: ["b", {}] } }, "users[x].user.as-user-extra.a must be a list of strings."],
])("chooseContext reports a mapping where a string belongs: %j", (user, problem) => {
  expect(read(withUser(user)).problem).toContain(problem);
});

test("chooseContext impersonates the user, uid, group and extra fields of the kubeconfig", () => {
  const user = {
    as: "ada",
    "as-uid": "7",
    "as-groups": ["system:masters"],
    "as-user-extra": { "Example.com/Scopes": ["view"] },
  };
  expect(read(withUser(user)).context?.user.impersonation).toEqual({
    "impersonate-user": "ada",
    "impersonate-uid": "7",
    "impersonate-group": "system:masters",
    "impersonate-extra-example.com%2Fscopes": "view",
  });
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
  "chooseProxy for %s with the kubeconfig's proxy %s and environment %j returns %s",
  (server, own, settings, expected) => {
    expect(chooseProxy(server, own, settings)).toBe(expected);
  },
);
