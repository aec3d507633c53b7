// csi-sanity of Kubernetes against the CSI services: the controller as the program runs it, and the Node service with loop
// devices. Runs with `npm run test:clients -- csi`, in the suite of each cloud with volumes.

import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveCloud } from "#ccm/testing";
import { aws } from "../../../providers/aws/index.ts";
import { config as awsConfig, clusterCloud } from "../../../providers/aws/simulator/harness.ts";
import { digitalocean } from "../../../providers/digitalocean/index.ts";
import { DigitalOceanCloud } from "../../../providers/digitalocean/simulator/index.ts";
import { fake } from "../../../providers/fake/index.ts";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../../../providers/fake/simulator/http.ts";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { HetznerCloud } from "../../../providers/hetzner/simulator/index.ts";
import { openstack } from "../../../providers/openstack/index.ts";
import { addServer, OpenStackCloud } from "../../../providers/openstack/simulator/index.ts";
import { runProgram } from "../../../src/app/run.ts";
import { systemPlatform } from "../../../src/app/system-platform.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { keepLoopbackDirect } from "../../../src/platform/environment.ts";
import { systemFiles } from "../../../src/platform/files.ts";
import { listenOnSocket } from "../../../src/platform/http2-socket.ts";
import { systemDisks } from "../../../src/platform/system-disks.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import type { VolumeDriver, VolumeMachine } from "../../../src/provider/volumes.ts";
import { identityService } from "../../../src/volumes/csi/controller-service.ts";
import { nodeService } from "../../../src/volumes/csi/node-service.ts";
import { csiSchema, csiServices } from "../../../src/volumes/csi/spec.ts";
import { RpcServer } from "../../../src/volumes/grpc/rpc-server.ts";
import { ask, startMoto } from "../../providers/aws/clients/moto/moto-server.ts";
import { LoopDisks } from "./loop-disks.ts";

keepLoopbackDirect();
const sanity = process.env["CSI_SANITY"] ?? "";
const actionTime = milliseconds(100);

interface Cloud {
  readonly provider: AnyProvider;
  readonly driver: VolumeDriver;
  readonly environment: Readonly<Record<string, string>>;
  /** The machine on which the Node service runs. */
  readonly machine: string;
  readonly place: VolumeMachine;
  readonly bytes: number;
  readonly stop: () => Promise<unknown>;
}

/** Unlike a sidecar, csi-sanity repeats no call. On a fast machine, it sends more requests per minute than a cloud may allow. */
const withoutRateLimit = (provider: AnyProvider): AnyProvider => ({
  ...provider,
  connect: (settings, context) =>
    provider.connect(settings, {
      ...context,
      account: (account) => context.account({ ...account, requestsPerMinute: undefined }),
    }),
});

