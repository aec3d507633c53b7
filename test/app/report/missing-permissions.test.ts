import { afterEach, describe, expect, test } from "bun:test";
import { howToGrant } from "../../../src/app/grant-command.ts";
import { type AccessUser, allNeeds, permissionsOf } from "../../../src/app/permissions.ts";
import { MissingPermissions } from "../../../src/app/report/missing-permissions.ts";
import type { Authorize } from "../../../src/testing/apiserver/http/serve-reviews.ts";
import { DigitalOceanWorld, tcpPort } from "../../providers/digitalocean/digitalocean-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

/** The node controller has written the labels of the Node. */
const isManaged = (w: ServiceWorld, name: string): boolean =>
  w.server.store.get("nodes", undefined, name)?.metadata.labels?.["topology.kubernetes.io/region"] !==
  undefined;

const lease = { namespace: "kube-system", name: "cloud-controller-manager" };

const open = (users: ReadonlySet<AccessUser> = allNeeds.users) => {
  const logged: string[] = [];
  const log = {
    info: (text: string) => void logged.push(text),
    warn: (text: string) => void logged.push(text),
  };
  const grant = (user: string | undefined): string => howToGrant("fake-ccm", {}, user);
  const missing = new MissingPermissions(permissionsOf({ ...allNeeds, users }, lease), grant, log);
  const answer = (verb: "list" | "patch" | "create", resource: string, code: string): void =>
    missing.observe({ verb, resource, code });
  return { missing, logged, answer };
};

test.each([
  ["the user of a kubeconfig", {}, "limited", "ccm rbac --set user=limited | kubectl apply -f -"],
  ["no unknown user", {}, undefined, "ccm rbac | kubectl apply -f -"],
  [
    "no service account that it grants by default",
    {},
    "system:serviceaccount:kube-system:fairlead",
    "ccm rbac | kubectl apply -f -",
  ],
  [
    "the flags that decide about permissions, and another service account",
    { "leader-elect-resource-name": "ccm", controllers: "*,volume", v: "4" },
    "system:serviceaccount:cloud:ccm",
    "ccm rbac '--controllers=*,volume' --leader-elect-resource-name=ccm --set name=ccm --set namespace=cloud | kubectl apply -f -",
  ],
  [
    "no account of a single controller",
    { "use-service-account-credentials": "true" },
    "system:serviceaccount:kube-system:node-controller",
    "ccm rbac --use-service-account-credentials=true | kubectl apply -f -",
  ],
])("the command that grants a missing permission names %s", (_, given, user, command) => {
  expect(howToGrant("ccm", given, user)).toBe(`To grant it, without a restart: \`${command}\``);
});

describe("missing permissions", () => {
  test("logs a missing permission once, with its consequence and the remedy", () => {
    const { missing, logged, answer } = open();
    for (let count = 0; count < 3; count += 1) answer("patch", "nodes/status", "403");
    expect(logged).toEqual([
      "1 permission missing, the API server returned 403: patch nodes/status (held back: cloud-node, node-route). To grant it, without a restart: `fake-ccm rbac | kubectl apply -f -`",
    ]);
    expect(missing.problem).toBe(logged[0]);
  });

  test("shows missing optional permissions, but not as a problem", () => {
    const { missing, answer } = open();
    answer("create", "events", "403");
    expect(missing.problem).toBeUndefined();
    expect(missing.notice).toContain("create events (");
    expect(missing.notice).toContain("work with less)");
  });

  test("a missing permission counts as granted after a successful request, but not after a different error", () => {
    const { missing, logged, answer } = open();
    answer("list", "services", "403");
    answer("list", "services", "500");
    answer("list", "nodes", "200");
    expect(missing.problem).toContain("list services (held back: service)");
    answer("list", "services", "200");
    expect([missing.problem, missing.notice]).toEqual([undefined, undefined]);
    expect(logged.at(-1)).toBe("The permission list services is granted again");
  });

  test("still reports a missing permission for one Lease while requests for the other Lease succeed", () => {
    const { missing, logged } = open();
    const update = (name: string, code: string): void =>
      missing.observe({ verb: "update", resource: "leases", object: `kube-system/${name}`, code });
    for (let count = 0; count < 3; count += 1) {
      update("cloud-provider-extraction-migration", "403");
      update(lease.name, "200");
    }
    expect(missing.problem).toContain("update leases (held back: leader-migration)");
    expect(logged).toHaveLength(1);
    update("cloud-provider-extraction-migration", "200");
    expect(missing.problem).toBeUndefined();
  });

  test("ignores a 403 of an admission check, as in a namespace that is being deleted", () => {
    const { missing, logged } = open();
    missing.observe({ verb: "create", resource: "events", code: "403", denial: "admission" });
    expect([missing.notice, logged]).toEqual([undefined, []]);
  });

  test("reports the signer permission that an approval lacks, until an approval succeeds [F83]", () => {
    const { missing } = open(new Set([...allNeeds.users, "kubelet-serving-csr"]));
    const approve = (code: string, denial?: "signer"): void =>
      missing.observe({ verb: "patch", resource: "certificatesigningrequests/approval", code, denial });
    approve("403", "signer");
    expect(missing.problem).toContain("returned 403: approve signers (held back: kubelet-serving-csr)");
    approve("200");
    expect(missing.problem).toBeUndefined();
  });

  test("ignores a 403 for permissions that are not needed", () => {
    const { missing, logged, answer } = open();
    answer("list", "secrets", "403");
    expect([missing.notice, logged]).toEqual([undefined, []]);
  });
});

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

