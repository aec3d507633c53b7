// A cloud of real services that run, with a project that has a user and an application credential.

import { until } from "../../../../cluster/rig/until.ts";
import { ApiClient, type Json } from "./api.ts";
import { urlOf } from "./configuration.ts";
import { names } from "./seed.ts";
import { type ServiceName, ServiceStack } from "./stack.ts";

export interface RealCloud {
  readonly stack: ServiceStack;
  /** A client that is logged in as the project's user. */
  readonly user: ApiClient;
  readonly admin: ApiClient;
  /** The provider's settings. */
  readonly config: Readonly<Record<string, string>>;
}

/** Credentials of the project that a user is logged in to. */
export async function credentialsOf(user: ApiClient): Promise<Readonly<Record<string, string>>> {
  const secret = "s".repeat(32);
  const path = `/users/${user.userID}/application_credentials`;
  const name = "fairlead";
  const { id } = await user.create("keystone", path, "application_credential", { name, secret });
  return { "application-credential-id": id, "application-credential-secret": secret };
}

/** Before that, the scheduler finds no host. */
async function isComputing(admin: ApiClient): Promise<boolean> {
  type Found = { readonly services: readonly { readonly state: string }[] };
  const { services } = await admin.send<Found>("nova", "GET", "/os-services?binary=nova-compute");
  return services.some(({ state }) => state === "up");
}

/** Starts the services that servers need, and these services. */
export async function startCloud(...more: readonly ServiceName[]): Promise<RealCloud> {
  const [packages = "", databases = ""] = (process.env["FAIRLEAD_OPENSTACK_FOLDERS"] ?? "").split(":");
  const stack = ServiceStack.fresh(packages, databases);
  await stack.start("mariadb", "rabbitmq");
  await stack.start("keystone", "placement", "glance", "neutron");
  await stack.start("nova", "conductor", "scheduler", "compute");
  await stack.start(...more);
  const user = await ApiClient.logIn(names.project, names.project);
  const admin = await ApiClient.logIn("admin", "admin");
  await until("nova-compute to be up", () => isComputing(admin), { everyMs: 1000 });
  stack.run(["nova-manage", "cell_v2", "discover_hosts"]);
  const access = { "auth-url": `${urlOf("keystone")}/v3`, region: "RegionOne" };
  return { stack, user, admin, config: { ...access, ...(await credentialsOf(user)) } };
}

/** Adds a server in the network of the Nodes. */
export async function addServer(user: ApiClient, name: string): Promise<void> {
  const [image] = await user.list("glance", "/images");
  const [network] = await user.list("neutron", `/networks?name=${names.nodes}`);
  const server = { name, flavorRef: "1", imageRef: image?.id, networks: [{ uuid: network?.id }] };
  await user.create("nova", "/servers", "server", server);
}

/** All servers of the user's project. */
export async function serversOf(user: ApiClient) {
  return user.list<Json & { readonly id: string; readonly name: string; readonly status: string }>(
    "nova",
    "/servers/detail",
  );
}

/** Waits until Nova has finished its work on all servers of the project. */
export async function untilActive(user: ApiClient): Promise<void> {
  const isDone = async () => (await serversOf(user)).every(({ status }) => status === "ACTIVE");
  await until("the servers", isDone, { seconds: 1500, everyMs: 2000 });
}
