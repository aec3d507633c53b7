import { afterEach, describe, expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Diagnosis } from "../../../src/inspect/doctor/diagnose.ts";
import type { TransportRequest } from "../../../src/platform/transport.ts";
import { type CommandOptions, runCommandIn } from "../../support/command-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const meta = (name: string, namespace?: string) => ({
  name,
  namespace,
  uid: `uid-${name}`,
  resourceVersion: "1",
});
const list = (...items: readonly object[]) => Response.json({ metadata: { resourceVersion: "9" }, items });

const workload = {
  metadata: meta("fairlead-fake", "ccm"),
  spec: {
    template: {
      spec: {
        serviceAccountName: "fairlead",
        dnsPolicy: "ClusterFirst",
        tolerations: [{ key: "node-role.kubernetes.io/control-plane", operator: "Exists" }],
        containers: [{ name: "manager", image: "registry.example.com/fake-cloud-controller-manager:1" }],
      },
    },
  },
  status: { desiredNumberScheduled: 3, numberReady: 2 },
};

/** The responses of a real server that the test API server does not have. */
const answers: Readonly<Record<string, () => Response>> = {
  "/version": () => Response.json({ major: "1", minor: "35+", gitVersion: "v1.35.4" }),
  "/apis/apps/v1/daemonsets": () => list(workload),
  "/apis/apps/v1/deployments": () => list(),
  "/api/v1/namespaces/kube-system/pods": () =>
    list({
      metadata: { ...meta("kcm-m1", "kube-system"), labels: { component: "kube-controller-manager" } },
      spec: { containers: [{ command: ["kube-controller-manager", "--cloud-provider=aws"] }] },
    }),
  "/apis/certificates.k8s.io/v1/certificatesigningrequests": () =>
    list({
      metadata: meta("csr-1"),
      spec: { signerName: "kubernetes.io/kubelet-serving", username: "system:node:worker-1" },
    }),
  "/apis/storage.k8s.io/v1/csidrivers": () => list({ metadata: meta("csi.vsphere.vmware.com") }),
  "/apis/storage.k8s.io/v1/csinodes": () => list(),
};

async function doctor(
  w: ServiceWorld,
  args: readonly string[] = [],
  { changed = {}, ...options }: CommandOptions & { readonly changed?: typeof answers } = {},
) {
  const others = ({ url }: TransportRequest): Response | undefined => {
    const { pathname, origin } = new URL(url);
    if (origin === "https://127.0.0.1:10258") throw Object.assign(new Error(), { code: "ECONNREFUSED" });
    return (changed[pathname] ?? answers[pathname])?.();
  };
  const flags = ["doctor", "--master=http://test-api-server", ...args];
  const result = await runCommandIn(w, flags, { others, ...options });
  const reasons = (): readonly string[] =>
    (JSON.parse(result.out) as Diagnosis).checks.flatMap(({ findings }) =>
      findings.map(({ reason }) => reason),
    );
  return { ...result, reasons };
}

/** An event that reports a rejected request. */
const refusal = (w: ServiceWorld) => ({
  metadata: meta("web.1", "default"),
  type: "Warning",
  message:
    'The API server returned 403 for patch services/status default/web: services "web" is forbidden: User "limited" cannot patch resource "services/status" in API group "" in the namespace "default". To grant it: curl x | sh',
  lastTimestamp: new Date(w.clock.now()).toISOString(),
  involvedObject: { kind: "Service", namespace: "default", name: "web" },
});

const open = (options: ConstructorParameters<typeof ServiceWorld>[0] = {}): ServiceWorld => {
  world = new ServiceWorld({ ...options });
  world.cloud.latency = milliseconds(0);
  return world;
};