const clouds: Readonly<Record<string, () => Cloud | Promise<Cloud>>> = {
  fake: () => {
    const cloud = new FakeCloud({ clock: systemClock, actionTime, token: "fake" });
    const { id, zone } = cloud.machines.add("node-1");
    expect(zone).toBe("zone-2");
    const served = serveFakeCloud(cloud, 0);
    // A volume without topology is in zone-1.
    cloud.machines.add("node-2");
    const third = cloud.machines.add("node-3");
    expect([id, third.zone]).toEqual(["1", "zone-1"]);
    return {
      provider: fake as unknown as AnyProvider,
      driver: fake.volumeDriver as VolumeDriver,
      environment: { FAKE_ENDPOINT: served.url, FAKE_TOKEN: "fake" },
      machine: third.id,
      place: third,
      bytes: 2 ** 30,
      stop: async () => served[Symbol.asyncDispose](),
    };
  },
  hetzner: () => {
    const cloud = new HetznerCloud({ clock: systemClock, actionTime, requestsPerHour: 1_000_000 });
    const token = "t".repeat(64);
    cloud.tokens.add(token);
    const { id, type, location: region } = cloud.project.servers.add("node-1");
    const served = serveCloud(cloud, 0);
    return {
      provider: hetzner as unknown as AnyProvider,
      driver: hetzner.volumeDriver as VolumeDriver,
      environment: {
        HCLOUD_ENDPOINT: `${served.url}/v1`,
        HCLOUD_TOKEN: token,
        HCLOUD_VOLUME_DEFAULT_LOCATION: "fsn1",
      },
      machine: String(id),
      place: { type, region },
      bytes: 10 * 2 ** 30,
      stop: async () => served[Symbol.asyncDispose](),
    };
  },
  aws: () => {
    const cloud = clusterCloud({ clock: systemClock, times: { change: actionTime } });
    const { id, type, zone } = cloud.account.add("node-1");
    const served = serveCloud(cloud, 0);
    return {
      provider: aws as unknown as AnyProvider,
      driver: aws.volumeDriver as VolumeDriver,
      environment: {
        AWS_ENDPOINT_URL: served.url,
        AWS_REGION: awsConfig.region,
        AWS_EC2_METADATA_DISABLED: "true",
        AWS_VPC_ID: awsConfig.vpc,
        AWS_CLUSTER_ID: awsConfig["kubernetes-cluster-id"],
        AWS_ACCESS_KEY_ID: awsConfig["access-key-id"],
        AWS_SECRET_ACCESS_KEY: awsConfig["secret-access-key"],
      },
      machine: id,
      place: { type, zone },
      bytes: 2 ** 30,
      stop: async () => served[Symbol.asyncDispose](),
    };
  },
  moto: async () => {
    const moto = await startMoto(process.env["MOTO_SERVER"] ?? "");
    const made = await ask(moto.url, "RunInstances", {
      ImageId: "ami-12c6146b",
      MinCount: "1",
      MaxCount: "1",
      InstanceType: "m5.large",
    });
    const [{ instanceId, placement }] = made.instancesSet;
    return {
      provider: aws as unknown as AnyProvider,
      driver: aws.volumeDriver as VolumeDriver,
      environment: {
        AWS_ENDPOINT_URL: moto.url,
        AWS_REGION: "us-west-2",
        AWS_EC2_METADATA_DISABLED: "true",
        AWS_VPC_ID: "vpc-1",
        AWS_CLUSTER_ID: "test",
        AWS_ACCESS_KEY_ID: "test",
        AWS_SECRET_ACCESS_KEY: "test-secret",
      },
      machine: instanceId,
      place: { type: "m5.large", zone: placement.availabilityZone },
      bytes: 2 ** 30,
      stop: async () => moto[Symbol.asyncDispose](),
    };
  },
  digitalocean: () => {
    const times = { change: actionTime };
    const budget = { requestsPerHour: 1_000_000, requestsPerMinute: 1_000_000 };
    const cloud = new DigitalOceanCloud({ clock: systemClock, times, ...budget });
    const { id, size_slug: type, region } = cloud.account.droplets.add("node-1");
    cloud.account.volumeName = /./;
    const served = serveCloud(cloud, 0);
    return {
      provider: withoutRateLimit(digitalocean as unknown as AnyProvider),
      driver: digitalocean.volumeDriver as VolumeDriver,
      environment: { DO_OVERRIDE_URL: served.url, DO_ACCESS_TOKEN: "token", REGION: region },
      machine: String(id),
      place: { type, region },
      bytes: 2 ** 30,
      stop: async () => served[Symbol.asyncDispose](),
    };
  },
  openstack: () => {
    const times = { volume: actionTime };
    const cloud = new OpenStackCloud({ clock: systemClock, times });
    cloud.keystone.applicationCredentials.set("fairlead", "secret");
    const { id, flavor, "OS-EXT-AZ:availability_zone": zone } = addServer(cloud.project, "node-1");
    const served = serveCloud(cloud, 0);
    return {
      provider: openstack as unknown as AnyProvider,
      driver: openstack.volumeDriver as VolumeDriver,
      environment: {
        OS_AUTH_URL: `${served.url}/identity/v3`,
        OS_REGION_NAME: cloud.keystone.region,
        OS_APPLICATION_CREDENTIAL_ID: "fairlead",
        OS_APPLICATION_CREDENTIAL_SECRET: "secret",
      },
      machine: id,
      place: { type: flavor.original_name, zone },
      bytes: 2 ** 30,
      stop: async () => served[Symbol.asyncDispose](),
    };
  },
};

/** Cases of csi-sanity that are skipped, by a part of their title, each with what the services lack. */
const skipped: Readonly<Record<string, string>> = {
  GetCapacity: "no cloud here shows how much space it has",
  GroupController: "snapshots of groups are not implemented",
  ModifyVolume: "no cloud here can change anything but the size of a volume",
  "volume attribute class": "no cloud here can change anything but the size of a volume",
  "snapshot with accessibility requirements": "no cloud here lets its clients choose the place of a snapshot",
  VolumeHealth: "volume health is alpha, and not implemented",
  StorageHealth: "storage health is alpha, and not implemented",
  "already published but is incompatible": "volumes cannot be published read-only",
  "pagination should detect volumes added between pages": "csi-sanity has switched it off",
};

const withoutClones = { "source volume": "this cloud cannot clone volumes" };
const withoutSources = {
  Snapshot: "this cloud has no snapshots of volumes",
  "source snapshot": "this cloud has no snapshots of volumes",
  ...withoutClones,
};

