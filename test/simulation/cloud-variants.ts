// The provider of the fake cloud, changed to that of clouds that work in another way.

import { fakeApi } from "../../providers/fake/api.ts";
import { fake } from "../../providers/fake/index.ts";
import { fakeRoutes } from "../../providers/fake/routes.ts";
import { FakeCloud, type FakeCloudOptions } from "../../providers/fake/simulator/fake-cloud.ts";
import { defineProvider } from "../../src/index.ts";
import { seededRandom } from "../../src/platform/random.ts";
import type { CloudTransport } from "../../src/provider/call.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import { ListingTimes } from "./listing-times.ts";
import { type Listings, withLookups } from "./lookups.ts";
import { CloudWithRouteOperations, withOperations } from "./route-operations.ts";
import type { Variants } from "./variants.ts";

/** How the simulated cloud differs from the fake cloud. */
export class CloudVariants {
  /**
   * The kind of listings beside which the cloud is asked for single load balancers; undefined if
   * there are no such lookups.
   */
  readonly lookupsBeside: Listings | undefined;
  readonly listingTimes: ListingTimes | undefined;
  /** The cloud, if its changes of routes take some time. */
  readonly routeOperations: CloudWithRouteOperations | undefined;
  readonly cloud: FakeCloud;
  readonly #options: FakeCloudOptions;

  constructor(seed: number, { lookups = false, operations = false }: Variants, options: FakeCloudOptions) {
    this.#options = options;
    if (lookups) {
      this.lookupsBeside = seed % 8 < 4 ? "complete" : "shallow";
      this.listingTimes = new ListingTimes(options.clock);
    }
    if (operations)
      this.routeOperations = new CloudWithRouteOperations(
        options,
        seededRandom(seed ^ 0x09e5),
        seed % 8 >= 4,
      );
    this.cloud = this.routeOperations ?? new FakeCloud(options);
  }

  /** An empty project of the same cloud. */
  anotherProject(): FakeCloud {
    if (this.routeOperations === undefined) return new FakeCloud(this.#options);
    return new CloudWithRouteOperations(this.#options, seededRandom(0), this.routeOperations.oneAtATime);
  }

  get provider(): AnyProvider {
    const isPlain = (this.lookupsBeside ?? this.routeOperations) === undefined;
    return (isPlain ? fake : fakeWith(this)) as unknown as AnyProvider;
  }
}

const fakeWith = ({ lookupsBeside, routeOperations }: CloudVariants) =>
  defineProvider({
    ...fake,
    connect: (settings, context) => {
      const { mark } = context;
      let transport: CloudTransport | undefined;
      const cloud = fake.connect(settings, {
        ...context,
        account: (one) => {
          const opened = context.account(one);
          ({ transport } = opened);
          return opened;
        },
      });
      const { loadBalancers } = cloud;
      if (transport === undefined || loadBalancers === undefined) return cloud;
      const access = { base: settings.endpoint, transport };
      const api = fakeApi({ ...access, pageSize: settings["page-size"] });
      return {
        ...cloud,
        ...(lookupsBeside && { loadBalancers: withLookups(loadBalancers, api, mark, lookupsBeside) }),
        ...(routeOperations &&
          withOperations(fakeRoutes(api, mark), access, mark, routeOperations.oneAtATime)),
      };
    },
  });
