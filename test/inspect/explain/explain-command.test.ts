import { afterEach, describe, expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { explainPage } from "../../../src/app/endpoints/debug-pages.ts";
import { secret } from "../../../src/core/fields.ts";
import type { Description } from "../../../src/inspect/explain/description.ts";
import type { Transport, TransportRequest } from "../../../src/platform/transport.ts";
import { microTimestamp } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { type CommandOptions, runCommandIn } from "../../support/command-world.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { renewedFields, ServiceWorld } from "../../support/service-world.ts";

// The command `explain`, as an operator runs it: with a running manager, offline, and if the cloud is not configured.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const algorithm = "balancer.fake.example/algorithm";
const explain = (w: ServiceWorld, args: readonly string[], options: CommandOptions = {}) =>
  runCommandIn(w, ["explain", ...args, "--master=http://test-api-server"], options);

/** A cluster with a settled Service and one with an invalid annotation, whose leader is another manager. */
const setUp = async (): Promise<ServiceWorld> => {
  const w = new ServiceWorld();
  world = w;
  await w.start("--leader-elect=true");
  w.create("storefront");
  w.create("wrong", { annotations: { [algorithm]: "fastest" } });
  await w.pass(60);
  await w.stop();
  w.holdLease("another_1");
  return w;
};

const unwrapped = (out: string): string => out.replaceAll(/\s+/g, " ").trim();

describe("explain without a running manager", () => {
  test("explain shows a settled Service with exit code 0, and sends no write [F91 N7]", async () => {
    const w = await setUp();
    const before = w.cloud.balancers.list();
    const { code, out, err, kube, cloud } = await explain(w, ["service", "storefront"]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toStartWith(
      "Service default/storefront: settled\n  Its load balancer has the address 192.0.2.1.\n",
    );
    expect(out).toContain("Normal EnsuredLoadBalancer, from service-controller\n    Ensured load balancer\n");
    expect(unwrapped(out.slice(out.indexOf("Source:")))).toBe(
      "Source: offline, from the API server and the cloud. Decisions are what a manager would do now; earlier attempts are only in the events. The marks of load balancers are compared with the cluster of the settings here (--cluster-name=kubernetes, or the id where the cloud has one); the manager may have a different one. The leader is another_1, which renewed its Lease at 2026-01-01T00:01:02.000000Z. For its reasons, set --server-ca-file: it gets your credentials, so its certificate must be one that you trust.",
    );
    expect([...kube, ...cloud].filter((request) => !request.startsWith("GET "))).toEqual([]);
    expect(kube.filter((request) => request.includes("leases"))).toEqual([
      expect.stringMatching(/^GET .*\/leases\?limit=500/),
    ]);
    expect(w.cloud.balancers.list()).toEqual(before);
  });

  test.each([
    [
      "does not exist",
      (w: ServiceWorld) => {
        const lease = w.server.store.get("leases", "kube-system", "cloud-controller-manager");
        if (lease !== undefined) w.server.store.remove(resourceNamed("leases"), lease);
      },
      "the Lease kube-system/cloud-controller-manager does not exist.",
    ],
    [
      "has no holder",
      (w: ServiceWorld) => w.holdLease(""),
      "the Lease kube-system/cloud-controller-manager has no holder.",
    ],
    [
      "is held in observe mode",
      (w: ServiceWorld) => w.holdLease("another_1-observe"),
      "another_1-observe holds the Lease kube-system/cloud-controller-manager with --mode=observe, so it changes nothing, and keeps others from leading.",
    ],
    [
      "was not renewed for five minutes",
      (w: ServiceWorld) => w.pass(300),
      /of another_1 was last renewed at \S+, 5m(\d+s)? ago by the clock of this machine, and not within its duration\./,
    ],
  ])("reports that no manager leads when the Lease %s [F91 N7]", async (_, change, text) => {
    const w = await setUp();
    await change(w);
    for (const options of [{}, { provider: hetzner, environment: {} }]) {
      const one = await explain(w, ["service", "storefront"], options);
      expect(one.code).toBe(3);
      expect(one.out).toStartWith("Service default/storefront: problem\n  No manager leads: ");
      expect(one.out.replaceAll(/\s+/g, " ")).toMatch(text);
      expect(one.out).toMatch(/If no manager\s+runs, start\s+one|Restart it without/);
      const all = await explain(w, [], options);
      expect(all.code).toBe(3);
      expect(all.out).toStartWith("No manager leads: ");
    }
    const data = JSON.parse((await explain(w, ["svc/storefront", "-o=json"])).out);
    expect(data.noLeader).toStartWith("No manager leads: ");
    expect(data.objects[0]).toMatchObject({ state: "problem", notes: [{ reason: "NoLeader" }] });
  });

  test.each([
    ["kubernetes", "(--cluster-name=kubernetes, or the id where the cloud has one)."],
    ["prod", 'or the id where the cloud has one), but the leader has --cluster-name="prod".'],
  ])("explain compares its cluster name with the cluster name of the leader, %s", async (name, text) => {
    const w = await setUp();
    w.holdLease("another_1", "fake-cloud-controller-manager");
    w.annotateLease({ "fairlead.dev/cluster-name": name });
    expect(unwrapped((await explain(w, ["service", "storefront"])).out)).toContain(text);
  });

  test("explain reports that several managers lead, whatever object is explained [F91]", async () => {
    const w = await setUp();
    const leases = resourceNamed("leases");
    const spec = {
      holderIdentity: "vm_2",
      leaseDurationSeconds: 15,
      renewTime: microTimestamp(w.clock.now()),
    };
    const managedFields = [{ manager: "hcloud-cloud-controller-manager", fieldsV1: renewedFields }];
    w.server.objects.create(leases, "kube-system", { metadata: { name: "second", managedFields }, spec });
    for (const args of [[], ["service", "storefront"]]) {
      const { code, out } = await explain(w, args);
      expect(code).toBe(3);
      expect(out.replaceAll(/\s+/g, " ")).toMatch(
        /^Several managers lead at the same time, each with its own Lease: another_1 holds the Lease kube-system\/cloud-controller-manager since \S+; vm_2 \(hcloud-cloud-controller-manager\) holds the Lease kube-system\/second\. .* may create a load balancer twice\./,
      );
      expect(out).not.toMatch(/(are|were) settled/);
    }
  });

  test("explain names a cloud rate limit within seconds, instead of retrying until the timeout [F91 N7]", async () => {
    const w = await setUp();
    w.cloud.faults.add({ kind: "status", status: 429, calls: 100_000 });
    const since = w.clock.monotonic();
    const { out } = await explain(w, ["service", "wrong"]);
    expect(w.clock.monotonic() - since).toBeLessThan(5000);
    expect(out.replaceAll(/\s+/g, " ")).toContain(
      "The cloud refused the request because of its rate limit (429 from GET",
    );
  });

  test("explain reports within seconds that the cloud does not answer, and shows the known facts [F91 N7]", async () => {
    const w = await setUp();
    const never: Transport = (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const since = w.clock.monotonic();
    const { code, out } = await explain(w, ["service", "storefront"], { cloud: never });
    expect(w.clock.monotonic() - since).toBeLessThan(10_000);
    expect(code).toBe(3);
    expect(unwrapped(out)).toContain("Service default/storefront: not known It has the address 192.0.2.1.");
    expect(unwrapped(out)).toContain("did not respond within 5s");
  });

  test("explain shows a problem with exit code 3, including under the names that kubectl uses [F91 N7]", async () => {
    const w = await setUp();
    for (const args of [
      ["service", "wrong"],
      ["svc/wrong"],
      ["service", "default/wrong"],
      ["service", "wrong", "-n", "default"],
    ]) {
      const { code, out } = await explain(w, args);
      expect(code).toBe(3);
      expect(out).toContain('algorithm must\n  be one of round-robin, least-connections, got "fastest".');
    }
  });

  test("explain shows what a manager would do for a new Service [F91 N7]", async () => {
    const w = await setUp();
    w.create("new");
    const { code, out } = await explain(w, ["service", "new"]);
    expect(code).toBe(3);
    expect(out.split("would: create balancer: for default/new: ports 80/TCP to 3 targets")).toHaveLength(2);
  });

  test("despite a warning, explain shows that the load balancer would be created [F91 N7]", async () => {
    const w = await setUp();
    w.create("new", { annotations: { "fairlead.dev/target-selector": "zone=nowhere" } });
    const { out } = await explain(w, ["service", "new"]);
    const [summary = ""] = out.replaceAll(/\s+/g, " ").split(" Type: ");
    expect(summary).toContain("so the load balancer has no targets. Fairlead would create balancer: for");
    expect(summary).not.toContain("gets none");
  });

  test("explain shows why the cloud rejected a manager's request, and no next attempt [F91 N7]", async () => {
    const w = await setUp();
    await w.start();
    w.cloud.faults.add({ kind: "status", status: 402, operation: "POST /balancers", calls: 1000 });
    w.create("full", { annotations: { "fairlead.dev/target-selector": "zone=nowhere" } });
    await w.pass(3);
    await w.stop();
    const { out } = await explain(w, ["service", "full"]);
    expect(out.replaceAll(/\s+/g, " ")).toContain(
      "A manager reported: Error syncing load balancer: POST /balancers failed with 402: injected fault. Type:",
    );
    expect(out).toContain("Problem: SyncLoadBalancerFailed\n");
    expect(out).not.toContain("Next attempt");
    const list = await explain(w, []);
    expect(list.out.replaceAll(/\s+/g, " ")).toMatch(
      /Service default\/full: problem It has no address yet\. A manager reported: Error syncing load balancer: POST \/balancers failed with 402/,
    );
  });

  test("explain names the leader, and when it renewed its Lease [F91 N7]", async () => {
    const w = await setUp();
    await w.start("--leader-elect=true");
    await w.until(() => w.manager.leads(), "the leadership");
    const { out } = await explain(w, ["service", "storefront", "--offline"]);
    expect(unwrapped(out)).toMatch(/ The leader is \S+, which renewed its Lease at \d{4}-\S+Z\.$/);
  });

  test("explain shows why it did not query the leader, and which flag enables that [F91 N7]", async () => {
    const w = await setUp();
    await w.start("--leader-elect=true");
    await w.until(() => w.manager.leads(), "the leadership");
    const { out } = await explain(w, ["service", "storefront"]);
    expect(unwrapped(out)).toEndWith(
      "Z. For its reasons, set --server-ca-file: it gets your credentials, so its certificate must be one that you trust.",
    );
  });

  test("explain without a name lists the objects that need attention, as text and as JSON [F91 N7]", async () => {
    const w = await setUp();
    for (const index of [0, 1, 2]) w.removeNode(`node-${index}`);
    const text = await explain(w, []);
    expect(text.code).toBe(3);
    expect(text.out).toContain("Service default/wrong: problem\n");
    const json = JSON.parse((await explain(w, ["-o", "json"])).out);
    expect(json.objects.map(({ name }: { name: string }) => name)).toContain("default/wrong");
  });

  test("explain describes all objects of a long list in the same way, including objects whose events are not read [F91 N7]", async () => {
    const w = await setUp();
    for (let index = 10; index < 25; index += 1) {
      w.addNode(`new-${index}`);
      w.changeNode(`new-${index}`, (node) => ({ ...node, spec: { taints: [uninitialized] } }));
    }
    for (const { id, name } of w.cloud.machines.list())
      if (name.startsWith("new-")) w.cloud.machines.remove(id);
    const { objects } = JSON.parse((await explain(w, ["-o=json"])).out);
    const described = objects.filter(({ name }: Description) => name.startsWith("new-"));
    // The command makes no attempt, and does not know since when a problem exists.
    const shapes = described.map(({ notes: [note], nextAttemptInSeconds }: Description) => [
      ...[note?.reason, note?.sinceSeconds, nextAttemptInSeconds],
    ]);
    expect(shapes).toEqual(Array.from({ length: 15 }, () => ["NotFoundInCloud", undefined, undefined]));
  });

  test("explain suggests the closest object with exit code 1 [F91 N7]", async () => {
    const w = await setUp();
    const typo = await explain(w, ["service", "storefrnt"]);
    expect([typo.code, typo.out]).toEqual([1, ""]);
    expect(typo.err).toBe(
      "fake-cloud-controller-manager: Service default/storefrnt does not exist; did you mean default/storefront?\n",
    );
    const elsewhere = await explain(w, ["service", "storefront", "--namespace=shop"]);
    expect(elsewhere.err).toContain(
      "Service shop/storefront does not exist; did you mean default/storefront?",
    );
    const node = await explain(w, ["node", "quite-another"]);
    expect(node.err).toContain("Node quite-another does not exist; kubectl get nodes lists all");
  });

  test("explain reports that the cloud does not answer [F91 N7]", async () => {
    const w = await setUp();
    w.cloud.faults.add({ kind: "status", status: 401, calls: 100_000 });
    const { code, out } = await explain(w, ["service", "storefront"]);
    expect(code).toBe(3);
    expect(out.replaceAll(/\s+/g, " ").match(/The cloud rejected the credentials \(401/g)).toHaveLength(1);
  });

  test.each([
    [401, "CloudAuthFailed"],
    [429, "CloudThrottled"],
    [503, "CloudUnavailable"],
  ])(
    "explain names the cause of a %d once, with the reason of events, and does not mention a manager [F91 N7]",
    async (status, reason) => {
      const w = await setUp();
      w.create("new");
      w.setReady("node-0", "True");
      w.cloud.faults.add({ kind: "status", status, calls: 100_000 });
      const { code, out } = await explain(w, []);
      const text = out.replaceAll(/\s+/g, " ");
      expect(code).toBe(3);
      expect(text).toStartWith("This command does not know the cloud's state: ");
      expect(text.split(`(${status} from GET`)).toHaveLength(2);
      expect(text).toContain("2 Services: not known default/new, default/wrong It has no address yet. ");
      expect(text).toContain("Service default/storefront: not known It has the address 192.0.2.1. ");
      expect(text).toContain("Node node-0: not known It is Ready and initialized. ");
      expect(text).toContain("2 Nodes: not known node-1, node-2 It is initialized but not Ready. ");
      // Another program may have different credentials, and another path to the cloud.
      expect(text).not.toMatch(/gets none|keeps it|is not (changed|deleted)/);
      const { objects } = JSON.parse((await explain(w, ["-o=json"])).out);
      expect(objects.map(({ notes }: Description) => notes[0]?.reason)).toEqual(objects.map(() => reason));
      expect(text).not.toContain("Fairlead will retry");
      expect(text).not.toContain("until this is corrected");
    },
  );

  test("explain does not report a missing answer when the cloud rejects an object that a setting names [F91 N7]", async () => {
    const w = await setUp();
    w.cloud.faults.add({ kind: "status", status: 400, operation: "GET /machines", calls: 100_000 });
    const { cloudProblem, objects } = JSON.parse((await explain(w, ["node", "node-0", "-o=json"])).out);
    expect(cloudProblem).toStartWith(
      "This command does not know the cloud's state: the instances of the cloud were never listed: GET /machines failed with 400",
    );
    expect([objects[0].state, objects[0].notes[0].reason]).toEqual(["unknown", "RefusedByCloud"]);
  });

  test("explain reports once that another program leads, and does not send it the user's credentials [F91]", async () => {
    const w = await setUp();
    w.create("new");
    w.holdLease("another_1", "hcloud-cloud-controller-manager");
    for (const options of [{}, { provider: hetzner, environment: {} }]) {
      const { code, out } = await explain(w, [], options);
      const text = out.replaceAll(/\s+/g, " ");
      expect(code).toBe(3);
      expect(text).toStartWith(
        "another_1 leads: it holds the Lease kube-system/cloud-controller-manager, and the program that renews it is hcloud-cloud-controller-manager, not ",
      );
      expect(text).toContain("Service default/new: waiting");
      expect(text).toContain(
        "Nodes and Services wait for that program, and Fairlead changes nothing while it runs. To switch to Fairlead, stop that program",
      );
      expect(text.split("Nodes and Services wait")).toHaveLength(2);
      expect(text).not.toContain("your credentials");
    }
    const files = { "/ca.crt": "the authority" };
    const { code, err } = await explain(w, ["--server-ca-file=/ca.crt"], { files });
    expect([code, err]).toEqual([1, expect.stringContaining("cannot find the manager: another_1 leads: ")]);
  });
});

describe("explain where the cloud is not configured", () => {
  const provider = {
    ...fake,
    config: { ...fake.config, token: secret("The API token.", { env: "FAKE_TOKEN", required: true }) },
  };

  test("explain without a cloud shows the conditions and events of the API server, and the missing setting [F91 N7]", async () => {
    const w = await setUp();
    const { code, out, cloud } = await explain(w, ["service", "wrong"], { provider });
    expect([code, cloud]).toEqual([3, []]);
    expect(out).toContain("Problem: InvalidAnnotation\n");
    expect(out).toContain("Warning InvalidAnnotation, from service-controller\n");
    expect(out).toContain("Source: the API server only, because the cloud is not configured here (");
    expect((await explain(w, ["service", "storefront"], { provider })).code).toBe(0);
    expect((await explain(w, ["service", "storefrnt"], { provider })).err).toContain(
      "did you mean default/storefront?",
    );
    expect((await explain(w, [], { provider })).out).toContain("Service default/wrong: problem\n");
  });

  test("explain without a cloud lists problems that a manager reported and could not write to the status [F91 N7]", async () => {
    const w = new ServiceWorld({
      authorize: (_, { verb, resource, subresource }) =>
        !(verb === "patch" && resource === "services" && subresource === "status"),
    });
    world = w;
    await w.start();
    w.create("mute");
    await w.pass(10);
    await w.stop();
    for (const options of [{}, { provider }]) {
      const { code, out } = await explain(w, [], options);
      expect([code, out.replaceAll(/\s+/g, " ")]).toEqual([
        3,
        expect.stringMatching(
          /Service default\/mute: problem It has no address yet\. A manager reported: Error syncing load balancer: The API server returned 403 for patch services\/status/,
        ),
      ]);
    }
  });

  test("explain without a cloud shows the events of other components with their source, not as events of a manager [F91 N7]", async () => {
    const w = await setUp();
    await w.stop();
    w.create("young");
    w.server.objects.create(resourceNamed("events"), "default", {
      metadata: { name: "young.1" },
      involvedObject: { apiVersion: "v1", kind: "Service", namespace: "default", name: "young" },
      type: "Warning",
      reason: "ClusterIPNotAllocated",
      message: "Cluster IP [IPv4]: 10.0.206.205 is not allocated; repairing",
      eventTime: microTimestamp(w.clock.now()),
      reportingComponent: "ipallocator-repair-controller",
    });
    const { out } = await explain(w, ["service", "young"]);
    expect(out).toContain("Fairlead would create balancer");
    expect(out).toContain("Warning ClusterIPNotAllocated, from ipallocator-repair-controller\n");
    expect(out).not.toContain("A manager reported");
  });

  test("without a cloud and without a manager, explain states nothing about holds [F91 N7]", async () => {
    const w = await setUp();
    w.delete("wrong");
    await w.pass(30);
    const { code, out } = await explain(w, [], { provider });
    expect(code).toBe(0);
    expect(out.replaceAll(/\s+/g, " ")).toStartWith(
      "The Nodes and Services show no problem. What a manager holds back or waits for is not known here.",
    );
  });

  test("explain without a cloud needs only the permissions of a user in the Service's namespace [F91 N7]", async () => {
    const isOwn = ({ verb, namespace, resource }: { verb: string; namespace: string; resource: string }) =>
      ["get", "list"].includes(verb) && namespace === "default" && ["services", "events"].includes(resource);
    const w = new ServiceWorld({ authorize: (_, request) => isOwn(request) });
    world = w;
    w.create("web", { annotations: { "fairlead.dev/paused": "true" } });
    // With and without cloud settings.
    for (const options of [{ provider }, {}]) {
      const { code, out, cloud } = await explain(w, ["service", "web"], options);
      expect([code, cloud]).toEqual([3, []]);
      expect(out).toStartWith("Service default/web: paused\n");
      const typo = await explain(w, ["service", "wbe"], options);
      expect([typo.code, typo.err]).toEqual([1, expect.stringContaining("did you mean default/web?")]);
    }
    const { out } = await explain(w, ["service", "web"]);
    expect(out).toContain("Source: the API server only, because a manager needs more permissions (");
  });

  test("explain works without Hetzner's credentials, and names the assumed cluster and the unknown facts [F91 N7]", async () => {
    const w = await setUp();
    const { code, out, err } = await explain(w, ["service", "wrong", "--cluster-name=prod"], {
      provider: hetzner as never,
    });
    expect([code, err]).toEqual([3, ""]);
    expect(out).toStartWith("Service default/wrong: problem\n");
    expect(out.replaceAll(/\s+/g, " ")).toContain(
      "because the cloud is not configured here (HCLOUD_TOKEN or HCLOUD_TOKEN_FILE is required: the API token of the project). What the cloud has, pending attempts and holds are not known. Whether its load balancer has the mark of this cluster is not checked.",
    );
  });

  test("explain without a cloud names the ways to reach a running manager, as plan does [F91 N7]", async () => {
    const w = await setUp();
    const { out } = await explain(w, ["service", "storefront"], { provider: hetzner, environment: {} });
    expect(unwrapped(out)).toContain(
      "Or run explain in the pod of a manager, which has the settings: `kubectl",
    );
    expect(out).toContain("`kubectl -n kube-system exec POD -- hetzner-cloud-controller-manager explain`");
    const planned = await runCommandIn(w, ["plan", "--master=http://test-api-server"], { provider: hetzner });
    expect([planned.code, planned.out]).toEqual([2, ""]);
    expect(planned.err).toContain("HCLOUD_TOKEN or HCLOUD_TOKEN_FILE is required");
    expect(planned.err).toContain(
      "plan reads the cloud, so it needs the manager's settings. In a pod that has them: kubectl -n kube-system exec POD -- hetzner-cloud-controller-manager plan. What is wrong now, without them: hetzner-cloud-controller-manager explain",
    );
  });

  test("explain works if a settings file does not exist [F91 N7]", async () => {
    const w = await setUp();
    const { code, out } = await explain(w, ["service", "wrong", "--cloud-config=/etc/kubernetes/cloud.yaml"]);
    expect([code, out]).toEqual([3, expect.stringContaining("/etc/kubernetes/cloud.yaml")]);
  });

  test("explain rejects an unknown setting instead of guessing [F91 N7]", async () => {
    const w = await setUp();
    const { code, out, err } = await explain(w, ["service", "wrong", "--config-set=endpiont=x"]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain("endpiont");
  });

  test("explain uses the newest event if it finds no other explanation [F91 N7]", async () => {
    const w = await setUp();
    await w.start();
    w.cloud.faults.add({ kind: "status", status: 402, operation: "POST /balancers", calls: 1000 });
    w.create("full");
    await w.pass(3);
    await w.stop();
    const { code, out } = await explain(w, ["service", "full"], { provider });
    expect(code).toBe(3);
    expect(out).toContain("POST /balancers failed with 402: injected");
  });
});

describe("explain with a running manager", () => {
  const url = "https://10.0.0.1:10258";
  const running = async () => {
    const w = await setUp();
    await w.start("--leader-elect=true");
    await w.until(() => w.manager.leads(), "the leadership");
    w.cloud.faults.add({ kind: "status", status: 402, operation: "POST /balancers", calls: 1000 });
    w.create("full");
    await w.pass(90);
    const page = explainPage(w.manager);
    const asked: TransportRequest[] = [];
    const others = (request: TransportRequest): Response | undefined => {
      const { origin, pathname: path, searchParams: query } = new URL(request.url);
      if (origin !== url) return undefined;
      asked.push(request);
      const answer = page({ method: "GET", path, query, body: async () => "", headers: [] });
      if (answer instanceof Promise) throw new Error("The page is not synchronous.");
      return new Response(answer.body, { status: answer.status });
    };
    return { w, others, asked };
  };

  test("explain with a running manager shows earlier attempts and the next attempt [F91 N7]", async () => {
    const { w, others } = await running();
    const { code, out } = await explain(w, ["service", "full", `--server=${url}/`], { others });
    expect(code).toBe(3);
    expect(out).toMatch(/ {2}in \d+s, or when something changes\n/);
    expect(out).toContain("failed: create balancer");
    expect(unwrapped(out)).toMatch(
      /Source: the manager replica-2_\S+ at https:\/\/10\.0\.0\.1:10258, the leader$/,
    );
    const json = JSON.parse((await explain(w, ["-o=json", `--server=${url}`], { others })).out);
    expect(json.objects.map(({ name }: { name: string }) => name)).toContain("default/full");
    const missing = await explain(w, ["service", "ful", `--server=${url}`], { others });
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining("did you mean default/full?")]);
  });

  test("explain does not send a user from a standby replica to a leader that is another program [F91]", async () => {
    const { w, others } = await running();
    w.holdLease("go_1", "hcloud-cloud-controller-manager");
    await w.until(() => !w.manager.leads(), "the loss");
    const { out } = await explain(w, ["service", "full", `--server=${url}`], { others });
    const text = out.replaceAll(/\s+/g, " ");
    expect(text).toStartWith("go_1 leads: it holds the Lease kube-system/cloud-controller-manager, and ");
    expect(text).toContain("It waits for go_1, which is another program");
    expect(text).toEndWith("a standby replica, which knows no reasons ");
    expect(text).not.toContain("sk the leader");
  });

  test("explain finds the leader through its Lease, and trusts only the given CA [F91 N7]", async () => {
    const { w, others, asked } = await running();
    w.changeNode("node-0", (node) => ({
      ...node,
      metadata: { ...node.metadata, name: "replica-2" },
      status: { ...node.status, addresses: [{ type: "InternalIP", address: "10.0.0.1" }] },
    }));
    const files = { "/ca.crt": "the authority" };
    const { code, out } = await explain(w, ["service", "full", "--server-ca-file=/ca.crt"], {
      others,
      files,
    });
    expect([code, out]).toEqual([3, expect.stringContaining("failed: create balancer")]);
    expect(asked[0]?.tls).toEqual({ ca: "the authority", serverName: "localhost" });
  });

  const failures: readonly (readonly [string, () => Response, string])[] = [
    [
      "403",
      () =>
        Response.json({ message: 'forbidden: User "ada" cannot get path "/debug/explain"' }, { status: 403 }),
      "Grant the verb get on the path /debug/explain",
    ],
    [
      "401",
      () => Response.json({ message: "Unauthorized" }, { status: 401 }),
      "select that cluster with --context",
    ],
    ["404", () => Response.json({ message: "not found" }, { status: 404 }), "older than this executable"],
    ["status 200 with unexpected content", () => Response.json({}), "another program"],
    [
      "an unknown certificate",
      () => {
        throw Object.assign(new Error("self signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
      },
      "set --server-ca-file to the CA of its certificate",
    ],
    [
      "no connection",
      () => {
        throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
      },
      "(ECONNREFUSED refused); check that the manager runs, and its address (ss -ltnp, as root, names the program at the port), or use kubectl port-forward",
    ],
    [
      "no connection, when the message is the code",
      () => {
        throw Object.assign(new Error("ECONNREFUSED"), { code: "ECONNREFUSED" });
      },
      `cannot reach the manager at ${url} (ECONNREFUSED); check that the manager runs`,
    ],
  ];
  test.each(failures)("explain gives the remedy after %s [F91 N7]", async (_, answer, text) => {
    const w = await setUp();
    const others = ({ url: asked }: TransportRequest) => (asked.startsWith(url) ? answer() : undefined);
    const { code, out, err } = await explain(w, ["service", "wrong", `--server=${url}`], { others });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toContain(text);
  });

  test("explain reports that no leader was found [F91 N7]", async () => {
    const w = await setUp();
    w.holdLease("");
    const files = { "/ca.crt": "the authority" };
    const { code, err } = await explain(w, ["service", "wrong", "--server-ca-file=/ca.crt"], { files });
    expect([code, err]).toEqual([
      1,
      expect.stringContaining("cloud-controller-manager has no holder. Set --server"),
    ]);
  });
});

const wrong: readonly (readonly [readonly string[], string])[] = [
  [["pod", "x"], 'explain knows no kind "pod"; use explain node NAME'],
  [["servce", "x"], 'explain knows no kind "servce"; did you mean service?'],
  [["service"], "explain service requires a name"],
  [["node", "a", "b"], 'unexpected argument "b" after the name'],
  [["node", "a/b"], "a Node has no namespace"],
  [["node", "a", "--server=http://x"], "--server must be a URL such as https://localhost:10258"],
  [["node", "a", "--server=https://x", "--offline"], "--offline and --server contradict each other"],
  [["node", "a", "-o", "github"], "--output github is for lint"],
  [["node", "a", "--servr=https://x"], "unknown flag --servr; did you mean --server?"],
  [["node", "a", "--server-ca-file=/nowhere"], "--server-ca-file cannot be read"],
];
test.each(wrong)("explain %j is rejected with exit code 2 [F91 N7]", async (args, text) => {
  world = new ServiceWorld();
  const { code, out, err, cloud } = await explain(world, args);
  expect([code, out, cloud]).toEqual([2, "", []]);
  expect(err).toContain(text);
});

test("finds and merges kubeconfigs like kubectl, and selects the cluster with --context [F91 N7]", async () => {
  const w = await setUp();
  const of = (server: string) => `apiVersion: v1
kind: Config
current-context: other
clusters:
  - { name: other, cluster: { server: "http://127.0.0.1:1" } }
  - { name: here, cluster: { server: "${server}" } }
contexts:
  - { name: other, context: { cluster: other } }
  - { name: here, context: { cluster: here, namespace: default } }
`;
  const users = `apiVersion: v1
kind: Config
current-context: here
`;
  const files = { "/home/ada/.kube/config": of("http://test-api-server"), "/first": users };
  const run = (KUBECONFIG: string, ...args: readonly string[]) => {
    const environment = { HOME: "/home/ada", KUBECONFIG };
    return runCommandIn(w, ["explain", "service", "storefront", ...args], { files, environment });
  };
  expect(await run("", "--context=here")).toMatchObject({ code: 0 });
  expect(await run("/nowhere:/first:/home/ada/.kube/config")).toMatchObject({ code: 0 });
  // As in kubectl, KUBECONFIG replaces ~/.kube/config.
  const missing = await run("/nowhere");
  expect([missing.code, missing.err]).toEqual([
    2,
    expect.stringContaining(
      "Cannot read the kubeconfig /nowhere (ENOENT). Check that the file exists and is readable.",
    ),
  ]);
  const none = await runCommandIn(w, ["explain", "service", "storefront"]);
  expect([none.code, none.err]).toEqual([2, expect.stringContaining("Set --kubeconfig.")]);
});

test("commands reject a flag that they do not use [F91 N7]", async () => {
  world = new ServiceWorld();
  for (const command of ["run", "version", "schema"]) {
    const { code, out, err } = await runCommandIn(world, [command, "--server=https://x"]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(
      `--server is for the command explain or support-bundle, not for ${command}; omit it`,
    );
  }
});

test("kubectl fairlead without arguments lists the commands on one screen, and never starts a manager [F91 N7]", async () => {
  world = new ServiceWorld();
  const plugin = { invokedAs: "/usr/local/bin/kubectl-fairlead" };
  const alone = await runCommandIn(world, [], plugin);
  expect([alone.code, alone.kube, alone.cloud]).toEqual([0, [], []]);
  expect(alone.out).toContain("Usage:\n  kubectl fairlead [command] [flags]\n");
  expect(alone.out).toContain("\n  doctor ");
  expect(alone.out).toEndWith("All flags and settings: kubectl fairlead --help\n");
  const lines = alone.out.split("\n");
  expect([lines.length <= 45, Math.max(...lines.map(({ length }) => length)) <= 80]).toEqual([true, true]);
  expect((await runCommandIn(world, ["--help"], plugin)).out).toContain("--cluster-cidr");
  const help = await runCommandIn(world, ["explain", "--help"], plugin);
  expect(help.out).toContain("  kubectl fairlead explain service [NAMESPACE/]NAME [flags]\n");
  expect(help.out).toContain("  3  a requested object waits or has a problem, or no manager leads\n");
  expect((await runCommandIn(world, ["help", "explain"], plugin)).out).toBe(help.out);
});

test("kubectl fairlead with only an unknown flag fails and suggests the nearest name [F91 N7]", async () => {
  world = new ServiceWorld();
  const plugin = { invokedAs: "/usr/local/bin/kubectl-fairlead" };
  const { code, out, err } = await runCommandIn(world, ["--contxt=prod"], plugin);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toBe("kubectl fairlead: unknown flag --contxt; did you mean --context?\n");
});