/** The cluster tests remove all other permissions that `rbac` prints. */
describe("a manager with a missing permission", () => {
  const without =
    (what: string): Authorize =>
    (_, { verb, resource, subresource }) =>
      `${verb} ${[resource, subresource].filter(Boolean).join("/")}` !== what;

  test("a manager that may not patch Services reports the missing permission, and still creates the load balancer [F79]", async () => {
    const authorize = without("patch services");
    const h = new DigitalOceanWorld({
      nodes: 2,
      config: { "cluster-id": "prod", region: "nyc3" },
      authorize,
    });
    world = h.world;
    await h.start();
    h.world.create("web", { spec: { ports: [tcpPort(30_080)] } });
    await h.world.pass(120);
    expect(h.balancers()).toHaveLength(1);
    expect(h.world.manager.permissions.notice).toContain("patch services (service work with less)");
    expect(h.world.manager.permissions.problem).toBeUndefined();
  });

  test("a manager that may not patch the status of Services logs the same command as on the Service, with its flags and user [F79]", async () => {
    const w = new ServiceWorld({ authorize: without("patch services/status") });
    world = w;
    await w.start("--leader-elect-resource-name=own");
    w.create("web");
    await w.pass(60);
    const command =
      /To grant it, without a restart: `(fake-cloud-controller-manager rbac .*--leader-elect-resource-name=own .*\| kubectl apply -f -)`/;
    const inLog = command.exec(w.logged.find((line) => line.includes("1 permission missing")) ?? "")?.[1];
    expect(inLog).toContain("--set user=");
    expect(w.events("web").join("\n")).toContain(inLog ?? "no command in the log");
  });

  test("a manager that may not patch events reports the missing permission, and manages Services as before [F79]", async () => {
    const w = new ServiceWorld({ authorize: without("patch events") });
    world = w;
    await w.start();
    w.create("web");
    // The repeated problem is counted on the first event.
    for (const value of ["fastest", undefined, "fastest"]) {
      w.annotate("web", { "balancer.fake.example/algorithm": value });
      await w.pass(60);
    }
    expect(w.addressesOf("web")).toHaveLength(1);
    expect(w.manager.permissions.notice).toContain("patch events (service work with less)");
    expect(w.manager.permissions.problem).toBeUndefined();
  });
});

describe("a manager that may not list Services", () => {
  const openWorld = async () => {
    let isGranted = false;
    const w = new ServiceWorld({
      nodes: 0,
      controllers: "*",
      authorize: (_, { verb, resource }) => isGranted || resource !== "services" || verb !== "list",
    });
    // The verb of streaming lists is watch.
    w.server.watchSettings.streamingLists = "off";
    world = w;
    w.create("web");
    await w.start("--configure-cloud-routes=false");
    w.addNode("node-1");
    await w.pass(60);
    return Object.assign(w, { grant: () => (isGranted = true) });
  };

  test("a manager that may not list Services manages Nodes, reports the permission, and stops only the service controller", async () => {
    const w = await openWorld();
    expect(w.manager.permissions.problem).toContain("list services (held back: service)");
    expect(w.logged.join("")).toContain("The API server refuses to list services");
    expect(isManaged(w, "node-1")).toBe(true);
    expect(w.cloud.balancers.list()).toEqual([]);
  });

  test("creates the load balancer when the permission is granted, without a restart", async () => {
    const w = await openWorld();
    w.grant();
    await w.pass(120);
    expect(w.manager.permissions.notice).toBeUndefined();
    expect(w.addressesOf("web")).toHaveLength(1);
  });

  test("stops only the service controller when the permission to list Services is revoked", async () => {
    let isRevoked = false;
    const w = new ServiceWorld({
      nodes: 0,
      controllers: "*",
      authorize: (_, { resource }) => !isRevoked || resource !== "services",
    });
    world = w;
    await w.start("--configure-cloud-routes=false");
    await w.pass(10);
    isRevoked = true;
    w.server.compact();
    await w.pass(1200);
    expect(w.manager.permissions.problem).toContain("services (held back: service)");
    w.addNode("node-2");
    w.create("later");
    await w.pass(60);
    expect(isManaged(w, "node-2")).toBe(true);
    expect(w.cloud.balancers.list()).toEqual([]);
  });
});
