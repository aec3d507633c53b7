import { describe, expect, test } from "bun:test";
import { parseAllDocuments } from "yaml";
import { digitalocean } from "../../../providers/digitalocean/index.ts";
import { fake } from "../../../providers/fake/index.ts";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { openstack } from "../../../providers/openstack/index.ts";
import { rancher } from "../../../providers/rancher/index.ts";
import { vsphere } from "../../../providers/vsphere/index.ts";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { runProgram } from "../../../src/app/run.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

// What `manifests` prints for each cloud. test/tools applies it to a real API server.

const notAsked = () => Promise.reject(new Error("not asked"));

const print = async (
  provider: unknown,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  contents: Readonly<Record<string, string>> = {},
) => {
  let out = "";
  const errors: string[] = [];
  const console = {
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => void errors.push(text),
  };
  const platform = {
    files: new MemoryFiles(contents).files,
    clock: new VirtualClock(),
    random: seededRandom(1),
    environment,
    transport: notAsked,
    cloudTransport: notAsked,
  };
  const code = await runProgram(
    provider as AnyProvider,
    ["manifests", ...args],
    console,
    platform,
    new AbortController().signal,
  );
  return { out, errors: errors.join(""), code };
};

interface Container {
  readonly image: string;
  readonly args?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: object }[];
  readonly livenessProbe?: { readonly httpGet: object };
}
interface PodSpec {
  readonly hostNetwork?: boolean;
  readonly nodeSelector?: object;
  readonly containers: readonly [Container];
}
interface Printed {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly stringData?: Readonly<Record<string, string>>;
  readonly subjects?: readonly object[];
  readonly rules?: readonly { readonly resourceNames?: readonly string[] }[];
  readonly spec: PodSpec & {
    readonly replicas?: number;
    readonly template: { readonly spec: PodSpec };
    readonly ports: readonly object[];
  };
}
const objectsIn = (text: string): readonly Printed[] =>
  parseAllDocuments(text).map((document) => document.toJS() as Printed);
const one = (text: string, kind: string): Printed => {
  const [found, ...more] = objectsIn(text).filter((each) => each.kind === kind);
  if (found === undefined || more.length > 0) throw new Error(`not exactly one ${kind} in:\n${text}`);
  return found;
};
const containerOf = (text: string, kind = "DaemonSet"): Container =>
  one(text, kind).spec.template.spec.containers[0];

describe.each([
  ["digitalocean", digitalocean, ["--set=token=t"]],
  ["fake", fake, ["--set=token=t"]],
  ["hetzner", hetzner, ["--set=token=t"]],
  ["rancher", rancher, ["--set=url=http://rancher/v2-beta", "--set=access-key=a", "--set=secret-key=s"]],
  ["vsphere", vsphere, ["--set=server=vc.example", "--set=user=u", "--set=password=p"]],
] as const)("%s", (cloud, provider, settings) => {
  const program = `${cloud}-cloud-controller-manager`;

  test("prints everything that a DaemonSet needs [S6 S7]", async () => {
    const { out, errors, code } = await print(provider, ["--as=daemonset", "--set=image=r/i:1", ...settings]);
    expect([code, errors]).toEqual([0, ""]);
    expect(objectsIn(out).map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      "ClusterRole fairlead",
      "Role fairlead",
      "ClusterRoleBinding fairlead",
      "RoleBinding fairlead",
      "RoleBinding fairlead-authentication-reader",
      "ServiceAccount fairlead",
      "ClusterRole fairlead-metrics",
      `Secret ${program}`,
      `DaemonSet ${program}`,
      `Service ${program}-metrics`,
    ]);
    expect(containerOf(out).image).toBe("r/i:1");
  });

  test("prints a static pod without a Secret or service account [S7]", async () => {
    const { out, code } = await print(provider, ["--as=static-pod"]);
    expect(code).toBe(0);
    expect(objectsIn(out).map(({ kind }) => kind)).toEqual(["Pod"]);
    expect(out).not.toMatch(/secretKeyRef|serviceAccountName|configMap/);
  });
});