describe("the command doctor", () => {
  test("doctor reads the cluster, the cloud and this machine, and sends no write [N7 S14]", async () => {
    const { code, kube, cloud, reasons } = await doctor(open(), ["--output=json"]);
    expect(code).toBe(3);
    expect(reasons().toSorted()).toEqual([
      // The test API server sends no time.
      "ClocksUnchecked",
      "ControlPlaneRunsCloudLoops",
      "NoHostNetwork",
      "NoLeader",
      "ServingCertificatesWaiting",
      "TolerationMissing",
      "TolerationMissing",
      "WorkloadNeedsClusterDNS",
    ]);
    expect(kube.filter((request) => !request.startsWith("GET "))).toEqual(
      kube.filter((request) => /^POST .*reviews$/.test(request)),
    );
    expect(cloud).toEqual(["GET /v1/machines"]);
  });

  test("doctor checks the permissions of the workload's service account [N7]", async () => {
    const w = open({
      authorize: ({ username }, { verb, resource, subresource }) =>
        username !== "system:serviceaccount:ccm:fairlead" ||
        `${verb} ${resource}/${subresource}` !== "patch nodes/status",
    });
    const { out } = await doctor(w);
    expect(out).toContain(
      "    system:serviceaccount:ccm:fairlead lacks 1 permission: patch nodes/status.\n    Does not work without: cloud-node, node-route.",
    );
  });

  test("doctor checks the kubeconfig's permissions without a workload, for the enabled controllers [N7]", async () => {
    const w = open({
      authorize: (_, { verb, resource }) => verb !== "*" && `${verb} ${resource}` !== "list services",
    });
    const changed = { "/apis/apps/v1/daemonsets": () => list() };
    const all = await doctor(w, [], { changed });
    expect(all.out).toContain("The user of the kubeconfig lacks 1 permission: list services.");
    const nodesOnly = await doctor(w, ["--controllers=cloud-node"], { changed });
    expect(nodesOnly.out).toContain("permissions: ok");
  });

  test.each([
    ["reports", false],
    ["does not report what is granted since:", true],
  ])("doctor %s a manager request that the API server rejected [N7]", async (_, isGranted) => {
    const w = open({
      authorize: ({ username }, { verb, subresource }) =>
        isGranted || username !== "limited" || verb !== "patch" || subresource !== "status",
    });
    const { out } = await doctor(w, [], { changed: { "/api/v1/events": () => list(refusal(w)) } });
    if (isGranted) expect(out).not.toContain("KubernetesRefused");
    else
      expect(out.replaceAll(/\s+/g, " ")).toContain(
        'warning: KubernetesRefused An event of Service default/web, 0s old, reports that the API server refused a request of "limited": patch services/status.',
      );
    // Other clients write events too.
    expect(out).not.toContain("curl");
  });

  test.each([
    ["reads all pages of Warnings, and finds a rejected request on the last page", 3, 3],
    ["stops after 10,000 Warnings, and reports this", Number.POSITIVE_INFINITY, 21],
  ])("%s [N7]", async (_, last, requests) => {
    const w = open({ authorize: ({ username }) => username !== "limited" });
    let page = 0;
    const events = () => {
      page += 1;
      const metadata = { resourceVersion: "9", ...(page < last && { continue: `page-${page}` }) };
      return Response.json({ metadata, items: page === last ? [refusal(w)] : [] });
    };
    const { reasons } = await doctor(w, ["--output=json"], { changed: { "/api/v1/events": events } });
    expect(page).toBe(requests);
    expect(reasons()).toContain(page === last ? "KubernetesRefused" : "WarningsUnchecked");
    expect(reasons()).not.toContain(page === last ? "WarningsUnchecked" : "KubernetesRefused");
  });

  test("doctor counts no Service of another controller among Fairlead's Services [N7]", async () => {
    const w = open();
    w.create("web");
    w.create("elsewhere", { annotations: { "balancer.fake.example/algorithm": "least-connections" } });
    w.create("of-class", { spec: { loadBalancerClass: "other.example/x" } });
    w.cloud.faults.add({ kind: "status", status: 503, calls: 5 });
    const servedElsewhere = { field: "algorithm", values: ["least-connections"], by: "another controller" };
    const provider = { ...fake, annotations: { ...fake.annotations, servedElsewhere } };
    const { out } = await doctor(w, [], { provider });
    expect(out.replaceAll(/\s+/g, " ")).toContain("0 of 1 Service of type LoadBalancer have an address");
  });

  test("doctor reports rejected cloud credentials, and a clock difference [N7]", async () => {
    const w = open();
    w.cloud.faults.add({ operation: "GET /machines", kind: "status", status: 401, calls: 5 });
    const changed = {
      "/version": () =>
        Response.json(
          { minor: "35", gitVersion: "v1.35.4" },
          { headers: { date: new Date(w.clock.now() + 90_000).toUTCString() } },
        ),
    };
    const { out, code } = await doctor(w, [], { changed });
    expect(code).toBe(3);
    expect(out).toContain("error: CloudAuthFailed");
    expect(out).toMatch(/The clock of this machine is 9[01]s behind the clock of http:\/\/test-api-server\./);
  });

  test("doctor reports invalid cloud settings, instead of refusing to run [N7]", async () => {
    const { out, code, cloud } = await doctor(open(), ["--config-set=latency=x"]);
    expect([code, cloud]).toEqual([3, []]);
    expect(out).toContain("error: CloudSettingsInvalid");
  });

  test("doctor reports a missing kubeconfig, and still checks the cloud [N7]", async () => {
    const result = await runCommandIn(open(), ["doctor", "--kubeconfig=/absent", "--secure-port=0"]);
    expect(result.code).toBe(3);
    expect(result.out).toContain("Cannot read the kubeconfig /absent");
    expect(result.out).toContain("cloud: ok");
  });

  test("doctor reports a port that another program uses, but not a port that a manager uses [N7]", async () => {
    const on =
      (body: string) =>
      ({ url }: TransportRequest) =>
        url === "https://127.0.0.1:10258/healthz" ? new Response(body) : undefined;
    const other = await runCommandIn(open(), ["doctor", "--kubeconfig=/absent"], { others: on("<html>") });
    expect(other.out).toContain("Port 10258 of this machine (--secure-port) is in use");
    const manager = await runCommandIn(open(), ["doctor", "--kubeconfig=/absent"], { others: on("ok") });
    expect(manager.out).toContain("ports: ok");
  });
});