/** Cases that are also skipped for one cloud. */
const skippedOf: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  aws: {
    ...withoutClones,
    "more volumes than the node max attach limit":
      "26 volumes take minutes, one after the other; the conformance suite tests the limit",
  },
  fake: {},
  digitalocean: { "source volume": withoutSources["source volume"] },
  openstack: {
    "more volumes than the node max attach limit": "the limit is 256; the conformance suite tests it",
  },
  moto: {
    ...withoutClones,
    "more volumes than the node max attach limit": "an instance of moto has any number of volumes",
  },
  hetzner: {
    ...withoutSources,
    "maximum-length name": "names have at most 64 characters in this cloud",
    "more volumes than the node max attach limit":
      "csi-sanity uses a name with +, which this cloud refuses; the conformance suite tests the limit",
  },
};

const folder = mkdtempSync(join(tmpdir(), "fairlead-csi-"));
/** The size of the volumes after their expansion. */
const disks = new LoopDisks(20 * 2 ** 30);
const stops: (() => unknown)[] = [];
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
  disks[Symbol.dispose]();
  rmSync(folder, { recursive: true, force: true });
});

const name = process.env["CSI_CLOUD"] ?? "fake";

test(`csi-sanity passes with the volumes of ${name}`, async () => {
  const cloud = await clouds[name]?.();
  const own = skippedOf[name] ?? {};
  if (cloud === undefined) throw new Error(`${name} has no volumes.`);
  stops.push(cloud.stop);
  const life = new AbortController();
  const lines: string[] = [];
  const controllerSocket = join(folder, "controller.sock");
  const console = { out: (text: string) => lines.push(text), err: (text: string) => lines.push(text) };
  const args = ["csi-controller", `--csi-endpoint=unix://${controllerSocket}`, "-v=4"];
  const running = runProgram(cloud.provider, args, console, systemPlatform(cloud.environment), life.signal);
  stops.push(async () => {
    life.abort();
    expect(await running).toBe(0);
  });

  const server = new RpcServer({ clock: systemClock, report: () => undefined, redact: (text) => text });
  const driver = disks.driver(cloud.driver);
  const identity = {
    id: cloud.machine,
    limit: driver.limitOf(cloud.place),
    topology: driver.topologyOf(cloud.place),
  };
  const node = {
    driver,
    identity,
    disks: systemDisks,
    files: systemFiles,
    clock: systemClock,
    warn: (text: string) => lines.push(text),
  };
  server.add(
    "csi.v1.Identity",
    csiSchema,
    csiServices.Identity,
    identityService({ driver, version: "test" }),
  );
  server.add("csi.v1.Node", csiSchema, csiServices.Node, nodeService(node).handlers);
  const nodeSocket = join(folder, "node.sock");
  const listener = await listenOnSocket(nodeSocket, server.handle);
  stops.push(() => listener.close());

  const junit = join(folder, "junit.xml");
  const child = Bun.spawn(
    [
      ...[sanity, `-csi.endpoint=unix://${nodeSocket}`, `-csi.controllerendpoint=unix://${controllerSocket}`],
      ...[`-csi.mountdir=${folder}/mount`, `-csi.stagingdir=${folder}/staging`, `-csi.junitfile=${junit}`],
      ...[`-csi.testvolumesize=${cloud.bytes}`, `-csi.testvolumeexpandsize=${2 * cloud.bytes}`],
      ...["-csi.testnodevolumeattachlimit", "-ginkgo.no-color", "-ginkgo.v"],
      ...Object.keys(own).map((title) => `-ginkgo.skip=${title}`),
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  const output = await new Response(child.stdout).text();
  const code = await child.exited;
  if (code !== 0)
    process.stdout.write(
      `${output.slice(output.indexOf("[FAILED]") - 2000)}\n${lines.slice(-40).join("")}\n`,
    );
  expect(code).toBe(0);

  const cases = [...readFileSync(junit, "utf8").matchAll(/<testcase name="([^"]*)"[^>]*status="(\w+)"/g)].map(
    ([, title = "", status = ""]) => ({ title, status }),
  );
  const reasons = Object.keys({ ...skipped, ...own });
  const left = cases.filter(({ status }) => status !== "passed");
  const unexplained = left.filter(({ title }) => !reasons.some((reason) => title.includes(reason)));
  expect(unexplained).toEqual([]);
  const unused = reasons.filter((reason) => !left.some(({ title }) => title.includes(reason)));
  expect(unused).toEqual([]);
  process.stdout.write(
    `${cases.length - left.length} cases of csi-sanity passed, ${left.length} are skipped.\n`,
  );
});
