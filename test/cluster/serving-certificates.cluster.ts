// Kubelet serving certificates with the signer of a real kube-controller-manager: a request that
// the inventory proves becomes a certificate, and a forged request never does.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import type { CertificateSigningRequest, Node } from "../../src/kube/objects.ts";
import { certificateSigningRequests } from "../../src/kube/resources.ts";
import { implicit, objectID, octets, sequence } from "../../src/pki/der.ts";
import { writeKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { type SigningRequestOptions, signingRequest } from "../support/create-signing-request.ts";
import { OfficialClient } from "../support/official-client.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import type { KeptProcess } from "./rig/kept-process.ts";
import { createKubectl } from "./rig/kubectl.ts";

let plane: ControlPlane;
let signer: KeptProcess;
let cluster: Cluster;
beforeAll(async () => {
  plane = await startControlPlane();
  signer = plane.startControllerManager(["certificatesigningrequest-signing-controller"]);
});
afterAll(async () => {
  await signer.stop();
  await plane.stop();
});
beforeEach(async () => {
  cluster = await openCluster(plane.kubeconfig);
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

const controllers = "--controllers=*,kubelet-serving-csr";
const manager = "fairlead-certificates";

/** Has exactly the permissions that the command rbac prints for the controller. */
const startManager = async (): Promise<KeptProcess> => {
  const flags = [controllers, "--secure-port=0"];
  const printed = cluster.manager({ flags: ["rbac", "--set", `user=${manager}`, ...flags] });
  await printed.exited;
  const kubectl = createKubectl(cluster.kubeconfig, cluster.folder);
  await kubectl("apply", "-f", cluster.file("rbac.yaml", printed.output()));
  const user = { name: manager, server: plane.server, ...plane.issue(manager, []) };
  const kubeconfig = cluster.file("manager", writeKubeconfig(plane.ca, [user]));
  return cluster.manager({ kubeconfig, flags });
};

interface Asked extends Partial<SigningRequestOptions> {
  /** The Node whose kubelet sends the request. */
  readonly by?: string;
  readonly usages?: readonly string[];
}

let count = 0;

/** Sends a request with a kubelet's credentials. Returns its name. */
const ask = async ({ by = "worker-1", usages, ...content }: Asked): Promise<string> => {
  const user = `system:node:${by}`;
  const credentials = { name: user, server: plane.server, ...plane.issue(user, ["system:nodes"]) };
  const kubelet = OfficialClient.open(cluster.file("kubelet", writeKubeconfig(plane.ca, [credentials])));
  count += 1;
  const name = `csr-${count}`;
  await kubelet.create(certificateSigningRequests, {
    metadata: { name },
    spec: {
      request: btoa(signingRequest({ commonName: user, ...content })),
      signerName: "kubernetes.io/kubelet-serving",
      usages: [...(usages ?? ["digital signature", "server auth"])],
    },
  });
  return name;
};

const read = (name: string) => cluster.api.get(certificateSigningRequests, { name });

const conditionOf = ({ status }: CertificateSigningRequest) => status?.conditions?.[0];

const decided = (name: string) =>
  cluster.until(`the decision about ${name}`, async () => conditionOf(await read(name)));

const addressesOf = ({ status }: Node): readonly string[] =>
  (status.addresses ?? []).flatMap(({ type, address }) => (type.endsWith("IP") ? [address] : []));

const eventOf = (node: string, reason: string, text: string) =>
  cluster.until(`the event ${reason} with ${text}`, async () =>
    (await cluster.eventsOf(node)).some((each) => each.reason === reason && each.message?.includes(text)),
  );

test("issues a certificate for a request that matches the Node and its instance [F83 N9 S9]", async () => {
  const running = await startManager();
  cluster.cloud.machines.add("worker-1");
  await cluster.join("worker-1");
  const addresses = addressesOf(await cluster.initialized("worker-1"));
  expect(addresses).not.toEqual([]);
  const name = await ask({ dnsNames: ["worker-1"], addresses });
  expect(await decided(name)).toMatchObject({ type: "Approved", reason: "ServingCertificateApproved" });
  const encoded = await cluster.until("the certificate", async () => (await read(name)).status?.certificate);
  const certificate = new X509Certificate(Buffer.from(encoded, "base64"));
  expect(certificate.subject).toContain("CN=system:node:worker-1");
  for (const address of addresses) expect(certificate.checkIP(address)).toBe(address);
  expect(certificate.verify(new X509Certificate(plane.ca).publicKey)).toBe(true);
  await eventOf("worker-1", "ServingCertificateApproved", name);
  expect(running.output()).not.toMatch(/\b403\b|permission missing/);
});

/** Newer API servers reject some forgeries themselves: a different common name, and an invalid signature. */
const forged: readonly (readonly [what: string, asked: Asked, why: string])[] = [
  ["an IP address of another machine", { addresses: ["10.9.9.9"] }, "does not have 10.9.9.9"],
  [
    "a DNS name of another machine",
    { dnsNames: ["worker-1", "api.example.com"] },
    "does not have api.example.com",
  ],
  [
    "another organization",
    { dnsNames: ["worker-1"], organizations: ["system:nodes", "system:masters2"] },
    "organization must be system:nodes",
  ],
  [
    "usages of a client",
    { dnsNames: ["worker-1"], usages: ["digital signature", "client auth"] },
    "got digital signature, client auth",
  ],
  [
    "an email address",
    { dnsNames: ["worker-1"], emails: ["a@example.com"] },
    "contains what kubelets never ask for: an email address",
  ],
  [
    "an extension of two values, of which the signer uses the first",
    {
      extensions: [
        sequence(
          objectID("2.5.29.17"),
          ...["kubernetes.default.svc", "worker-1"].map((name) =>
            octets(sequence(implicit(2, Buffer.from(name)))),
          ),
        ),
      ],
    },
    "an extension has several values",
  ],
  ["no name", {}, "has neither a DNS name nor an IP address"],
];

test("denies requests with forged names, users, usages and signatures with the reason, and never signs them [F83 N9 S9]", async () => {
  await startManager();
  for (const name of ["worker-1", "worker-2"]) {
    cluster.cloud.machines.add(name);
    await cluster.join(name);
    await cluster.initialized(name);
  }
  for (const [what, asked, why] of forged) {
    const name = await ask(asked);
    expect([what, await decided(name)]).toEqual([
      what,
      expect.objectContaining({
        type: "Denied",
        reason: "ServingCertificateDenied",
        message: expect.stringContaining(why),
      }),
    ]);
    expect((await read(name)).status?.certificate).toBeUndefined();
  }
  // A user that is not a kubelet.
  const { metadata } = await cluster.api.create(certificateSigningRequests, {
    metadata: { name: "csr-admin" },
    spec: {
      request: btoa(signingRequest({ commonName: "system:node:worker-1", dnsNames: ["worker-1"] })),
      signerName: "kubernetes.io/kubelet-serving",
      usages: ["digital signature", "server auth"],
    },
  });
  expect(await decided(metadata.name)).toMatchObject({
    type: "Denied",
    message: expect.stringContaining("Only kubelets get serving certificates"),
  });
});

test("leaves a request pending with the reason if its Node is of another cloud, or has another Node's provider ID [F83 N9]", async () => {
  await startManager();
  const { id } = cluster.cloud.machines.add("worker-1");
  await cluster.join("worker-1");
  await cluster.initialized("worker-1");
  await cluster.join("foreign", { providerID: "other://1" });
  const foreign = await ask({ by: "foreign", dnsNames: ["foreign"] });
  await eventOf("foreign", "ServingCertificateWaiting", "of another cloud");
  await cluster.join("thief", { providerID: `fake://${id}`, taints: [] });
  const stolen = await ask({ by: "thief", dnsNames: ["thief"] });
  await eventOf("thief", "ServingCertificateWaiting", "have the same provider ID");
  for (const name of [foreign, stolen]) expect(conditionOf(await read(name))).toBeUndefined();
});

test("a certificate request waits while the cloud does not answer, and is approved afterwards [F83 N9]", async () => {
  await startManager();
  cluster.cloud.machines.add("worker-1");
  await cluster.join("worker-1");
  await cluster.initialized("worker-1");
  cluster.cloud.machines.add("worker-2");
  const { id } = cluster.cloud.machines.add("worker-3");
  cluster.cloud.faults.add({ kind: "status", operation: "GET /machines", status: 500, calls: 1000 });
  cluster.cloud.faults.add({ kind: "status", operation: "GET /machines/{id}", status: 500, calls: 1000 });
  await cluster.join("worker-3", { providerID: `fake://${id}`, taints: [] });
  const name = await ask({ by: "worker-3", dnsNames: ["worker-3"] });
  await eventOf("worker-3", "ServingCertificateWaiting", "cannot be decided now");
  expect(conditionOf(await read(name))).toBeUndefined();
  cluster.cloud.faults.clear();
  expect(await decided(name)).toMatchObject({ type: "Approved" });
});

test("approves and denies no certificate request unless --controllers names the controller [F83]", async () => {
  cluster.manager();
  cluster.cloud.machines.add("worker-1");
  await cluster.join("worker-1");
  await cluster.initialized("worker-1");
  const name = await ask({ dnsNames: ["worker-1"] });
  cluster.cloud.machines.add("worker-2");
  await cluster.join("worker-2");
  await cluster.initialized("worker-2");
  expect(conditionOf(await read(name))).toBeUndefined();
});
