// The clients' world: a simulated account with two tokens, and a second one with a rate limit of three requests. Both use the
// system time.

import { serveCloud } from "#ccm/testing";
import { DigitalOceanCloud } from "../../../../../providers/digitalocean/simulator/index.ts";
import { milliseconds, seconds } from "../../../../../src/core/brand.ts";
import { createAuthority } from "../../../../../src/pki/authority.ts";
import { systemClock as clock } from "../../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../../src/platform/random.ts";

export interface World extends AsyncDisposable {
  /** The environment of a client that starts at this moment. */
  env(): Readonly<Record<string, string>>;
}

export function startWorld(): World {
  const times = { activation: seconds(1), change: milliseconds(700), boot: milliseconds(100) };
  const budget = { requestsPerHour: 1_000_000, requestsPerMinute: 1_000_000 };
  const cloud = new DigitalOceanCloud({ clock, times, ...budget });
  const limited = new DigitalOceanCloud({ clock, requestsPerHour: 3 });
  cloud.tokens.add("token");
  cloud.tokens.add("viewer", "read");
  const served = [serveCloud(cloud, 0), serveCloud(limited, 0)] as const;
  const authority = createAuthority("fairlead-test-ca", clock, systemRandom);
  const { key, cert } = authority.issueServer("example.com", ["example.com"]);
  return {
    env: () => {
      limited.hourly.drain(3);
      return {
        FAIRLEAD_ENDPOINT: served[0].url,
        FAIRLEAD_LIMITED_ENDPOINT: served[1].url,
        FAIRLEAD_TOKEN: "token",
        FAIRLEAD_READONLY_TOKEN: "viewer",
        FAIRLEAD_CERTIFICATE: cert,
        FAIRLEAD_KEY: key,
      };
    },
    [Symbol.asyncDispose]: async () => {
      for (const each of served) await each[Symbol.asyncDispose]();
    },
  };
}
