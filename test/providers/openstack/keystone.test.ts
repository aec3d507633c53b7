// Tokens: how they are requested, when they are renewed, and which services the catalog names.

import { expect, test } from "bun:test";
import { collect, minutes, Secret } from "#ccm";
import { failureOf, VirtualClock } from "#ccm/testing";
import { openstack } from "../../../providers/openstack/index.ts";
import { config, secret } from "../../../providers/openstack/simulator/harness.ts";
import { addServer } from "../../../providers/openstack/simulator/index.ts";
import { connectCloud } from "../../../src/app/connect-cloud.ts";
import { messageOf } from "../../../src/core/error-message.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { instancesOf, labWith } from "./openstack-lab.ts";

const tokens = "POST /identity/v3/auth/tokens";
const noCredential = { "application-credential-id": undefined, "application-credential-secret": undefined };

test("requests one token per service, and a new token when the token expires [F70]", async () => {
  const { lab, cloud } = labWith({ tokenLife: minutes(10) }, ({ project }) => addServer(project, "node-1"));
  await instancesOf(lab);
  await instancesOf(lab);
  expect(cloud.counts()[tokens]).toBe(2);
  await lab.clock.advance(minutes(11));
  expect(await instancesOf(lab)).toHaveLength(1);
  expect(cloud.counts()[tokens]).toBe(4);
});

test("requests a new token after the cloud has revoked one [F70]", async () => {
  const { lab, cloud } = labWith({}, ({ project }) => addServer(project, "node-1"));
  await instancesOf(lab);
  cloud.keystone.revokeTokens();
  expect(await instancesOf(lab)).toHaveLength(1);
  expect(cloud.counts()[tokens]).toBe(4);
});

test("sends no scope with an application credential, and the project as the scope with a password", async () => {
  const application = labWith({});
  await instancesOf(application.lab);
  expect(application.cloud.seen[0]?.body).toEqual({
    auth: {
      identity: {
        methods: ["application_credential"],
        application_credential: { id: "fairlead", secret },
      },
    },
  });
  const settings = {
    ...noCredential,
    username: "demo",
    password: "pw",
    "tenant-name": "demo",
    "domain-id": "default",
  };
  const password = labWith({ settings }, ({ keystone }) => keystone.passwords.set("demo", "pw"));
  await instancesOf(password.lab);
  expect(password.cloud.seen[0]?.body).toEqual({
    auth: {
      identity: {
        methods: ["password"],
        password: { user: { name: "demo", domain: { id: "default" }, password: "pw" } },
      },
      scope: { project: { name: "demo", domain: { id: "default" } } },
    },
  });
});

test("sends the trust as the scope, with the trustee's password", async () => {
  const settings = {
    ...noCredential,
    "trust-id": "t1",
    "trustee-id": "u1",
    "trustee-password": "pw",
    "tenant-id": "p1",
  };
  const { lab, cloud } = labWith({ settings });
  await failureOf(instancesOf(lab));
  expect(cloud.seen[0]?.body).toEqual({
    auth: {
      identity: { methods: ["password"], password: { user: { id: "u1", password: "pw" } } },
      scope: { "OS-TRUST:trust": { id: "t1" } },
    },
  });
});

test("reads the credentials in clouds.yaml again for each token [F70]", async () => {
  let current = "wrong";
  const file = () =>
    `clouds: { c: { auth: { auth_url: "http://keystone.example/identity", application_credential_id: fairlead, application_credential_secret: ${current} }, region_name: RegionOne } }`;
  const inputs = { file: (path: string) => (path === "/c.yaml" ? new Secret(file()) : undefined) };
  const settings = {
    ...noCredential,
    "auth-url": undefined,
    region: undefined,
    cloud: "c",
    "clouds-file": "/c.yaml",
  };
  const { lab } = labWith({ settings, inputs });
  expect(messageOf(await failureOf(instancesOf(lab)))).toBe(
    "The cloud rejected the credentials (401 from POST http://keystone.example/identity/v3/auth/tokens: The request you have made requires authentication).",
  );
  current = secret;
  expect(await instancesOf(lab)).toEqual([]);
});

test("reports the regions of the catalog if the region is unknown", async () => {
  const { lab } = labWith({ settings: { region: "Elsewhere" } });
  expect(messageOf(await failureOf(instancesOf(lab)))).toBe(
    "The catalog has the service network in RegionOne, and none of them is in region Elsewhere. Correct region or os-endpoint-type, or ask the cloud operator.",
  );
});

test("reports the cloud in clouds.yaml whose credentials are rejected, and not the settings of [Global]", async () => {
  const { signal } = new AbortController();
  const path = "/c.yaml";
  const text = `clouds: { c: { auth: { auth_url: "http://k.example", application_credential_id: a, application_credential_secret: b } } }`;
  const file = { ...config, "clouds-file": path, scopes: '[{ "name": "two", "cloud": "c" }]' };
  const { connected } = connectCloud(
    openstack as unknown as AnyProvider,
    {
      environment: {},
      given: new Map(),
      cluster: "prod",
      file,
      inputFiles: new Map([[path, new Secret(text)]]),
    },
    {
      signal,
      clock: new VirtualClock(),
      random: seededRandom(1),
      mayMutate: () => true,
      report: () => undefined,
      transport: async () => Response.json({ error: { message: "no" } }, { status: 401 }),
    },
  );
  const [ofGlobal, ofScope] = (connected?.cloud.instances?.sources ?? []).map(async (source) =>
    messageOf(await failureOf(collect(source.list({ signal, urgency: "refresh" })))),
  );
  expect(await ofScope).toBe(
    'The cloud rejected the credentials (401 from POST http://k.example/v3/auth/tokens: no). The credential is set by cloud "c" in /c.yaml: the value was probably revoked, or is incomplete. Replace it with one that is valid for the same project, account or server; the manager reads it again without a restart.',
  );
  expect(await ofGlobal).toContain("application-credential-secret is set by a configuration file");
});
