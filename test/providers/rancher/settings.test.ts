// Rancher settings: the Go manager's environment variables and configuration file, and rotated credentials.

import { expect, test } from "bun:test";
import { type Context, Secret } from "#ccm";
import { readSettings, VirtualClock } from "#ccm/testing";
import { rancher } from "../../../providers/rancher/index.ts";
import { readConfigFile } from "../../../providers/rancher/settings.ts";
import { RancherCloud, serveRancherCloud } from "../../../providers/rancher/simulator/index.ts";

const { config } = rancher;
const url = "http://rancher:8080/v2-beta";
const settingsOf = (values: Readonly<Record<string, string>>) =>
  readSettings(config, values, { what: "setting" }).values;
const textsOf = (values: Readonly<Record<string, string>>) =>
  (rancher.checkConfig?.(settingsOf(values)) ?? []).map(({ severity, text }) => `${severity}: ${text}`);

test("reads every environment variable of the Go manager", () => {
  const names = Object.values(config).flatMap(({ env }) => env ?? []);
  expect(names.toSorted()).toEqual([
    "CATTLE_ACCESS_KEY",
    "CATTLE_SECRET_KEY",
    "CATTLE_URL",
    "RANCHER_CLIENT_DEBUG",
  ]);
});

test("reads the Go manager's configuration file", () => {
  const text = `; comment\n[Global]\ncattle-url = "http://rancher:8080" # the server\ncattle-access-key=key\ncattle-secret-key = "a#b"\n`;
  expect(readConfigFile(text)).toEqual({
    settings: {
      url: { text: "http://rancher:8080", line: 3, title: "cattle-url in [Global]" },
      "access-key": { text: "key", line: 4, title: "cattle-access-key in [Global]" },
      "secret-key": { text: "a#b", line: 5, title: "cattle-secret-key in [Global]" },
    },
    problems: [],
  });
  const { problems } = readConfigFile("cattle-url = x\n[Other]\nsecret words\n");
  expect(problems.map(({ line, text }) => `${line}: ${text}`)).toEqual([
    "1: cattle-url must be in a section such as [Global]",
    "2: section [Other] is unknown; expected [Global]. Its settings are not read.",
    "3: expected a line such as cattle-url = http://rancher:8080",
  ]);
});

test("reports all problems of the settings together", () => {
  expect(textsOf({ url: "http://rancher/v3", "access-key": "a", "access-key-file": "/a" })).toEqual([
    "warning: CATTLE_ACCESS_KEY and access-key-file are both set. The file is not read. Remove one of them",
    "error: CATTLE_SECRET_KEY or secret-key-file is required: the API key of the environment",
    "error: CATTLE_URL is the API of Rancher 2.x. Fairlead supports Rancher 1.6, whose API ends in /v2-beta",
  ]);
  const keys = { "access-key": "a", "secret-key": "b" };
  expect(textsOf({ ...keys, url: `${url}/projects/1a5`, "project-id": "1a7" })).toEqual([
    "error: project-id is 1a7, but CATTLE_URL names 1a5. Remove one of them",
  ]);
  expect(textsOf({ ...keys, url })).toEqual([]);
});

test("shows no password of an invalid URL", () => {
  const keys = { "access-key": "a", "secret-key": "b" };
  expect(textsOf({ ...keys, url: "htps://user:secret@rancher" })).toEqual([
    'error: CATTLE_URL must be a URL such as http://rancher:8080/v2-beta, got "***@rancher"',
  ]);
});

test("reads the keys from their files each time a credential is needed [F70]", async () => {
  let secret = "first\n";
  const fetched: string[] = [];
  const context = {
    inputs: {
      file: (path: string) => new Secret(path === "/secret" ? secret : "access\n"),
      secret: () => undefined,
      configMap: () => undefined,
    },
    account: (account: {
      readonly fetch: () => Promise<{ readonly value: { user: string; password: Secret } }>;
    }) => {
      const read = async () => {
        const { value } = await account.fetch();
        fetched.push(`${value.user}:${value.password.reveal()}`);
        throw new Error("There is no cloud.");
      };
      return { transport: read, credential: read };
    },
    mark: { cluster: "prod", owner: "fairlead" },
  };
  const settings = settingsOf({ url, "access-key-file": "/access", "secret-key-file": "/secret" });
  expect(rancher.inputs?.(settings)).toEqual([
    { kind: "File", path: "/access" },
    { kind: "File", path: "/secret" },
  ]);
  const cloud = rancher.connect(settings, context as unknown as Context);
  const list = async () => {
    const call = { signal: new AbortController().signal, urgency: "refresh" } as const;
    for await (const _ of cloud.instances?.sources[0].list(call) ?? []) break;
  };
  await expect(list()).rejects.toThrow("There is no cloud.");
  secret = "second\n";
  await expect(list()).rejects.toThrow("There is no cloud.");
  expect(fetched).toEqual(["access:first", "access:second"]);
});

test("serves the simulated Rancher over HTTP, with links to its own address", async () => {
  const cloud = new RancherCloud({ clock: new VirtualClock() });
  cloud.environment.hosts.add("node-1");
  cloud.addKey("access", "secret");
  await using served = serveRancherCloud(cloud, 0);
  const headers = { authorization: `Basic ${btoa("access:secret")}` };
  const root = await fetch(`${served.url}/v2-beta`, { headers });
  expect(root.headers.get("x-api-schemas")).toBe(`${served.url}/v2-beta/schemas`);
  const hosts = await fetch(`${served.url}/v2-beta/hosts?limit=1&include=ipAddresses`, { headers });
  expect(await hosts.json()).toMatchObject({
    type: "collection",
    data: [{ hostname: "node-1", ipAddresses: [{ address: "192.0.2.1" }] }],
    pagination: { next: null },
  });
  const refused = await fetch(`${served.url}/v2-beta/hosts`);
  expect([refused.status, await refused.json()]).toMatchObject([
    401,
    { type: "error", code: "Unauthorized" },
  ]);
});