test("the Role allows reading exactly the Secrets that the cloud settings name, each in its namespace [F79 F83]", async () => {
  const ofEach = ["--set=server=vc.example", "--set=secret-name=vsphere", "--set=secret-namespace=clouds"];
  const { out, errors, code } = await print(vsphere, ["--as=daemonset", "--set=image=r/i:1", ...ofEach]);
  expect([code, errors]).toEqual([0, ""]);
  const objects = objectsIn(out).filter(({ metadata }) => metadata.name === "fairlead-cloud-credentials");
  expect(objects.map(({ kind, metadata, rules }) => [kind, metadata.namespace, rules])).toEqual([
    [
      "Role",
      "clouds",
      [{ apiGroups: [""], resources: ["secrets"], resourceNames: ["vsphere"], verbs: ["get"] }] as never,
    ],
    ["RoleBinding", "clouds", undefined],
  ]);
});

test("flags on the command line are passed to the manager, and determine the port and the probes", async () => {
  const { out } = await print(fake, [
    ...["--as=daemonset", "--cluster-name", "prod", "--cluster-cidr=10.0.0.0/16,fd00::/56"],
    ...[
      "--bind-address=127.0.0.1",
      "--secure-port=20258",
      "--tls-sni-cert-key=a,b",
      "--tls-sni-cert-key=c,d",
    ],
  ]);
  const { args = [], livenessProbe } = containerOf(out);
  expect(args).toEqual([
    ...["--cluster-name=prod", "--cluster-cidr=10.0.0.0/16,fd00::/56", "--bind-address=127.0.0.1"],
    ...["--secure-port=20258", "--tls-sni-cert-key=a,b", "--tls-sni-cert-key=c,d"],
  ]);
  expect(readFlags(args).problems).toEqual([]);
  expect(livenessProbe?.httpGet).toEqual({ host: "127.0.0.1", path: "/livez", port: 20258, scheme: "HTTPS" });
  expect(one(out, "Service").spec.ports).toEqual([
    { name: "https", port: 20258, targetPort: 20258, protocol: "TCP" },
  ]);
});

test("without the secure port, there are no probes, no metrics Service and no scraper role", async () => {
  const { out } = await print(fake, ["--as=daemonset", "--secure-port=0"]);
  expect(out).not.toMatch(/livenessProbe|kind: Service\n|fairlead-metrics/);
});

test("the Role contains the Lease of the flags, in its namespace", async () => {
  const { out } = await print(fake, [
    ...["--as=rbac", "--leader-elect-resource-name=east", "--leader-elect-resource-namespace=ccm"],
    "--set=user=fairlead-on-a-host",
  ]);
  const { metadata, rules = [] } = one(out, "Role");
  expect(metadata.namespace).toBe("ccm");
  expect(rules.flatMap(({ resourceNames = [] }) => resourceNames)).toContain("east");
  expect(one(out, "ClusterRoleBinding").subjects).toContainEqual({
    kind: "User",
    apiGroup: "rbac.authorization.k8s.io",
    name: "fairlead-on-a-host",
  });
});

test("a custom namespace and name apply to every object", async () => {
  const { out } = await print(fake, [
    "--as=deployment",
    "--set=namespace=ccm",
    "--set=name=east",
    "--set=replicas=3",
  ]);
  expect(one(out, "Namespace").metadata.name).toBe("ccm");
  expect(one(out, "ServiceAccount").metadata).toMatchObject({ name: "east", namespace: "ccm" });
  expect(one(out, "Deployment")).toMatchObject({
    metadata: { name: "east", namespace: "ccm" },
    spec: { replicas: 3 },
  });
  // Only the Lease and the cluster's authorities are in kube-system.
  const inSystem = objectsIn(out).filter(({ metadata }) => metadata.namespace === "kube-system");
  expect(inSystem.map(({ kind }) => kind)).toEqual(["Role", "RoleBinding", "RoleBinding"]);
});