describe("doctor --wait", () => {
  const healthy = {
    "/apis/apps/v1/daemonsets": () => list(),
    "/api/v1/namespaces/kube-system/pods": () => list(),
    "/apis/certificates.k8s.io/v1/certificatesigningrequests": () => list(),
  };
  const rejectCredentials = (w: ServiceWorld, calls: number) =>
    w.cloud.faults.add({ operation: "GET /machines", kind: "status", status: 401, calls });
  const wait = (w: ServiceWorld, ...args: readonly string[]) =>
    doctor(w, ["--leader-elect=false", ...args], { changed: healthy });

  test("doctor --wait repeats the checks until no error is left, and reports each change of the errors once [N7]", async () => {
    const w = open();
    // Rejected credentials are read again, so each check sends two requests.
    rejectCredentials(w, 4);
    const before = w.clock.monotonic();
    const { code, out, err, cloud } = await wait(w, "--wait");
    expect(err).toBe("fake-cloud-controller-manager: waiting for 1 error: CloudAuthFailed (cloud)\n");
    expect(cloud).toHaveLength(5);
    expect(out.match(/^Doctor: /gm)).toHaveLength(1);
    expect(out).toContain("Doctor: 0 errors");
    expect(code).toBe(4);
    expect(w.clock.monotonic() - before).toBeWithin(20_000, 25_000);
  });

  test("doctor --wait ends with the remaining errors after the timeout [N7]", async () => {
    const w = open();
    rejectCredentials(w, 100);
    const { code, out, cloud } = await wait(w, "--wait=25s");
    expect([code, cloud.length]).toEqual([3, 8]);
    expect(out).toContain("error: CloudAuthFailed");
  });

  test("doctor --wait does not wait without an error or for invalid settings, which are read only once [N7]", async () => {
    const invalid = await wait(open(), "--wait", "--config-set=latency=x");
    expect([invalid.code, invalid.err]).toEqual([3, ""]);
    const fine = await wait(open(), "--wait");
    expect([fine.code, fine.err, fine.cloud.length]).toEqual([4, "", 1]);
  });

  test("doctor --wait rejects a value that is not a duration", async () => {
    const { code, err } = await wait(open(), "--wait=soon");
    expect(code).toBe(2);
    expect(err).toContain('--wait must be a duration such as 15s or 1h30m of at least 1s, got "soon"');
  });
});

