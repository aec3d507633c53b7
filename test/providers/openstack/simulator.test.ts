// The parts of the simulated project that other clients need and Fairlead does not use.

import { expect, test } from "bun:test";
import { asTransport, type Lab } from "#ccm/testing";
import { instancesOf, labWith } from "./openstack-lab.ts";

const ask = async (lab: Lab, cloud: Parameters<typeof asTransport>[0], path: string, token = "") => {
  const request = { method: "GET", url: `http://cloud.example${path}`, headers: { "x-auth-token": token } };
  const response = await lab.run((call) => asTransport(cloud)(request, call.signal));
  return response.json() as Promise<Record<string, unknown>>;
};

test.each(["/network/", "/load-balancer/"])(
  "%s reports where the current version is, without a token",
  async (path) => {
    const { lab, cloud } = labWith({});
    const { versions } = await ask(lab, cloud, path);
    const links = [{ rel: "self", href: `http://cloud.example${path}v2.0` }];
    expect((versions as readonly unknown[]).at(-1)).toMatchObject({ status: "CURRENT", links });
  },
);

test("the simulator selects the parts of one load balancer in the simulated project", async () => {
  const { lab, cloud } = labWith({}, ({ balancing }) => {
    const part = {
      name: "",
      protocol: "TCP",
      lb_algorithm: "ROUND_ROBIN",
      session_persistence: null,
      members: [],
    };
    balancing.pools.put({ ...part, id: "p1", balancer: "b1" });
    balancing.pools.put({ ...part, id: "p2", balancer: "b2" });
  });
  await instancesOf(lab);
  const { pools } = await ask(lab, cloud, "/load-balancer/v2.0/lbaas/pools?loadbalancer_id=b2", "token-1");
  expect((pools as readonly { readonly id: string }[]).map(({ id }) => id)).toEqual(["p2"]);
});