test("grants a metrics scraper the role for reading the metrics", async () => {
  const { out } = await print(fake, ["--as=daemonset", "--set=scraper=monitoring/prometheus"]);
  const binding = objectsIn(out).find(
    ({ kind, metadata }) => kind === "ClusterRoleBinding" && metadata.name === "fairlead-metrics",
  );
  expect(binding?.subjects).toEqual([
    { kind: "ServiceAccount", namespace: "monitoring", name: "prometheus" },
  ]);
});

describe("cloud settings", () => {
  test("writes cloud settings as variables, or as arguments if they have no variable, and keeps $(…) in them", async () => {
    const { out } = await print(rancher, [
      ...[
        "--as=daemonset",
        "--set=CATTLE_URL=http://x/$(HOME)/v2-beta",
        "--set=access-key=a",
        "--set=zone-label=z",
      ],
      "--config-set=project-id=1a5",
    ]);
    const { env, args } = containerOf(out);
    expect(env).toContainEqual({ name: "CATTLE_URL", value: "http://x/$$(HOME)/v2-beta" });
    expect(args).toEqual(["--config-set=project-id=1a5", "--config-set=zone-label=z"]);
  });

  test("writes secret settings only into the Secret", async () => {
    const { out } = await print(hetzner, ["--as=daemonset", "--set=token=abc: def"]);
    // Applying the manifest again must not remove values that are not given.
    expect(one(out, "Secret").stringData).toEqual({ HCLOUD_TOKEN: "abc: def" });
    expect(out.split("abc: def")).toHaveLength(2);
    const reference = { name: "hetzner-cloud-controller-manager", key: "HCLOUD_TOKEN", optional: true };
    expect(containerOf(out).env).toContainEqual({
      name: "HCLOUD_TOKEN",
      valueFrom: { secretKeyRef: reference },
    });
  });

  test("prints settings from the environment only on request", async () => {
    const environment = { HCLOUD_TOKEN: "of-the-environment", HCLOUD_NETWORK: "net" };
    const unasked = await print(hetzner, ["--as=daemonset"], environment);
    expect(unasked.out).not.toMatch(/of-the-environment|net$/m);
    expect(unasked.errors).toContain("HCLOUD_TOKEN or HCLOUD_TOKEN_FILE is required");
    const asked = await print(hetzner, ["--as=daemonset", "--set=HCLOUD_TOKEN"], environment);
    expect(one(asked.out, "Secret").stringData?.["HCLOUD_TOKEN"]).toBe("of-the-environment");
  });

  test("cloud settings come from an existing Secret if a flag names the Secret", async () => {
    const { out } = await print(hetzner, ["--as=daemonset", "--set=secret=hcloud"]);
    expect(objectsIn(out).map(({ kind }) => kind)).not.toContain("Secret");
    expect(containerOf(out).env.filter(({ valueFrom }) => valueFrom !== undefined)).toHaveLength(2);
    expect(out).toContain("name: hcloud");
  });

  test("cloud settings come from the keys of a Go manager's Secret", async () => {
    const named = ["--as=daemonset", "--set=secret=digitalocean"];
    const { out, errors } = await print(digitalocean, [
      ...named,
      "--set=secret-keys=DO_ACCESS_TOKEN=access-token",
    ]);
    const keys = containerOf(out).env.flatMap(({ name, valueFrom }) =>
      valueFrom === undefined ? [] : [[name, valueFrom]],
    );
    const reference = { name: "digitalocean", key: "access-token", optional: true };
    expect(keys).toEqual([["DO_ACCESS_TOKEN", { secretKeyRef: reference }]]);
    expect(errors).toContain("the Secret digitalocean (DO_ACCESS_TOKEN under access-token) has it");
  });

  test("writes no Secret without secret values, but a comment that explains how to create it", async () => {
    const { out } = await print(hetzner, ["--as=daemonset"]);
    expect(objectsIn(out).map(({ kind }) => kind)).not.toContain("Secret");
    expect(out).toContain("# kubectl -n kube-system create secret generic hetzner-cloud-controller-manager");
    expect(out).toContain("#   --from-literal=HCLOUD_TOKEN=…   The API token of the project.");
    expect(containerOf(out).env.filter(({ valueFrom }) => valueFrom !== undefined)).toHaveLength(2);
  });

  test("quotes strings that YAML 1.1 reads as a different type", async () => {
    const { out } = await print(hetzner, ["--as=daemonset", "--set=token=yes", "--set=network=0123"]);
    expect(out).toContain('HCLOUD_TOKEN: "yes"');
    expect(out).toContain('value: "0123"');
  });
});

