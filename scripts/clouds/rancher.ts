// An environment of Rancher 1.6, for `npm start` and `npm run cloud`.

import { rancher as provider } from "../../providers/rancher/index.ts";
import { RancherCloud, serveRancherCloud } from "../../providers/rancher/simulator/index.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import type { LocalCloud, LocalCloudDefinition, LocalCloudOptions } from "./local-cloud.ts";

/** An API key: the access key and the secret key. */
const exampleToken = "access:secret";
/** The host label that has the instance type, in the demo. */
const typeLabel = "type";

/** Without a colon, the text is the secret key. */
function keyOf(token: string): readonly [access: string, secret: string] {
  const at = token.indexOf(":");
  return at === -1 ? ["access", token] : [token.slice(0, at), token.slice(at + 1)];
}

function open({ port, token, clock, latency, actionTime }: LocalCloudOptions): LocalCloud {
  const cloud = new RancherCloud({ clock, latency, stateTime: actionTime });
  const { hosts, services } = cloud.environment;
  const [access, secret] = keyOf(token);
  cloud.addKey(access, secret);
  const served = serveRancherCloud(cloud, port);
  const machines = () => hosts.list().filter(({ removed }) => removed === null);
  const stateOf = (state: string) => (state === "active" ? "running" : state);
  return {
    url: served.url,
    settings: { url: `${served.url}/v2-beta`, "access-key": access, "secret-key": secret },
    largerType: "large",
    addMachine: (name) => void hosts.add(name, { labels: { [typeLabel]: "small" } }),
    machines: () =>
      machines().map(({ hostname, state }) => ({ name: hostname ?? "", state: stateOf(state) })),
    machineState: (name) =>
      machines().flatMap(({ hostname, state }) => (hostname === name ? stateOf(state) : []))[0],
    resize: (name, type) => void hosts.change(name, { labels: { [typeLabel]: type } }),
    stop: (name) => void hosts.change(name, { state: "inactive" }),
    remove: (name) => hosts.purge(name, clock.now()),
    hasLoadBalancerOf: (uid) =>
      services.list().some(({ type, removed, metadata }) => {
        const isOwn = Object.values(metadata).includes(uid);
        return type === "loadBalancerService" && removed === null && isOwn;
      }),
    api: cloud,
    addFault: (fault) =>
      cloud.faults.add({ kind: fault.status === undefined ? "reset" : "status", ...fault }),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

export const rancher: LocalCloudDefinition = {
  name: "rancher",
  // The contract keeps each provider's own types; the framework only passes its values back to it.
  provider: provider as unknown as AnyProvider,
  defaultPort: 8622,
  defaultActionTime: 1000,
  exampleToken,
  demoSettings: { "instance-type-label": typeLabel, "inactive-is-shutdown": "true" },
  hint: (url) =>
    `Hosts change as in Rancher: curl -u ${exampleToken} -X POST "${url}/v2-beta/hosts/1h1/?action=deactivate"`,
  open,
};
