// The clients' world: a simulated cloud with two tokens and a dedicated server, and a second cloud with a rate limit of three
// requests.

import { serveCloud } from "#ccm/testing";
import { HetznerCloud } from "../../../../../providers/hetzner/simulator/index.ts";
import { milliseconds } from "../../../../../src/core/brand.ts";
import { createAuthority } from "../../../../../src/pki/authority.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../../src/platform/random.ts";

export interface World extends AsyncDisposable {
  /** The address of the API, with `/v1`. */
  readonly endpoint: string;
  readonly cloud: HetznerCloud;
  /** The environment of a client that reaches the cloud here. */
  env(endpoint: string): Readonly<Record<string, string>>;
}

const actionTime = milliseconds(200);

/** Time in the cloud passes when a client asks for an action, so an action runs until then, however slow the client is. */
class PolledCloud extends HetznerCloud {
  readonly #passTime: () => void;

  constructor() {
    let passed = 0;
    const clock = { ...systemClock, monotonic: () => passed };
    super({ clock, actionTime, requestsPerHour: 1_000_000 });
    this.#passTime = () => {
      passed += actionTime;
    };
  }

  override receive(request: Parameters<HetznerCloud["receive"]>[0]) {
    if (request.method === "GET" && request.url.pathname.includes("/actions")) this.#passTime();
    return super.receive(request);
  }
}

export function startWorld(): World {
  const cloud = new PolledCloud();
  const limited = new HetznerCloud({ clock: systemClock, requestsPerHour: 3 });
  cloud.tokens.add("token");
  cloud.tokens.add("viewer", "read");
  const { ip } = cloud.project.robot.add("bm-1");
  const served = [serveCloud(cloud, 0), serveCloud(limited, 0)] as const;
  const authority = createAuthority("fairlead-test-ca", systemClock, systemRandom);
  const { key, cert } = authority.issueServer("example.com", ["example.com"]);
  return {
    endpoint: `${served[0].url}/v1`,
    cloud,
    env: (endpoint) => ({
      FAIRLEAD_ENDPOINT: endpoint,
      FAIRLEAD_LIMITED_ENDPOINT: `${served[1].url}/v1`,
      FAIRLEAD_TOKEN: "token",
      FAIRLEAD_READONLY_TOKEN: "viewer",
      FAIRLEAD_ROBOT_IP: ip ?? "",
      FAIRLEAD_CERTIFICATE: cert,
      FAIRLEAD_KEY: key,
    }),
    [Symbol.asyncDispose]: async () => {
      for (const each of served) await each[Symbol.asyncDispose]();
    },
  };
}
