// The provider against govmomi's simulator of vCenter, which is independent of Fairlead: all calls
// of the provider, with faults in between.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { keyOf } from "../../../../providers/vsphere/to-instance.ts";
import { swapped } from "../../../../providers/vsphere/uuids.ts";
import { systemTransport, type Transport } from "../../../../src/platform/transport.ts";
import { CloudError } from "../../../../src/provider/errors.ts";
import { failureOf } from "../../../../src/testing/conformance/lab.ts";
import { Connection, Vcsim } from "./rig/vcsim.ts";

const atStart = ["Login", "CreateContainerView"];
const zones = { "label-zone": "k8s-zone", "label-region": "k8s-region" };
/** A request that a proxy answers or changes. */
const through =
  (change: (response: Response, body: string) => Promise<Response> | Response): Transport =>
  async (request, signal) =>
    change(await systemTransport(request, signal), String(request.body));

describe("a vCenter with two datacenters of four machines", () => {
  let vcsim: Vcsim;
  beforeAll(async () => {
    vcsim = await Vcsim.start("-dc=2", "-vm=4", "-tags");
    await vcsim.installTools();
  });
  afterAll(() => vcsim[Symbol.asyncDispose]());

  test("vcsim is listed with zones, in one page, and every machine is found by id, UUID in both orders and host name", async () => {
    await using connection = new Connection(vcsim, zones);
    const machines = await vcsim.machines();
    const listed = await connection.list();
    expect(listed.map(({ id }) => id)).toEqual(machines.map(({ uuid }) => `vsphere://${uuid}` as never));
    expect(listed[0]).toMatchObject({
      names: ["dc0-c0-rp0-vm0"],
      state: "running",
      zone: "dc0-c0",
      region: "dc0",
      type: "vsphere-vm.cpu-1.mem-0gb.os-other",
      addresses: [
        { kind: "Hostname", value: "dc0-c0-rp0-vm0" },
        { kind: "InternalIP", value: "10.1.0.0", network: "VM Network" },
        { kind: "ExternalIP", value: "10.1.0.0", network: "VM Network" },
      ],
    });
    expect(listed.map(({ zone }) => zone)).toEqual([...Array(4).fill("dc0-c0"), ...Array(4).fill("dc1-c0")]);
    expect(connection.takeCalls().slice(0, 4)).toEqual([...atStart, "RetrievePropertiesEx", "POST session"]);
    for (const instance of listed) {
      connection.takeCalls();
      const [uuid = "", other = ""] = instance.uuids ?? [];
      expect(await connection.find("id", keyOf(instance.id) ?? "")).toEqual([instance]);
      expect(connection.takeCalls()).toEqual(["FindAllByUuid", "RetrievePropertiesEx"]);
      for (const one of [uuid, other, swapped(uuid).toUpperCase().toLowerCase()])
        expect(await connection.find("uuid", one)).toEqual([instance]);
      expect(await connection.find("name", instance.names[0] ?? "")).toEqual([instance]);
    }
    connection.takeCalls();
    await connection.list();
    expect(connection.takeCalls()).toEqual([
      "RetrievePropertiesEx",
      "POST tag-association list-attached-tags-on-objects",
    ]);
  });

  test("vcsim is limited to a datacenter by name and by reference, and a missing datacenter is an error", async () => {
    for (const datacenters of ["DC1", "Datacenter:datacenter-1", "/DC1"]) {
      await using connection = new Connection(vcsim, { datacenters });
      const listed = (await connection.list()).map(({ title }) => title.slice(0, 3));
      expect([datacenters, ...new Set(listed)]).toEqual([datacenters, listed[0] ?? ""]);
      expect(listed).toHaveLength(4);
    }
    await using connection = new Connection(vcsim, { datacenters: "DC7" });
    expect(String(await failureOf(connection.list()))).toContain('shows no datacenter "DC7"');
  });

  test("vcsim has one session while the manager runs, and none afterwards", async () => {
    const before = await vcsim.sessions();
    const connection = new Connection(vcsim, zones);
    await connection.list();
    expect(await vcsim.sessions()).toBe(before + 1);
    await connection[Symbol.asyncDispose]();
    expect(await vcsim.sessions()).toBe(before);
  });

  test("vcsim answers again after it has ended all sessions, with one more login", async () => {
    await using connection = new Connection(vcsim);
    await connection.list();
    await vcsim.endSessions();
    connection.takeCalls();
    expect(await connection.list()).toHaveLength(8);
    expect(connection.takeCalls()).toEqual([
      "RetrievePropertiesEx",
      "Logout",
      ...atStart,
      "RetrievePropertiesEx",
    ]);
    await vcsim.endSessions();
    const [{ key = "" } = {}] = await connection.list();
    await vcsim.endSessions();
    expect(await connection.find("id", key)).toHaveLength(1);
  });

  test("vcsim ends an unused session when a proxy reports that the session has ended", async () => {
    const before = await vcsim.sessions();
    let isRefused = false;
    const transport = through((response, body) => {
      if (!isRefused || !body.includes("RetrieveProp")) return response;
      isRefused = false;
      const fault = `<NotAuthenticatedFault xmlns="urn:vim25" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="NotAuthenticated"/>`;
      return new Response(
        `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body><e:Fault><faultcode>ServerFaultCode</faultcode><faultstring>ended</faultstring><detail>${fault}</detail></e:Fault></e:Body></e:Envelope>`,
        { status: 500 },
      );
    });
    await using connection = new Connection(vcsim, {}, transport);
    await connection.list();
    isRefused = true;
    expect(await connection.list()).toHaveLength(8);
    expect(connection.takeCalls()).toContain("Logout");
    expect(await vcsim.sessions()).toBe(before + 1);
  });

  test("vcsim rejects a password once for each attempt", async () => {
    await using connection = new Connection(vcsim, { password: "wrong" });
    const error = await failureOf(connection.list());
    expect(CloudError.is(error) && error.kind).toBe("unauthorized");
    expect(String(error)).toContain("Login failure");
    expect(connection.takeCalls().filter((one) => one === "Login")).toHaveLength(1);
  });

  test("vcsim is used with a clone of a session if a service issues tickets", async () => {
    const { host, control } = vcsim.started;
    const key = (name: string) => `/etc/cloud/secrets/http://${host}.vc-session-manager-${name}`;
    const files = { [key("url")]: `${control}/shared-session`, [key("token")]: "shared" };
    {
      await using connection = new Connection(vcsim, {}, systemTransport, files);
      expect(await connection.list()).toHaveLength(8);
      expect(connection.takeCalls().slice(0, 3)).toEqual([
        "GET shared-session",
        "CloneSession",
        "CreateContainerView",
      ]);
      expect(await vcsim.sessions()).toBe(1);
    }
    expect(await vcsim.sessions()).toBe(0);
    await using refused = new Connection(vcsim, {}, systemTransport, { ...files, [key("token")]: "other" });
    expect(String(await failureOf(refused.list()))).toContain("401");
  });

  test("vcsim shows the changes of a machine: guest, power, UUID, template, removal", async () => {
    await using connection = new Connection(vcsim);
    const name = "DC0_C0_RP0_VM3";
    const one = async () => (await connection.list()).find(({ title }) => title.startsWith(name));
    const before = await one();
    await vcsim.change(name, {
      nics: [
        { network: "cni0", deviceConfigId: -1, ips: ["10.244.0.1"] },
        { network: "Private", deviceConfigId: 4000, ips: ["fe80::1", "10.2.0.1"] },
      ],
      extraConfig: {
        "guestinfo.metadata": btoa("network:\n  ethernets:\n    a:\n      addresses: [10.2.0.1/24]\n"),
        "guestinfo.metadata.encoding": "base64",
      },
    });
    expect((await one())?.addresses.map(({ value }) => value)).toEqual([
      "dc0-c0-rp0-vm3",
      "10.2.0.1",
      "10.2.0.1",
    ]);
    await vcsim.change(name, { power: "poweredOff", hostName: "", nics: [] });
    expect(await one()).toMatchObject({ state: "stopped", addresses: [], names: [] });
    await vcsim.change(name, { power: "suspended" });
    expect(await one()).toMatchObject({ state: "suspended" });
    await vcsim.change(name, { power: "poweredOn", template: true });
    expect(await one()).toMatchObject({ state: "stopped", names: [] });
    await vcsim.change(name, { template: false });
    const { key = "" } = before ?? {};
    await vcsim.remove(name);
    expect(await one()).toBeUndefined();
    connection.takeCalls();
    expect(await connection.find("id", key)).toEqual([]);
    // vcsim grants permissions on objects that do not exist, so the machine is read as well.
    expect(connection.takeCalls()).toEqual([
      "FindAllByUuid",
      "FindAllByUuid",
      "HasPrivilegeOnEntities",
      "RetrievePropertiesEx",
    ]);
  });

  test("vcsim does not prove a machine gone while a proxy removes a privilege", async () => {
    const name = "DC0_C0_RP0_VM2";
    const [machine] = (await vcsim.machines()).filter((one) => one.name === name);
    let isHidden = false;
    const transport = through(async (response, body) => {
      const text = await response.text();
      if (!isHidden) return new Response(text, response);
      const own = new RegExp(
        `<(returnval|objects|ManagedObjectReference)[^<]*(<obj type="VirtualMachine">)?${machine?.ref}</.*?</?\\1>`,
        "g",
      );
      const without = body.includes("HasPrivilege")
        ? text.replace("<isGranted>true", "<isGranted>false")
        : body.includes("FindAllByUuid")
          ? text.replace(/<returnval type="VirtualMachine">.*<\/returnval>/, "")
          : text.replaceAll(own, "");
      return new Response(without, response);
    });
    await using connection = new Connection(vcsim, {}, transport);
    const [{ key = "" } = {}] = (await connection.list()).filter(({ title }) => title.startsWith(name));
    isHidden = true;
    const error = await failureOf(connection.find("id", key));
    expect(CloudError.is(error) && error.kind).toBe("forbidden");
    expect(String(error)).toContain("the vCenter user may no longer read it");
  });

  test("vcsim is not trusted if a page lacks a machine of its view", async () => {
    const transport = through(async (response) => {
      const text = await response.text();
      return new Response(text.replace(/<objects><obj type="VirtualMachine">.*?<\/objects>/s, ""), response);
    });
    await using connection = new Connection(vcsim, {}, transport);
    expect(String(await failureOf(connection.list()))).toMatch(/received \d+ of \d+ entries/);
  });

  test.each([
    ["a page of a proxy", () => new Response("<html>proxy</html>", { status: 502 }), "unavailable"],
    ["503", () => new Response("", { status: 503 }), "unavailable"],
    [
      "half of a response",
      async (response: Response) => new Response((await response.text()).slice(0, 200), response),
      "unavailable",
    ],
    ["an envelope without a body", () => new Response("<a/>"), "unavailable"],
  ] as const)("vcsim is not trusted after %s", async (_, change, kind) => {
    const transport = through((response, body) =>
      body.includes("RetrieveProp") ? change(response) : response,
    );
    await using connection = new Connection(vcsim, {}, transport);
    const error = await failureOf(connection.list());
    expect(CloudError.is(error) && error.kind).toBe(kind);
  });
});

