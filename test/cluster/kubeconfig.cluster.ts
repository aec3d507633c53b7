// Kubeconfigs compared with the real kubectl, and impersonation with a real API server.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { chooseContext } from "../../src/kube/connection/choose-context.ts";
import { connect, never } from "../kube/cluster/connect.ts";
import { openCluster } from "./rig/cluster.ts";

const kubectl = join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kubectl");

const one = {
  clusters: [{ name: "shared", cluster: { server: "https://one", "certificate-authority": "ca.crt" } }],
  contexts: [{ name: "first", context: { cluster: "shared", user: "ada", namespace: "shop" } }],
};
const two = {
  "current-context": "first",
  clusters: [
    { name: "shared", cluster: { server: "https://two" } },
    { name: "other", cluster: { server: "https://three" } },
  ],
  contexts: [
    { name: "first", context: { cluster: "other", user: "bob" } },
    { name: "second", context: { cluster: "other", user: "ada" } },
  ],
  users: [
    { name: "ada", user: { token: "of-two" } },
    { name: "bob", user: {} },
  ],
};
const three = { "current-context": "second", users: [{ name: "ada", user: { token: "of-three" } }] };

interface View {
  readonly clusters: readonly { readonly cluster: Readonly<Record<string, string>> }[];
  readonly users: readonly { readonly user: Readonly<Record<string, string>> }[];
  readonly contexts: readonly { readonly context: Readonly<Record<string, string>> }[];
}

test.each([
  [["one", "two", "three"]],
  [["three", "two", "one"]],
  [["missing", "three", "one", "two"]],
  [["two"]],
])("Fairlead and kubectl read the same values from KUBECONFIG with %j", async (names) => {
  await using cluster = await openCluster();
  cluster.file("ca.crt", "an authority");
  for (const [name, content] of Object.entries({ one, two, three }))
    cluster.file(name, JSON.stringify({ apiVersion: "v1", kind: "Config", ...content }));
  const paths = names.map((name) => join(cluster.folder, name));
  const KUBECONFIG = paths.join(":");
  const shown = Bun.spawnSync(
    [kubectl, "config", "view", "--minify", "--flatten", "--raw", "--output=json"],
    {
      env: { KUBECONFIG },
    },
  );
  const view = JSON.parse(shown.stdout.toString()) as View;
  const existing = paths.filter((path) => !path.endsWith("missing"));
  const files = await Promise.all(
    existing.map(async (path) => ({ path, text: await Bun.file(path).text() })),
  );
  const { context } = chooseContext(files);
  const { caFile } = context?.cluster ?? {};
  expect({
    server: context?.cluster.server,
    authority: caFile && btoa(await Bun.file(caFile).text()),
    token: context?.user.token,
    namespace: context?.namespace,
  }).toEqual({
    server: view.clusters[0]?.cluster["server"],
    authority: view.clusters[0]?.cluster["certificate-authority-data"],
    token: view.users[0]?.user["token"],
    namespace: view.contexts[0]?.context["namespace"],
  });
});

test("the API server sees the impersonated user, uid, group and extra fields of a kubeconfig", async () => {
  await using cluster = await openCluster();
  const own = Bun.YAML.parse(await Bun.file(cluster.kubeconfig).text()) as {
    readonly users: readonly { readonly name: string; readonly user: object }[];
  };
  const impersonation = {
    as: "ada",
    "as-uid": "7",
    "as-groups": ["shop, web"],
    "as-user-extra": { "example.com/scopes": ["view"] },
  };
  const users = own.users.map(({ name, user }) => ({ name, user: { ...user, ...impersonation } }));
  const api = await connect(cluster.file("impersonating", JSON.stringify({ ...own, users })));
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const review = await api.request({ verb: "create", resource: "selfsubjectreviews", path, body }, never);
  expect(review).toMatchObject({
    status: {
      userInfo: {
        username: "ada",
        uid: "7",
        groups: ["shop, web", "system:authenticated"],
        extra: { "example.com/scopes": ["view"] },
      },
    },
  });
});
