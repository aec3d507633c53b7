// Operations of instances.

import { Refused } from "#ccm/testing";
import { listIn, recordIn, type SentParameters, tagsIn, textIn, textsIn } from "../query.ts";
import type { Account } from "../state/account.ts";
import type { Instance } from "../state/resources.ts";
import { type IsHidden, pageOf, type QueryOperations, selected, tagSet } from "./operations.ts";

const codes: Readonly<Record<Instance["state"], number>> = {
  pending: 0,
  running: 16,
  "shutting-down": 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

const stateOf = (name: Instance["state"]) => ({ code: codes[name], name });

function view(account: Account, instance: Instance) {
  const { interfaces, groups } = instance;
  const volumes = account.volumes.list().flatMap(({ attachments }) => attachments);
  const devices = volumes.filter((one) => one.instance === instance.id).map(({ device }) => device);
  const groupSet = groups.map((groupId) => ({ groupId, groupName: account.groups.get(groupId)?.name }));
  return {
    instanceId: instance.id,
    imageId: "ami-00000000000000001",
    instanceState: stateOf(instance.state),
    ...(instance.stateReason !== undefined && { stateReason: { code: instance.stateReason } }),
    privateDnsName: instance.name,
    dnsName: instance.publicName ?? "",
    instanceType: instance.type,
    placement: { availabilityZone: instance.zone, tenancy: "default" },
    subnetId: instance.subnet,
    vpcId: instance.vpc,
    privateIpAddress: interfaces[0]?.ipv4[0],
    ipAddress: instance.ip,
    sourceDestCheck: instance.sourceDestCheck,
    blockDeviceMapping: [account.rootDevice, ...devices].map((deviceName) => ({ deviceName })),
    groupSet,
    networkInterfaceSet: interfaces.map(({ id, status, device, ipv4, ipv6 }) => ({
      networkInterfaceId: id,
      status,
      attachment: { deviceIndex: device, status: "attached" },
      groupSet,
      privateIpAddressesSet: ipv4.map((privateIpAddress, index) => ({
        privateIpAddress,
        primary: index === 0,
      })),
      ipv6AddressesSet: ipv6.map((ipv6Address) => ({ ipv6Address })),
    })),
    tagSet: tagSet(instance),
  };
}

const isNaming = ({ Name }: SentParameters): boolean =>
  /^(instance-id|private-dns-name)$/.test(textIn(Name) ?? "");

function describe(account: Account, parameters: SentParameters, isHidden: IsHidden) {
  const ids = textsIn(parameters["InstanceId"]);
  const unknown = ids.filter((id) => account.instances.get(id) === undefined);
  if (unknown.length > 0)
    throw new Refused(
      400,
      unknown.length === 1
        ? `The instance ID '${unknown[0]}' does not exist`
        : `The instance IDs '${unknown.join(", ")}' do not exist`,
      "InvalidInstanceID.NotFound",
    );
  const named = listIn(parameters["Filter"]).map(recordIn).find(isNaming);
  const isLookup = ids.length > 0 || named !== undefined;
  const names = textIn(named?.["Name"]) === "private-dns-name" ? textsIn(named?.["Value"]) : undefined;
  const all = ids.length > 0 ? ids.map((id) => account.instances.withID(id)) : account.instances.list();
  const known = (isLookup ? all : account.instances.listed()).filter(
    (one) => (names?.includes(one.name) ?? true) && !isHidden(one, isLookup ? "lookups" : "listings"),
  );
  const found = selected({ shown: known }, parameters, "InstanceId", (one) => ({
    "instance-id": [one.id],
    "instance-state-name": [one.state],
    "private-dns-name": [one.name],
    "vpc-id": [one.vpc],
  }));
  const { entries, nextToken } = pageOf(found, parameters, "InstanceId");
  const reservationSet = entries.map((one) => ({
    reservationId: one.id.replace("i-", "r-"),
    ownerId: "123456789012",
    instancesSet: [view(account, one)],
  }));
  return { reservationSet, nextToken };
}

function topology({ instances, topologyTypes }: Account, parameters: SentParameters) {
  const instanceSet = textsIn(parameters["InstanceId"]).flatMap((id) => {
    const found = instances.withID(id);
    if (!topologyTypes.test(found.type) || found.state !== "running") return [];
    const networkNodeSet = ["nn-1", `nn-2-${found.zone}`, `nn-3-${found.subnet}`];
    return [{ instanceId: id, instanceType: found.type, availabilityZone: found.zone, networkNodeSet }];
  });
  return { instanceSet };
}

/** Changes the state of instances; responds with the states before and after. */
function change(
  { instances }: Account,
  parameters: SentParameters,
  state: Instance["state"],
  act: (instance: Instance) => void,
) {
  const before = textsIn(parameters["InstanceId"]).map((id) => instances.withID(id));
  for (const instance of before) act(instance);
  return {
    instancesSet: before.map((one) => ({
      instanceId: one.id,
      currentState: stateOf(state),
      previousState: stateOf(one.state),
    })),
  };
}

function run(account: Account, parameters: SentParameters) {
  const tags = tagsIn(recordIn(listIn(parameters["TagSpecification"])[0])["Tag"]);
  const subnet = textIn(parameters["SubnetId"]);
  const type = textIn(parameters["InstanceType"]) ?? "m1.small";
  const count = Number(textIn(parameters["MaxCount"]) ?? 1);
  const created = Array.from({ length: count }, () => {
    const instance = account.add("", { tags, type, ...(subnet !== undefined && { subnet }) });
    const ip = instance.interfaces[0]?.ipv4[0] ?? "";
    return account.instances.change(instance.id, {
      name: `ip-${ip.replaceAll(".", "-")}.us-west-2.compute.internal`,
    });
  });
  return { reservationId: account.id("r"), instancesSet: created.map((one) => view(account, one)) };
}

export function instanceOperations(account: Account): QueryOperations {
  const { instances } = account;
  const set = (state: Instance["state"]) => (parameters: SentParameters) =>
    change(account, parameters, state, ({ id }) => instances.change(id, { state }));
  return {
    "ec2:DescribeInstances": (parameters, isHidden) => describe(account, parameters, isHidden),
    "ec2:DescribeInstanceTopology": (parameters) => topology(account, parameters),
    "ec2:RunInstances": (parameters) => run(account, parameters),
    "ec2:StopInstances": set("stopped"),
    "ec2:StartInstances": set("running"),
    "ec2:TerminateInstances": (parameters) =>
      change(account, parameters, "terminated", ({ id }) => account.terminate(id)),
    "ec2:ModifyInstanceAttribute": (parameters) => {
      const { Value } = recordIn(parameters["SourceDestCheck"]);
      instances.withID(textIn(parameters["InstanceId"]) ?? "");
      instances.change(textIn(parameters["InstanceId"]) ?? "", { sourceDestCheck: Value === "true" });
      return undefined;
    },
  };
}