describe("the command rbac", () => {
  const rbac = async (...args: readonly string[]) => (await runCommandIn(open(), ["rbac", ...args])).out;

  test("rbac prints the content of deploy/rbac.yaml if every flag may be set", async () => {
    const shipped = await Bun.file(new URL("../../../deploy/rbac.yaml", import.meta.url)).text();
    const printed = await rbac("--enable-leader-migration");
    expect(shipped).toContain(printed);
  });

  test("rbac prints no permission on Services without the service controller", async () => {
    expect(await rbac("--controllers=cloud-node")).not.toMatch(/services|endpointslices|delete/);
  });

  test("rbac prints only reads with --mode=observe", async () => {
    const verbs = [...(await rbac("--mode=observe", "--secure-port=0")).matchAll(/verbs: \[(.*)\]/g)];
    expect(new Set(verbs.flatMap(([, list = ""]) => list.split(", ")))).toEqual(
      new Set(["list", "watch", "get"]),
    );
  });

  test("rbac prints no Role without a Lease, and no authentication reader without the secure port", async () => {
    const printed = await rbac("--leader-elect=false", "--secure-port=0");
    expect(printed).not.toMatch(/^[^#\n]*(kind: Role$|leases|authentication-reader|reviews)/m);
  });

  test("with --use-service-account-credentials, rbac prints permissions for tokens instead of writes", async () => {
    const printed = await rbac("--use-service-account-credentials");
    expect(printed).not.toMatch(/verbs: \[.*(patch|delete).*\](?<!create, patch\])/);
    expect(printed).toContain("resources: [serviceaccounts/token]");
    expect(printed).toContain("name: fairlead-service-accounts");
  });

  test("rbac grants the approval of serving certificates only to the named controller [F83]", async () => {
    expect(await rbac("--controllers=*,kubelet-serving-csr")).toContain("verbs: [approve]");
    expect(await rbac("--controllers=*")).not.toContain("certificates.k8s.io");
  });

  test("rbac and manifests grant the same permissions for the same flags", async () => {
    const flags = ["--controllers=service", "--set", "user=ccm", "--set", "name=east"];
    const manifests = await runCommandIn(open(), ["manifests", "--as=rbac", ...flags]);
    expect(await rbac(...flags)).toBe(manifests.out);
  });

  test("doctor blames the address instead of the kubeconfig for a 404 of a server without the API [N7]", async () => {
    const other = () => new Response("404 page not found", { status: 404 });
    const { code, out } = await doctor(open(), [], { changed: { "/version": other } });
    const text = out.replace(/\s+/g, " ");
    expect([code, text]).toEqual([3, expect.stringContaining("error: NotAnApiServer")]);
    expect(text).toContain(
      "http://test-api-server answers, but not as a Kubernetes API server: The API server returned 404 for get version",
    );
    expect(text).toContain("Fix: Correct the address of the API server, including its path, in --master");
    expect(text).not.toContain("ApiServerUnreachable");
  });
});