test("prints the volume agent of each Node, with the CSIDriver of the cloud and permission only to read Nodes [S10]", async () => {
  const { out, errors, code } = await print(hetzner, [
    ...["--as=node-volumes", "--set=image=ccm:1", "--set=kubelet-folder=/var/lib/k0s/kubelet", "--v=4"],
  ]);
  expect([code, errors]).toEqual([0, ""]);
  const objects = parseAllDocuments(out).map((document) => document.toJS() as Record<string, never>);
  const one = (kind: string) => objects.find((each) => each["kind"] === kind) ?? {};
  expect(objects.map((each) => String(each["kind"]))).toEqual([
    ...["CSIDriver", "StorageClass", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "DaemonSet"],
  ]);
  expect(one("CSIDriver")["metadata"]).toEqual({ name: "csi.hetzner.cloud" } as never);
  expect(one("StorageClass")).toMatchObject({ provisioner: "csi.hetzner.cloud" });
  expect(one("ClusterRole")["rules"]).toEqual([
    { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
  ] as never);
  const daemonSet = one("DaemonSet") as unknown as {
    readonly spec: {
      readonly template: { readonly spec: { readonly containers: readonly [Record<string, unknown>] } };
    };
  };
  const [container] = daemonSet.spec.template.spec.containers;
  expect(container["args"]).toEqual([
    ...["node-volumes", "--csi-endpoint=unix:///var/lib/k0s/kubelet/plugins/csi.hetzner.cloud/csi.sock"],
    ...["--plugin-registration-path=/var/lib/k0s/kubelet/plugins_registry", "--host-root=/host"],
    ...["--http-endpoint=127.0.0.1:9808", "--v=4"],
  ]);
  // The manifest contains no cloud credential.
  expect(JSON.stringify(container["env"])).not.toContain("secretKeyRef");
});

const wrong: readonly (readonly [unknown, readonly string[], string])[] = [
  [fake, [], "--as is required: daemonset, deployment, static-pod, systemd, rbac or node-volumes"],
  [fake, ["--as=daemon"], "--as must be one of daemonset"],
  [fake, ["--as=rbac", "please"], 'unexpected argument "please" after manifests'],
  [
    hetzner,
    ["--as=daemonset", "--set=netwrk=1"],
    "--set netwrk: is neither a value of the manifest nor a setting",
  ],
  [hetzner, ["--as=daemonset", "--set=HCLOUD_NETWROK=1"], "did you mean HCLOUD_NETWORK?"],
  [hetzner, ["--as=daemonset", "--set=imgae=x"], "did you mean image?"],
  [fake, ["--as=daemonset", "--set=cluster-name=x"], "is a flag; pass --cluster-name=VALUE instead"],
  [fake, ["--as=daemonset", "--set=replicas=2"], "--set replicas: has no effect with --as daemonset"],
  [fake, ["--as=deployment", "--set=replicas=0"], "replicas must be a whole number of at least 1"],
  [
    fake,
    ["--as=daemonset", "--set=name=Prod"],
    "name must be a name of lower-case letters, digits and dashes",
  ],
  [fake, ["--as=daemonset", "--set=image"], "--set image: needs a value"],
  [fake, ["--as=daemonset", "--set=FAKE_TOKEN"], "the variable FAKE_TOKEN is not set"],
  [hetzner, ["--as=daemonset", "--set=robot-enabled=maybe"], "robot-enabled must be true or false"],
  [rancher, ["--as=daemonset", "--set=node-domains=a,b"], "--set node-domains: contains a comma"],
  [fake, ["--as=daemonset", "--kubeconfig=/k"], "--kubeconfig cannot be used with --as daemonset"],
  [fake, ["--as=static-pod", "--set=token=t"], "write the value to /etc/fairlead/FAKE_TOKEN on the machine"],
  [fake, ["--as=systemd", "--set=page-size=5", "--node-selector=a=b c"], "which contains a space"],
  [rancher, ["--as=node-volumes"], "rancher-cloud-controller-manager has no volumes"],
  [fake, ["--as=node-volumes", "--set=replicas=2"], "has no effect with --as node-volumes"],
  [fake, ["--as=systemd", "--cluster-name=a;id"], "--cluster-name must have only letters, digits"],
  [
    hetzner,
    ["--as=daemonset", "--set=secret=hcloud", "--set=secret-keys=HCLOUD_TOKN=token"],
    "secret-keys: HCLOUD_TOKN is not a variable of a credential; they are HCLOUD_TOKEN, ",
  ],
  [
    hetzner,
    ["--as=daemonset", "--set=secret-keys=HCLOUD_TOKEN=token"],
    "secret-keys: it has no effect without secret",
  ],
];
const wrongByWords = wrong.map((one) => [one[1].join(" ") || "no flag", ...one] as const);
test.each(wrongByWords)("rejects %s with a reason, and prints nothing", async (_, provider, args, text) => {
  const { out, errors, code } = await print(provider, args);
  expect([out, code]).toEqual(["", 2]);
  expect(errors).toContain(text);
});

test("reports a missing required setting even if the combination of other settings is invalid", async () => {
  const { errors, code } = await print(rancher, ["--as=daemonset", "--set=image=x"]);
  expect(code).toBe(0);
  expect(errors).toContain(
    "The manager will exit with code 2 until this is corrected: url (environment variable CATTLE_URL) is required",
  );
});

test.each([
  [["--as=static-pod"], "unless a file in /etc/fairlead on the machine has it: HCLOUD_TOKEN or"],
  [["--as=daemonset", "--set=secret=hcloud"], "unless the Secret hcloud has it: HCLOUD_TOKEN or"],
])("prints a manifest with %j although the credential comes from elsewhere", async (args, text) => {
  const { errors, code } = await print(hetzner, [...args, "--set=image=x"]);
  expect(code).toBe(0);
  expect(errors).toContain(`The manager exits with code 2 ${text}`);
  expect(errors).not.toContain("until this is corrected");
});

test("reports a missing setting that is not a credential, even if credentials come from elsewhere", async () => {
  const { errors } = await print(rancher, ["--as=static-pod", "--set=image=x"]);
  expect(errors).toContain("until this is corrected: url (environment variable CATTLE_URL) is required");
});

test("reports a webhook that is served but not registered", async () => {
  const { errors, code } = await print(fake, ["--as=daemonset", "--set=image=x", "--webhooks=*"]);
  expect(code).toBe(0);
  expect(errors).toContain("The webhook is not registered");
});

test("the manager rejects flags of the manifests command", async () => {
  const errors: string[] = [];
  const console = { out: () => undefined, err: (text: string) => void errors.push(text) };
  const platform = {
    files: new MemoryFiles().files,
    clock: new VirtualClock(),
    random: seededRandom(1),
    environment: {},
    transport: notAsked,
    cloudTransport: notAsked,
  };
  const args = ["--kubeconfig=/k", "--set=endpoint=x"];
  const signal = new AbortController().signal;
  expect(await runProgram(fake as unknown as AnyProvider, args, console, platform, signal)).toBe(2);
  expect(errors).toEqual([
    "fake-cloud-controller-manager: --set is for the command manifests or rbac, not for run; omit it\n",
  ]);
});

describe("--cloud-config", () => {
  const path = "conf/cloud.conf";
  const args = ["--as", "deployment", `--cloud-config=${path}`, "--set", "image=IMAGE"];
  const podOf = (out: string) => {
    const all = parseAllDocuments(out).map(
      (document) => document.toJS() as Printed & Record<string, unknown>,
    );
    const { spec } = all.find(({ kind }) => kind === "Deployment") as unknown as {
      readonly spec: {
        readonly template: { readonly spec: PodSpec & { readonly volumes: readonly object[] } };
      };
    };
    return spec.template.spec;
  };

  test("the cloud configuration file of a workload is in a Secret, and a message shows how to create it [S7]", async () => {
    const { out, errors, code } = await print(openstack, args);
    const { containers, volumes } = podOf(out);
    const secretName = "openstack-cloud-controller-manager-files";
    expect(code).toBe(0);
    expect(volumes).toEqual([{ name: "fairlead", secret: { secretName } }]);
    expect(containers[0]).toMatchObject({
      args: ["--cloud-config=/etc/fairlead/cloud.conf"],
      volumeMounts: [{ name: "fairlead", mountPath: "/etc/fairlead", readOnly: true }],
    });
    const command = `kubectl -n kube-system create secret generic ${secretName} --from-file=${path}`;
    expect([errors, out]).toEqual([expect.stringContaining(command), expect.stringContaining(command)]);
  });

  test("the cloud configuration file is in the given Secret, as in the Go manager's manifest", async () => {
    const { out } = await print(openstack, [...args, "--set", "secret=cloud-config"]);
    expect(podOf(out).volumes).toEqual([{ name: "fairlead", secret: { secretName: "cloud-config" } }]);
  });

  test("the cloud configuration file of a static pod must be in a folder that is mounted into the pod", async () => {
    const pod = (file: string) => print(openstack, ["--as", "static-pod", `--cloud-config=${file}`]);
    const wrong = await pod("/etc/kubernetes/cloud.conf");
    expect([wrong.code, wrong.out]).toEqual([2, ""]);
    expect(wrong.errors).toContain(
      '--cloud-config must be in /etc/fairlead, which is all that a static pod sees of the machine, got "/etc/kubernetes/cloud.conf". Write the file there',
    );
    const right = await pod("/etc/fairlead/cloud.conf");
    expect([right.code, right.out]).toEqual([
      0,
      expect.stringContaining("--cloud-config=/etc/fairlead/cloud.conf"),
    ]);
  });

  const read = (text: string, ...more: readonly string[]) =>
    print(openstack, [...args, ...more], {}, { [path]: text });
  const access = "[Global]\nauth-url = https://k.example\n";

  test("the cloud configuration file is checked before a manifest is printed, with the line of each mistake [F78]", async () => {
    const wrong = await read(`${access}router-id = r\n[LoadBalancer]\nenabled = maybe\n`);
    expect([wrong.code, wrong.out, wrong.errors]).toEqual([
      2,
      "",
      `openstack-cloud-controller-manager: ${path}:3: router-id in [Global] has no effect, because it belongs in [Route]\nopenstack-cloud-controller-manager: ${path}:5: enabled in [LoadBalancer] must be true or false, got "maybe"\n`,
    ]);
  });

  test("the cloud configuration file is mounted despite warnings, and problems that no credential can solve are reported [F78]", async () => {
    const { code, out, errors } = await read(`${access}use-octavia = yes\n`);
    expect([code, out]).toEqual([0, expect.stringContaining("kind: Deployment")]);
    expect(errors).toContain(
      `${path}:3: use-octavia in [Global] is not a known setting, so it has no effect\n`,
    );
    expect(errors).toContain(
      "The manager will exit with code 2 until this is corrected: no credentials are set.",
    );
    const complete = await read(`${access}username = a\npassword = b\n`);
    expect(complete.errors).not.toContain("exit code 2");
    expect(complete.errors).not.toContain("was not checked");
  });

  test("reports a cloud configuration file that cannot be read on this machine as unchecked", async () => {
    const { code, errors } = await print(openstack, args);
    expect([code, errors]).toEqual([
      0,
      expect.stringContaining(
        `${path}: cannot read --cloud-config: no such file: ${path}. It was not checked.`,
      ),
    ]);
    expect(errors).not.toContain("exit code 2");
  });

  test("mounts no cloud configuration file for a cloud that does not use such a file", async () => {
    const { out } = await print(hetzner, args);
    expect([podOf(out).volumes, out.includes("from-file")]).toEqual([undefined as never, false]);
  });

  test("does not pass the cloud configuration file to the processes that mount volumes", async () => {
    const { out } = await print(openstack, ["--as", "node-volumes", `--cloud-config=${path}`]);
    expect(out).not.toContain("cloud-config");
  });
});