test("accepts a vCenter by the fingerprint of its certificate, and rejects another certificate", async () => {
  await using vcsim = await Vcsim.start("-vm=2", "-tls");
  const { host, fingerprint = "" } = vcsim.started;
  const server = { server: host.split(":")[0] ?? "", port: host.split(":")[1] ?? "" };
  await using pinned = new Connection(vcsim, { ...server, thumbprint: fingerprint });
  expect(await pinned.list()).toHaveLength(2);
  await using insecure = new Connection(vcsim, { ...server, "insecure-flag": "true" });
  expect(await insecure.list()).toHaveLength(2);
  for (const settings of [{}, { thumbprint: fingerprint.replace(/../, "00") }]) {
    await using other = new Connection(vcsim, { ...server, ...settings });
    expect(String(await failureOf(other.list()))).toMatch(/TLS connection/);
  }
});

test("1,000 machines of three datacenters are listed with one page, and zones with 14 requests more", async () => {
  await using vcsim = await Vcsim.start("-dc=3", "-vm=334", "-tags", "-autostart=false");
  await using connection = new Connection(vcsim, zones);
  expect(await connection.list()).toHaveLength(1002);
  const counts = Map.groupBy(connection.takeCalls(), (one) => one);
  expect(Object.fromEntries([...counts].map(([operation, { length }]) => [operation, length]))).toEqual({
    Login: 1,
    CreateContainerView: 1,
    RetrievePropertiesEx: 1,
    "POST session": 1,
    "POST tag-association list-attached-tags-on-objects": 1,
    "GET tag": 6,
    "GET category": 2,
  });
  expect(await connection.list()).toHaveLength(1002);
  expect(connection.takeCalls()).toHaveLength(2);
});
